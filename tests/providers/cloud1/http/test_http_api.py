"""Authorizers, limits and logs of an HTTP API, at the strict server."""

from typing import Any

import pytest

from tests.providers.cloud1.http.test_gateway import http
from tests.support.cloud1_site import Cloud1Site
from tests.support.http_apis import (
    DOMAIN,
    ISSUER,
    USERS,
    api,
    authorizers,
    called,
    configure,
    order_checker,
    token,
    trust,
)

pytestmark = pytest.mark.slow


def test_a_jwt_authorizer_checks_tokens_and_scopes(site: Cloud1Site) -> None:
    trust(site.cloud1)
    configure(site, authorizers={"users": USERS}, defaultAuthorizer="users")
    site.up(
        site.order(
            "hello",
            http("/a"),
            http("/open", authorizer="none"),
            http("/write", scopes=["write"]),
        )
    )
    assert (called(site, "/open"), called(site, "/a")) == (200, 401)
    assert called(site, "/a", f"Bearer {token()}") == 200
    wrong = (token(aud="other"), token(exp=1), token(iss="https://else.example"), "a.b.c")
    assert [called(site, "/a", text) for text in wrong] == [401] * 4
    assert called(site, "/write", token(scope="read")) == 403
    assert called(site, "/write", token(scope="read write")) == 200


def test_the_default_route_receives_all_requests_without_another_route(site: Cloud1Site) -> None:
    trust(site.cloud1)
    configure(site, authorizers={"users": USERS})
    rest = http("$default", method="ANY", authorizer="users")
    site.up(site.order("hello", http("/a"), rest))
    assert called(site, "/a") == 200
    assert [called(site, path) for path in ("/", "/b/c")] == [401, 401]
    assert called(site, "/b/c", f"Bearer {token()}") == 200
    site.up(site.order("hello", http("/a")))
    assert [called(site, path) for path in ("/a", "/", "/b/c")] == [200, 404, 404]


def test_a_changed_authorizer_is_updated_and_an_unused_one_deleted(site: Cloud1Site) -> None:
    configure(site, authorizers={"users": USERS})
    site.up(site.order("hello", http("/a", authorizer="users", scopes=["x"])))
    (first,) = authorizers(site).values()
    configure(site, authorizers={"users": {**USERS, "audience": ["other"]}})
    site.up(site.order("hello", http("/a", authorizer="users", scopes=["x"])))
    (second,) = authorizers(site).values()
    assert second["AuthorizerId"] == first["AuthorizerId"]
    assert second["JwtConfiguration"]["Audience"] == ["other"]
    configure(site)
    site.up(site.order("hello", http("/a")))
    assert authorizers(site) == {}
    assert called(site, "/a") == 200


def test_an_authorizer_of_another_tool_is_kept(site: Cloud1Site) -> None:
    configure(site, authorizers={"users": USERS})
    site.up(site.order("hello", http("/a", authorizer="users")))
    settings = {"Issuer": ISSUER, "Audience": ["x"]}
    site.cloud1.client("apigatewayv2").create_authorizer(
        ApiId=api(site)["ApiId"],
        Name="users",
        AuthorizerType="JWT",
        IdentitySource=["$request.header.Authorization"],
        JwtConfiguration=settings,
    )
    configure(site)
    site.up(site.order("hello", http("/a")))
    assert list(authorizers(site)) == ["users"]


def test_a_function_can_authorize_requests(site: Cloud1Site) -> None:
    configure(site, authorizers={"door": {"type": "request", "function": "check"}})
    route = http("/a", authorizer="door")
    site.up(site.order("hello", route), order_checker(site))
    assert [called(site, "/a", text) for text in ("", "open", "shut")] == [403, 200, 403]
    policy = site.cloud1.client("lambda").get_policy(
        FunctionName="shop-dev-check", Qualifier="live"
    )["Policy"]
    assert "/authorizers/*" in policy
    configure(site)
    site.up(site.order("hello", http("/a")), order_checker(site))
    lambdas = site.cloud1.client("lambda")
    with pytest.raises(lambdas.exceptions.ResourceNotFoundException):
        lambdas.get_policy(FunctionName="shop-dev-check", Qualifier="live")


def test_a_former_version_gets_its_authorizer_again(site: Cloud1Site) -> None:
    configure(site, authorizers={"users": USERS})
    trust(site.cloud1)
    old = site.order("hello", http("/a", authorizer="users"))
    site.up(old)
    configure(site)
    site.up(site.order("hello", http("/a")))
    assert called(site, "/a") == 200
    site.up(old)
    assert (called(site, "/a"), called(site, "/a", token())) == (401, 200)


def stage(site: Cloud1Site) -> Any:
    client = site.cloud1.client("apigatewayv2")
    return client.get_stage(ApiId=api(site)["ApiId"], StageName="$default")


def test_limits_and_access_logs_follow_the_config(site: Cloud1Site) -> None:
    configure(site, throttle={"rate": 100, "burst": 200}, accessLogs={"retentionDays": 14})
    nobody = {"rate": 0, "burst": 0}
    site.up(site.order("hello", http("/a"), http("/b", throttle=nobody)))
    assert (called(site, "/a"), called(site, "/b")) == (200, 429)
    assert stage(site)["DefaultRouteSettings"]["ThrottlingRateLimit"] == 100
    logs = site.cloud1.client("logs")
    (group,) = logs.describe_log_groups(logGroupNamePrefix="/aws/vendedlogs/")["logGroups"]
    assert (group["logGroupName"], group["retentionInDays"]) == (
        "/aws/vendedlogs/fabric/shop-dev",
        14,
    )
    assert stage(site)["AccessLogSettings"]["DestinationArn"] + ":*" == group["arn"]
    configure(site, accessLogs=True)
    site.up(site.order("hello", http("/a"), http("/b")))
    (group,) = logs.describe_log_groups(logGroupNamePrefix="/aws/vendedlogs/")["logGroups"]
    assert "retentionInDays" not in group
    configure(site)
    site.up(site.order("hello", http("/a")))
    found = stage(site)
    assert not found.get("RouteSettings")
    assert "AccessLogSettings" not in found
    assert "ThrottlingRateLimit" not in found.get("DefaultRouteSettings", {})


def test_payload_and_timeout_are_settings_of_each_integration(site: Cloud1Site) -> None:
    client = site.cloud1.client("apigatewayv2")

    def integration() -> tuple[object, object]:
        (one,) = client.get_integrations(ApiId=api(site)["ApiId"])["Items"]
        return one["PayloadFormatVersion"], one["TimeoutInMillis"]

    configure(site, payload="1.0", timeout=2.5)
    site.up(site.order("hello", http("/a")))
    assert integration() == ("1.0", 2500)
    configure(site)
    site.up(site.order("hello", http("/a")))
    assert integration() == ("2.0", 30_000)


def test_unchanged_settings_need_no_call(site: Cloud1Site, certificate: str) -> None:
    configure(
        site,
        authorizers={"users": USERS},
        throttle={"rate": 1, "burst": 2},
        accessLogs=True,
        domain={"name": DOMAIN, "certificate": certificate},
    )
    order = site.order("hello", http("/a", authorizer="users"))
    site.up(order)
    site.cloud1.reset()
    site.up(order)
    assert not [one for one in site.cloud1.calls() if one.startswith(("apigateway", "logs"))]
