"""host1's own client and SDK against the same server: what they do there, we do as they do."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.runtimes.nodejs.toolchain import find_node
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.host1_site import Host1Site
from tests.support.orders import HTTP
from tests.support.servers.host1 import described

pytestmark = pytest.mark.slow

_SOURCE = """module.exports = (req, res) => {
    res.end(`${process.env.WORD} by the client ${req.url}`);
};
"""


def built(folder: Path) -> None:
    """A build's output as the documents describe it."""
    config = {"version": 3, "routes": [{"src": "^/hello/?$", "dest": "/fn"}]}
    settings = {
        "runtime": "nodejs22.x",
        "handler": "index.js",
        "launcherType": "Nodejs",
        "shouldAddHelpers": False,
    }
    files = {
        "config.json": json.dumps(config),
        "functions/fn.func/.vc-config.json": json.dumps(settings),
        "functions/fn.func/index.js": _SOURCE,
    }
    for path, text in files.items():
        file = folder / ".vercel" / "output" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def by_the_client(site: Host1Site, folder: Path) -> dict[str, Any]:
    built(folder)
    project = site.host1.project
    given = {
        "url": site.host1.front.endpoint,
        "token": project.token,
        "team": project.team,
        "project": project.id,
        "name": project.name,
        "domain": project.domains[0]["name"],
        "folder": str(folder),
    }
    script = Path(described.__file__).with_name("official.mjs")
    packages = described.official_packages() / "x.js"
    done = subprocess.run(
        [str(find_node(ENVIRONMENT)), str(script)],
        input=json.dumps(given),
        env={"PATH": ENVIRONMENT["PATH"], "HOST1_PACKAGES": str(packages)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_deployment_by_the_official_client_runs_and_is_foreign(
    site: Host1Site, tmp_path: Path
) -> None:
    made = by_the_client(site, tmp_path)
    first, _ = made["ids"]
    assert (made["shown"], made["state"], made["substate"]) == (first, "READY", "PROMOTED")
    assert (made["listed"], made["meta"]) == (1, {"word": "one"})
    domain = site.host1.project.domains[0]["name"]
    answer = site.host1.http("GET", f"{site.host1.front.endpoint}/met/{domain}/hello")
    assert answer.text == "one by the client /hello"
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP))
    assert raised.value.first.code == "deploy/foreign"
    assert "is not managed by fabric" in raised.value.first.message
    assert site.host1.deployments() == 1


def test_we_ask_as_the_client_asks(site: Host1Site, tmp_path: Path) -> None:
    by_the_client(site, tmp_path)
    theirs = site.host1.requests()
    other = site.beside("shop")
    assert isinstance(other, Host1Site)
    other.deployer.identity(other.address())
    other.up(other.order("hello", HTTP, WORD="one"))
    then = other.live("hello").resource_id
    other.up(other.order("hello", HTTP, WORD="two"))
    other.up(replace(other.order("hello", HTTP, WORD="one"), version=then))
    other.dissolve()
    ours = other.host1.requests()
    assert ours.keys() == theirs.keys()
    for name, asked in theirs.items():
        own = ours[name]
        assert (own["kind"], own["query"].keys()) == (asked["kind"], asked["query"].keys()), name
    created, asked = ours["createDeployment"]["body"], theirs["createDeployment"]["body"]
    assert created.keys() | {"version"} == asked.keys()
    assert {one["file"].split("/")[0] for one in created["files"]} == {".vercel"}
    assert created["files"][0].keys() == asked["files"][0].keys()
    assert {one["mode"] for one in created["files"]} == {0o100644}
    other.close()
