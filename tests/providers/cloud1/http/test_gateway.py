"""The HTTP address of a service: its routes, who may call from elsewhere, and what comes of it."""

import json
from typing import Any

import pytest

from fabric.model.problems import FabricError
from tests.support.cloud1_site import Cloud1Site, changing
from tests.support.http_apis import api

pytestmark = pytest.mark.slow


def http(path: str, method: str = "GET", **more: Any) -> str:
    return json.dumps({"type": "http", "method": method, "path": path, **more})


def status(site: Cloud1Site, path: str, method: str = "GET") -> int:
    assert site.record is not None
    return site.cloud1.http(method, site.record.endpoint + path).status


def test_routes_follow_the_config(site: Cloud1Site) -> None:
    site.up(site.order("hello", http("/a"), http("/b/{id}", "POST")), site.order("bye"))
    assert (status(site, "/a"), status(site, "/b/1", "POST"), status(site, "/b/1")) == (
        200,
        200,
        404,
    )
    site.up(site.order("hello", http("/a")), site.order("bye", http("/b/{id}", "POST")))
    assert (status(site, "/a"), status(site, "/b/1", "POST")) == (200, 200)
    site.up(site.order("hello"), site.order("bye", http("/c")))
    assert (status(site, "/a"), status(site, "/c")) == (404, 200)
    client = site.cloud1.client("apigatewayv2")
    assert len(client.get_integrations(ApiId=api(site)["ApiId"])["Items"]) == 1


def test_a_route_that_moves_to_another_function_is_changed_in_place(site: Cloud1Site) -> None:
    site.up(site.order("hello", http("/a"), http("/x")), site.order("bye", http("/y")))
    site.cloud1.reset()
    site.up(site.order("hello", http("/x")), site.order("bye", http("/a"), http("/y")))
    assert changing(site.cloud1)["apigatewayv2.UpdateRoute"] == 1
    assert "apigatewayv2.CreateRoute" not in changing(site.cloud1)
    assert status(site, "/a") == 200


def test_route_can_require_signed_requests(site: Cloud1Site) -> None:
    site.up(site.order("hello", http("/a", authorizer="AWS_IAM"), http("/b")))
    rows = site.cloud1.client("apigatewayv2").get_routes(ApiId=api(site)["ApiId"])["Items"]
    kinds = {one["RouteKey"]: one.get("AuthorizationType", "NONE") for one in rows}
    assert kinds == {"GET /a": "AWS_IAM", "GET /b": "NONE"}


def test_failed_authorizer_stops_the_release_before_any_call(
    site: Cloud1Site,
) -> None:
    site.deploy(site.order("hello", http("/a", authorizer="jwt")))
    site.cloud1.reset()
    with pytest.raises(FabricError, match="authorizer"):
        site.release(["hello"])
    assert site.cloud1.calls() == {}


@pytest.mark.parametrize(
    ("cors", "shown"),
    [
        ("true", {"AllowOrigins": ["*"]}),
        ('{"origins": ["https://shop.test"], "maxAge": 60}', {"MaxAge": 60}),
    ],
    ids=["all", "one"],
)
def test_cors_settings_follow_the_config(
    site: Cloud1Site, cors: str, shown: dict[str, Any]
) -> None:
    site.up(site.order("hello", http("/a", cors=cors)))
    assert shown.items() <= api(site)["CorsConfiguration"].items()
    site.up(site.order("hello", http("/a")))
    assert "CorsConfiguration" not in api(site)


def test_forced_deploy_recreates_a_deleted_api(site: Cloud1Site) -> None:
    site.up(site.order("hello", http("/a")))
    site.cloud1.client("apigatewayv2").delete_api(ApiId=api(site)["ApiId"])
    site.up(site.order("hello", http("/a")), force=True)
    assert status(site, "/a") == 200


@pytest.mark.parametrize("answer", [429, 500, 503])
@pytest.mark.parametrize("operation", ["CreateApi", "CreateIntegration"])
def test_unconfirmed_create_is_looked_up_before_a_retry(
    site: Cloud1Site, operation: str, answer: int
) -> None:
    site.cloud1.fault(f"apigatewayv2.{operation}", status=answer, after=True)
    site.cloud1.fault(f"apigatewayv2.{operation}", status=answer)
    site.up(site.order("hello", http("/a")))
    client = site.cloud1.client("apigatewayv2")
    assert len(client.get_integrations(ApiId=api(site)["ApiId"])["Items"]) == 1


def test_failed_api_creation_is_reported(site: Cloud1Site) -> None:
    site.cloud1.fault("apigatewayv2.CreateApi", status=503, times=1000)
    with pytest.raises(FabricError, match="returned no response"):
        site.up(site.order("hello", http("/a")))


def test_provider_error_message_is_reported(site: Cloud1Site) -> None:
    site.cloud1.fault("apigatewayv2.CreateApi", status=400, code="BadRequest", message="too many")
    with pytest.raises(FabricError, match="too many"):
        site.up(site.order("hello", http("/a")))
