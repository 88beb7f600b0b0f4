"""The command line over a service with a REST API."""

from pathlib import Path

import pytest

from tests.support.cloud1_shop import Shop
from tests.support.cloud1_site import changing
from tests.support.in_process import project
from tests.support.rest_apis import at_server
from tests.support.servers.strict_cloud1.client import StrictCloud1

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]
_SCHEMA = '{"type": "object", "required": ["id"]}'


@pytest.fixture
def shop(cloud1: StrictCloud1, tmp_path: Path) -> Shop:
    made = Shop(cloud1, project(tmp_path, sources={"order.json": _SCHEMA}))
    made.has("hello", "one")
    return made


def _set_http(shop: Shop, settings: str) -> None:
    shop.tail = f"extensions: {{cloud1-lambda: {{http: {settings}}}}}\n"


def _post(shop: Shop, path: str, body: bytes) -> int:
    url = shop.run("outputs").result["services"][0]["outputs"]["url"]
    headers = {"Content-Type": "application/json"}
    return shop.cloud1.http("POST", at_server(shop.cloud1, url) + path, body, headers).status


def test_a_changed_route_is_released_and_rolled_back_without_a_version(shop: Shop) -> None:
    _set_http(shop, "{kind: rest}")
    shop.ran("deploy")
    assert shop.ran("deploy") == {}
    schema = "{schema: '${file:order.json}'}"
    shop.has("hello", "one", f"{{type: http, route: 'POST:/orders', request: {schema}}}")
    calls = shop.ran("deploy")
    assert [one for one in changing(shop.cloud1) if one.startswith("lambda")] == [
        "lambda.UpdateAlias"
    ]
    assert sum(calls.values()) == 8
    assert [_post(shop, "/orders", body) for body in (b"{}", b'{"id": 1}')] == [400, 200]
    shop.ran("rollback")
    assert changing(shop.cloud1) == {"lambda.UpdateAlias": 1, "apigateway.UpdateStage": 1}
    assert _post(shop, "/orders", b'{"id": 1}') == 403
    shop.ran("remove", "--yes")
    assert shop.cloud1.left() == {}


def test_another_kind_is_refused_without_consent(shop: Shop) -> None:
    shop.ran("deploy")
    _set_http(shop, "{kind: rest}")
    shop.cloud1.reset()
    for command in ("plan", "deploy"):
        done = shop.run(command)
        assert done.code == 65
        assert done.error["code"] == "config/unfit"
    assert shop.cloud1.calls() == {}
    _set_http(shop, "{kind: rest, allowReplace: true}")
    shop.ran("deploy")
    assert shop.cloud1.left().keys() == {"functions", "rest apis", "deployments"}


def test_a_rollback_restores_the_settings_of_the_api(shop: Shop) -> None:
    _set_http(shop, "{kind: rest, minimumCompressionSize: 100, throttle: {rate: 5, burst: 5}}")
    shop.ran("deploy")
    _set_http(shop, "{kind: rest, apiKeys: [mobile]}")
    [api] = shop.run("plan").result["apis"]
    assert api["fields"]["http.apiKeys"] == [None, ["mobile"]]
    assert api["fields"]["http.minimumCompressionSize"] == [100, None]
    shop.ran("deploy")
    assert "apis" not in shop.run("plan").result
    done = shop.run("rollback")
    assert "deleted the API key `shop-dev-mobile`" in done.out + done.err
    client = shop.cloud1.client("apigateway")
    (api,) = client.get_rest_apis()["items"]
    stage = client.get_stage(restApiId=api["id"], stageName="dev")
    assert api["minimumCompressionSize"] == 100
    assert stage["methodSettings"]["*/*"]["throttlingBurstLimit"] == 5
    assert client.get_api_keys()["items"] == []


def test_a_rollback_to_another_kind_is_refused_before_the_first_call(shop: Shop) -> None:
    _set_http(shop, "{kind: rest}")
    shop.ran("deploy")
    _set_http(shop, "{allowReplace: true}")
    shop.ran("deploy")
    shop.cloud1.reset()
    assert shop.run("rollback").error["code"] == "rollback/no-way-back"
    assert shop.cloud1.calls() == {}
