"""edge1's own command line against the same server: what it does there, we do as it does."""

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.runtimes.nodejs.toolchain import find_node
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
