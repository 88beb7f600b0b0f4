"""OpenWhisk's own client against the same server: what it does there, we do as it does."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fabric.model.problems import FabricError
from fabric.runtimes.nodejs.toolchain import find_node
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.function_archive import archive
from tests.support.orders import HTTP
from tests.support.servers.whisk import official
from tests.support.service_site import EVERY_HOUR
from tests.support.whisk_site import WhiskSite

pytestmark = pytest.mark.slow

_SOURCE = "exports.main = (given) => ({ body: `by the client ${given.__ow_path ?? given.given}` });"
# What a controller sets for itself, or takes from the path.
_ITS_OWN = {"namespace", "name"}


def by_the_client(site: WhiskSite, folder: Path) -> dict[str, Any]:
    (folder / "hello.zip").write_bytes(archive(index_js=_SOURCE, package_json="{}"))
    given = {
        "host": site.server.front.endpoint,
        "key": site.server.space.key,
        "space": site.server.space.name,
        "file": str(folder / "hello.zip"),
        "payload": {"hey": 1},
    }
    script = Path(official.__file__).with_suffix(".cjs")
    done = subprocess.run(
        [str(find_node(ENVIRONMENT)), str(script)],
        input=json.dumps(given),
        env={"PATH": ENVIRONMENT["PATH"], "WHISK_CLIENT": str(official.official_client())},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def asked(site: WhiskSite, kind: str) -> list[dict[str, Any]]:
    return [one["body"] for one in site.server.requests("PUT", kind)]


def test_function_deployed_by_the_official_client_runs(site: WhiskSite, tmp_path: Path) -> None:
    made = by_the_client(site, tmp_path)
    assert made["result"] == {"body": "by the client 1"}
    assert made["triggers"] == 1
    url = site.server.url("theirs", "hello") + "/there"
    assert site.server.http("GET", url).text == "by the client /there"
    assert site.server.schedules() == []


def test_we_ask_as_the_client_asks(site: WhiskSite, tmp_path: Path) -> None:
    by_the_client(site, tmp_path)
    theirs = {kind: asked(site, kind) for kind in ("packages", "actions", "rules")}
    site.server.reset()
    site.up(site.order("hello", HTTP, EVERY_HOUR, MODE="dark"))
    for kind, bodies in theirs.items():
        for body, own in zip(bodies, asked(site, kind), strict=True):
            assert own.keys() - {"annotations"} == body.keys() - {*_ITS_OWN, "annotations"}, kind
    version, sequence = asked(site, "actions")
    their_version, their_sequence = theirs["actions"]
    assert version["exec"].keys() - {"binary"} == their_version["exec"].keys()
    assert version["exec"]["kind"] == their_version["exec"]["kind"]
    assert version["limits"] == their_version["limits"]
    pair = {"key": "MODE", "value": "dark"}
    assert (their_version["parameters"], version["parameters"]) == (
        [pair],
        [{**pair, "init": True}],
    )
    assert sequence["exec"].keys() == their_sequence["exec"].keys()


def test_foreign_package_is_not_modified(site: WhiskSite, tmp_path: Path) -> None:
    by_the_client(site, tmp_path)
    site.server.space.packages["shop-dev"] = site.server.space.packages.pop("theirs")
    before = site.left()
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP))
    assert raised.value.first.code == "deploy/foreign"
    assert "the package `shop-dev`" in raised.value.first.message
    site.dissolve()
    assert site.left() == before
