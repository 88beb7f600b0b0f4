"""edge1's own command line against the same server: what it does there, we do as it does."""

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.runtimes.nodejs.toolchain import find_node
from fabric.testing.provider_site import pack_files
from tests.support import wrangler
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.edge1_site import Edge1Site
from tests.support.orders import HTTP, trigger

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

_CONFIG = {
    "name": "shop-dev-hello",
    "main": "index.js",
    "compatibility_date": "2026-04-01",
    "compatibility_flags": ["nodejs_compat"],
    "workers_dev": True,
    "vars": {"MODE": "dark"},
    "observability": {"enabled": True},
    "triggers": {"crons": ["0 * * * *"]},
}
_SOURCE = 'export default { async fetch() { return new Response("by wrangler"); } };'
Runs = Callable[..., str]


@pytest.fixture
def runs(site: Edge1Site, tmp_path: Path) -> Runs:
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "index.js").write_text(_SOURCE)
    (folder / "wrangler.json").write_text(json.dumps(_CONFIG))
    script = wrangler.installed() / "node_modules" / "wrangler" / "bin" / "wrangler.js"
    env = {
        "PATH": ENVIRONMENT["PATH"],
        "HOME": str(tmp_path),
        "CI": "1",
        "WRANGLER_SEND_METRICS": "false",
        "CLOUDFLARE_API_BASE_URL": f"{site.edge1.endpoint}/client/v4",
        "CLOUDFLARE_API_TOKEN": site.edge1.token,
        "CLOUDFLARE_ACCOUNT_ID": site.edge1.account,
    }

    def run(*words: str) -> str:
        argv: Sequence[str] = (str(find_node(ENVIRONMENT)), str(script), *words)
        done = subprocess.run(
            argv, cwd=folder, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_worker_deployed_by_wrangler_runs_and_is_foreign(site: Edge1Site, runs: Runs) -> None:
    runs("deploy")
    url = f"{site.edge1.endpoint}/met/{site.edge1.account}/shop-dev-hello/"
    assert site.edge1.http("GET", url).text == "by wrangler"
    assert site.edge1.schedules("shop-dev-hello") == ["0 * * * *"]
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP))
    assert raised.value.first.code == "deploy/foreign"
    assert site.edge1.versions() == {"shop-dev-hello": 1}


def test_wrangler_lists_versions_we_deploy(site: Edge1Site, runs: Runs) -> None:
    site.up(site.order("hello", HTTP))
    listed = runs("versions", "list")
    assert site.live("hello").resource_id.partition("@")[2] in listed
    assert "fabric:" in listed
    assert "shop/dev/hello" in listed


_RUNTIME = {"placement": {"mode": "smart"}, "limits": {"cpu_ms": 50}}
_PRODUCERS = [{"binding": "JOBS", "queue": "jobs", "delivery_delay": 5}]
_CONSUMER = {"queue": "jobs", "max_retries": 4, "dead_letter_queue": "dead", "retry_delay": 7}


def make_resources(site: Edge1Site) -> dict[str, object]:
    """Bindings of resources that exist."""
    account = f"/accounts/{site.edge1.account}"
    namespace = site.edge1.api("POST", f"{account}/storage/kv/namespaces", {"title": "cache"})
    database = site.edge1.api("POST", f"{account}/d1/database", {"name": "shop"})
    site.edge1.api("POST", f"{account}/r2/buckets", {"name": "shop-files"})
    for name in ("jobs", "dead"):
        site.edge1.api("POST", f"{account}/queues", {"queue_name": name})
    simple = {"limit": 2, "period": 60}
    return {
        "kv_namespaces": [{"binding": "CACHE", "id": namespace["id"]}],
        "r2_buckets": [{"binding": "FILES", "bucket_name": "shop-files"}],
        "d1_databases": [
            {"binding": "DB", "database_name": "shop", "database_id": database["uuid"]}
        ],
        "ratelimits": [{"name": "LIMIT", "namespace_id": "1001", "simple": simple}],
        "analytics_engine_datasets": [{"binding": "EVENTS", "dataset": "shop"}],
        "version_metadata": {"binding": "VERSION"},
        "ai": {"binding": "AI"},
    }


def test_bindings_and_consumers_are_those_of_wrangler(
    site: Edge1Site, runs: Runs, tmp_path: Path
) -> None:
    bindings = make_resources(site)
    queue = site.edge1.api("GET", f"/accounts/{site.edge1.account}/queues?name=jobs")[0]
    consumers = f"/accounts/{site.edge1.account}/queues/{queue['queue_id']}/consumers"
    reads = {**_CONSUMER, "max_batch_size": 5, "max_batch_timeout": 2}
    queues = {"producers": _PRODUCERS, "consumers": [reads]}
    file = tmp_path / "theirs" / "wrangler.json"
    file.write_text(json.dumps({**_CONFIG, **_RUNTIME, **bindings, "queues": queues}))
    runs("deploy")
    (theirs,), (reader,) = site.edge1.uploads(), site.edge1.api("GET", consumers)
    site.edge1.api("DELETE", f"{consumers}/{reader['consumer_id']}")
    site.edge1.reset()
    site.service = "other"
    queues = {"producers": _PRODUCERS, "consumers": [_CONSUMER]}
    site.extension.update(_RUNTIME, bindings={**bindings, "queues": queues})
    jobs = trigger("queue", queue="jobs", batchSize=5, maximumBatchingWindowSeconds=2)
    site.up(site.order("hello", HTTP, jobs, MODE="dark"))
    ours, (own,) = site.edge1.uploads()[0], site.edge1.api("GET", consumers)
    assert set(_RUNTIME) <= set(ours["members"]) & set(theirs["members"])
    assert _by_name(ours["bindings"]) == _by_name(theirs["bindings"])
    keys = ("settings", "dead_letter_queue", "type")
    assert [own[key] for key in keys] == [reader[key] for key in keys]


def _by_name(bindings: list[dict[str, object]]) -> dict[object, dict[str, object]]:
    return {one["name"]: one for one in bindings}


def test_static_files_are_uploaded_as_wrangler_uploads_them(
    site: Edge1Site, runs: Runs, tmp_path: Path
) -> None:
    folder = tmp_path / "theirs" / "public"
    folder.mkdir()
    (folder / "words.txt").write_text("words")
    (folder / "_headers").write_text("/*\n  x-one: two\n")
    assets = {"directory": "public", "binding": "FILES", "run_worker_first": ["/api/*"]}
    file = tmp_path / "theirs" / "wrangler.json"
    file.write_text(json.dumps({**_CONFIG, "assets": {**assets, "html_handling": "none"}}))
    runs("deploy")
    runs("versions", "upload")
    first, second = site.edge1.uploads()
    site.edge1.reset()
    site.service = "other"
    site.extension["assets"] = {**assets, "html_handling": "none"}
    handler = "export const handler = async () => 1;"
    files = {"index.mjs": handler, "public/words.txt": "words"}
    content = pack_files({**files, "public/_headers": "/*\n  x-one: two\n"})
    site.up(site.order_of("hello", content, HTTP))
    ours = site.edge1.uploads()[0]
    assert ours["assets"] == first["assets"] == second["assets"]
    assert {"name": "FILES", "type": "assets"} in ours["bindings"]
    assert {"name": "FILES", "type": "assets"} in first["bindings"]


def test_an_upload_is_made_as_wrangler_makes_it(site: Edge1Site, runs: Runs) -> None:
    runs("deploy")
    (theirs,) = site.edge1.uploads()
    site.edge1.reset()
    site.service = "other"
    site.up(site.order("hello", HTTP, trigger("cron", schedule="rate(1 hour)"), MODE="dark"))
    ours = site.edge1.uploads()[0]
    assert set(ours["members"]) - {"annotations"} <= set(theirs["members"])
    assert ours["bindings"] == theirs["bindings"]
    assert set(theirs["kinds"]) <= set(ours["kinds"])
    assert theirs["fields"] == ours["fields"]
