"""host2's own client against the same server: what it does there, we do as it does."""

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fabric.model.problems import FabricError
from fabric.runtimes.nodejs.toolchain import find_node
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.function_archive import archive
from tests.support.host2_site import Host2Site
from tests.support.orders import HTTP
from tests.support.servers.host2 import swagger

pytestmark = pytest.mark.slow

_SOURCE = """exports.handler = async (event) => ({
    statusCode: 200,
    multiValueHeaders: { "set-cookie": ["a=1", "b=2"] },
    body: "by the client " + event.path,
});"""


def by_the_client(site: Host2Site, folder: Path) -> dict[str, Any]:
    content = archive(hello_js=_SOURCE)
    (folder / "hello.zip").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    route = {"pattern": "/hello", "expression": "^/hello/?$"}
    given = {
        "host": site.host2.front.endpoint.removeprefix("http://"),
        "token": site.host2.site.token,
        "site": site.host2.site.id,
        "title": "by the client",
        "name": "hello",
        "runtime": "nodejs20.x",
        "file": str(folder / "hello.zip"),
        "document": {
            "files": {},
            "functions": {"hello": digest},
            "functions_config": {"hello": {"routes": [route]}},
            "draft": True,
        },
    }
    script = Path(swagger.__file__).with_name("official.mjs")
    packages = swagger.official_packages() / "x.js"
    done = subprocess.run(
        [str(find_node(ENVIRONMENT)), str(script)],
        input=json.dumps(given),
        env={"PATH": ENVIRONMENT["PATH"], "HOST2_PACKAGES": str(packages)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    made: dict[str, Any] = json.loads(done.stdout)
    return {**made, "digest": digest}


def test_deploy_by_the_official_client_runs_and_is_foreign(site: Host2Site, tmp_path: Path) -> None:
    made = by_the_client(site, tmp_path)
    assert (made["state"], made["required"]) == ("ready", [made["digest"]])
    answer = site.host2.http("GET", f"{site.host2.site.url}/hello")
    assert (answer.text, answer.cookies) == ("by the client /hello", ("a=1", "b=2"))
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP))
    assert raised.value.first.code == "deploy/foreign"
    assert "`by the client`" in raised.value.first.message
    assert site.host2.deploys() == 1


def test_we_ask_as_the_client_asks(site: Host2Site, tmp_path: Path) -> None:
    by_the_client(site, tmp_path)
    theirs = site.host2.requests()
    other = site.beside("shop")
    assert isinstance(other, Host2Site)
    other.deployer.identity(other.address())
    other.host2.slow(1)
    other.up(other.order("hello", HTTP))
    other.dissolve()
    ours = other.host2.requests()
    assert ours.keys() == theirs.keys()
    for name, asked in theirs.items():
        assert (ours[name]["kind"], ours[name]["query"].keys()) == (
            asked["kind"],
            asked["query"].keys(),
        ), name
    created = ours["createSiteDeploy"]["body"]
    assert theirs["createSiteDeploy"]["body"].keys() <= created.keys()
    other.close()
