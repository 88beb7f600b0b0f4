"""cloud4's own SDK against the same server: what it does there, we do as it does."""

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.providers.core.contract import FunctionOrder
from fabric.runtimes.nodejs.toolchain import find_node
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.cloud4_site import Cloud4Site
from tests.support.function_archive import archive
from tests.support.orders import HTTP
from tests.support.servers.cloud4 import described
from tests.support.service_site import EVERY_HOUR

pytestmark = pytest.mark.slow

_SOURCE = """exports.handler = (bytes, context, callback) => {
    const event = JSON.parse(bytes);
    callback(null, { statusCode: 200, body: `by the client ${event.rawPath ?? event.given}` });
};"""
# Where the SDK tells of itself, and of a first try.
_OF_ITSELF = {"x-acs-credentials-provider", "x-acs-retry-attempt"}


def by_the_client(site: Cloud4Site, name: str = "theirs") -> dict[str, Any]:
    account = site.cloud4.account
    given = {
        "endpoint": account.endpoint.removeprefix("http://"),
        "key": account.key,
        "secret": account.secret,
        "region": account.region,
        "code": base64.b64encode(archive(index_js=_SOURCE)).decode(),
        "name": name,
    }
    script = Path(described.__file__).with_name("official.mjs")
    packages = described.official_packages() / "x.js"
    done = subprocess.run(
        [str(find_node(ENVIRONMENT)), str(script)],
        input=json.dumps(given),
        env={"PATH": ENVIRONMENT["PATH"], "CLOUD4_PACKAGES": str(packages)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def tagged(order: FunctionOrder, *tags: tuple[str, str]) -> FunctionOrder:
    return replace(order, tags=tags)


def test_function_deployed_by_the_official_client_runs(site: Cloud4Site) -> None:
    made = by_the_client(site)
    account = site.cloud4.account
    assert made["arn"] == f"acs:fc:{account.region}:{account.ident}:functions/theirs"
    assert (made["versions"], made["alias"]) == (["1", "2"], "2")
    assert made["described"] == ["two", "one"]
    assert made["answer"] == "by the client /there"
    assert json.loads(made["called"])["body"] == "by the client 1"
    assert made["gone"] == "FunctionNotFound"
    assert not site.left()


def test_we_ask_as_the_client_asks(site: Cloud4Site) -> None:
    by_the_client(site)
    theirs = {one["operation"]: one for one in site.cloud4.account.requests}
    site.cloud4.reset()
    site.deployer.identity(site.address())
    first = tagged(site.order("hello", HTTP, EVERY_HOUR, MODE="dark"), ("team", "shop"))
    site.up(replace(first, reserved_concurrency=5))
    held = site.cloud4.function("shop-dev-hello")
    clock = next(row for name, row in held.triggers.items() if "clock" in name)
    clock["triggerConfig"] = '{"cronExpression": "@every 1m", "enable": true}'
    assert site.record is not None
    site.up(tagged(site.order("hello", HTTP, EVERY_HOUR, word="two"), ("unit", "one")), force=True)
    site.record = replace(site.record, history=())
    site.up(site.order("hello", HTTP, EVERY_HOUR, word="three"), force=True)
    site.deployer.call(site.address(site.record), site.live("hello"), b"{}")
    site.dissolve()
    ours = {one["operation"]: one for one in site.cloud4.account.requests}
    assert ours.keys() == theirs.keys()
    for name, asked in theirs.items():
        own = ours[name]
        assert own["kind"] == asked["kind"], name
        assert set(own["signed"]) == set(asked["signed"]) - _OF_ITSELF, name
        assert own["query"].keys() >= asked["query"].keys(), name
        assert own["query"].keys() - asked["query"].keys() <= {"nextToken"}, name
        if isinstance(asked["body"], dict):
            assert own["body"].keys() >= asked["body"].keys() - {"tags"}, name


def test_function_of_the_official_client_is_foreign(site: Cloud4Site) -> None:
    site.up(site.order("hello", HTTP))
    held = site.cloud4.function("shop-dev-hello")
    held.row["description"] = "by the client"
    before = site.left()
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP, word="two"))
    assert raised.value.first.code == "deploy/foreign"
    site.dissolve()
    assert site.left() == before
    assert any("was not deleted" in line for line in site.talk)
