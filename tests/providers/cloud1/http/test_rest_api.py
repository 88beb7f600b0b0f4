"""The REST API of a service, at the strict server."""

import json
from typing import Any

import pytest

from fabric.model.problems import FabricError
from tests.providers.cloud1.http.test_gateway import http
from tests.support.cloud1_site import Cloud1Site
from tests.support.http_apis import DOMAIN, at_domain, configure, records, token, trust
from tests.support.rest_apis import (
    CHECK,
    ECHO,
    POOL,
    asked,
    deployments,
    key_value,
    rest_api,
    rest_calls,
    stage,
    status,
)

pytestmark = pytest.mark.slow


def test_the_first_deploy_creates_one_api_with_a_stage(site: Cloud1Site) -> None:
    configure(site, kind="rest")
    released = site.up(site.order("hello", http("/a/{id}"), http("/b", "POST"), source=ECHO))
    api = rest_api(site)["id"]
    assert released.endpoint == f"https://{api}.execute-api.{site.region}.amazonaws.com/dev"
    assert status(site, "/b") == 403
    event = json.loads(asked(site, "/a/7?x=1&x=2").text)
    assert (event["resource"], event["pathParameters"]) == ("/a/{id}", {"id": "7"})
    assert event["multiValueQueryStringParameters"] == {"x": ["1", "2"]}
    assert event["requestContext"]["stage"] == "dev"
    assert "version" not in event


def test_a_changed_route_needs_one_deployment_and_no_version(site: Cloud1Site) -> None:
    configure(site, kind="rest")
    site.up(site.order("hello", http("/a")))
    site.cloud1.reset()
    site.up(site.order("hello", http("/b")))
    assert rest_calls(site.cloud1) == {
        "apigateway.GetRestApi": 1,
        "apigateway.GetDeployments": 1,
        "apigateway.PutRestApi": 1,
        "apigateway.CreateDeployment": 1,
        "apigateway.GetStage": 1,
        "apigateway.UpdateStage": 1,
    }
    assert (status(site, "/a"), status(site, "/b")) == (403, 200)


def test_unchanged_settings_need_no_call(site: Cloud1Site) -> None:
    configure(site, kind="rest", apiKeys=["mobile"], throttle={"rate": 1, "burst": 2})
    order = site.order("hello", http("/a", apiKey=True))
    site.up(order)
    site.cloud1.reset()
    site.up(order)
    assert not rest_calls(site.cloud1)
    site.up(site.order("hello", http("/a", apiKey=True), word="two"))
    assert not rest_calls(site.cloud1)


def test_a_return_to_former_routes_uses_their_deployment(site: Cloud1Site) -> None:
    configure(site, kind="rest")
    first = site.order("hello", http("/a"))
    site.up(first)
    site.up(site.order("hello", http("/b")))
    site.cloud1.reset()
    site.up(first)
    assert "apigateway.PutRestApi" not in rest_calls(site.cloud1)
    assert (status(site, "/a"), status(site, "/b")) == (200, 403)
    assert len(deployments(site)) == 2


def test_only_deployments_of_the_history_are_kept(site: Cloud1Site) -> None:
    configure(site, kind="rest")
    site.up(site.order("hello", http("/a")))
    client, api = site.cloud1.client("apigateway"), rest_api(site)["id"]
    for text in ("fabric of a run that failed", "by hand"):
        client.create_deployment(restApiId=api, description=text)
    site.up(site.order("hello", http("/b")))
    rows = client.get_deployments(restApiId=api)["items"]
    assert sorted(one["description"][:7] for one in rows) == ["by hand", "fabric ", "fabric "]


def test_nothing_is_left_of_a_removed_service(site: Cloud1Site) -> None:
    configure(
        site, kind="rest", apiKeys=["mobile"], usagePlan={"throttle": {"rate": 1, "burst": 1}}
    )
    site.up(site.order("hello", http("/a", apiKey=True)))
    site.dissolve()
    assert site.cloud1.left() == {}


def test_without_routes_the_api_and_its_permissions_are_deleted(site: Cloud1Site) -> None:
    configure(site, kind="rest")
    site.up(site.order("hello", http("/a")))
    site.up(site.order("hello"))
    assert site.cloud1.left().keys() == {"functions"}
    lambdas = site.cloud1.client("lambda")
    with pytest.raises(lambdas.exceptions.ResourceNotFoundException):
        lambdas.get_policy(FunctionName="shop-dev-hello", Qualifier="live")


def test_another_kind_replaces_the_api_after_the_new_one_answers(site: Cloud1Site) -> None:
    configure(site)
    order = site.order("hello", http("/a"))
    site.up(order)
    configure(site, kind="rest", allowReplace=True)
    site.up(order)
    assert status(site, "/a") == 200
    assert "apis" not in site.cloud1.left()
    configure(site, allowReplace=True)
    site.up(order)
    assert not {"rest apis", "deployments"} & site.cloud1.left().keys()
    assert site.cloud1.http_get(f"{site.record.endpoint}/a").status == 200  # type: ignore[union-attr]


def test_keys_open_methods_and_their_plan_limits_them(site: Cloud1Site) -> None:
    configure(site, kind="rest", apiKeys=["mobile", "web"])
    order = site.order("hello", http("/a", apiKey=True), http("/b"))
    site.up(order)
    value = key_value(site, "shop-dev-mobile")
    assert [status(site, "/a"), status(site, "/b")] == [403, 200]
    assert status(site, "/a", x_api_key=value) == 200
    assert value not in str(site.record)
    limits = {
        "quota": {"limit": 5, "period": "day", "offset": 1},
        "throttle": {"rate": 0, "burst": 0},
    }
    configure(site, kind="rest", apiKeys=["mobile"], usagePlan=limits)
    site.up(order)
    assert status(site, "/a", x_api_key=value) == 429
    assert site.cloud1.left()["api keys"] == ["shop-dev-mobile"]
    configure(site, kind="rest", apiKeys=["mobile"])
    site.up(order)
    assert status(site, "/a", x_api_key=value) == 200


def test_an_authorizer_can_return_the_key_of_a_request(site: Cloud1Site) -> None:
    door = {"type": "request", "function": "check", "identitySource": "$request.header.who"}
    said: dict[str, Any] = {"kind": "rest", "apiKeys": ["mobile"], "authorizers": {"door": door}}
    configure(site, **said, apiKeySource="authorizer")
    key = CHECK.replace(
        'principalId: "me"', 'principalId: "me", usageIdentifierKey: event.headers.Who'
    )
    checker = site.order("check", source=key.replace('text === "open"', "true"))
    site.up(site.order("hello", http("/a", apiKey=True, authorizer="door")), checker)
    value = key_value(site, "shop-dev-mobile")
    assert [status(site, "/a", who=one) for one in ("me", value)] == [403, 200]
    configure(site, **said)
    site.up(site.order("hello", http("/a", apiKey=True, authorizer="door")), checker)
    assert [status(site, "/a", who="me", x_api_key=one) for one in ("x", value)] == [403, 200]


def test_requests_are_validated_before_the_function_runs(site: Cloud1Site) -> None:
    configure(site, kind="rest")
    schema = {"type": "object", "required": ["id"]}
    request = {"schema": schema, "parameters": {"page": "query"}}
    site.up(site.order("hello", http("/a", "POST", request=request, cors="https://shop.test")))
    asks = (("/a", b'{"id": 1}'), ("/a?page=1", b"{}"), ("/a?page=1", b'{"id": 1}'))
    found = [
        asked(site, path, "POST", body, content_type="application/json") for path, body in asks
    ]
    assert [one.status for one in found] == [400, 400, 200]
    assert found[0].headers["access-control-allow-origin"] == "https://shop.test"
    preflight = asked(site, "/a", "OPTIONS")
    assert preflight.status == 204
    assert preflight.headers["access-control-allow-origin"] == "https://shop.test"


def test_a_preflight_allows_the_origin_of_the_request_if_it_is_in_the_list(
    site: Cloud1Site,
) -> None:
    configure(site, kind="rest")
    first, second = "https://admin.test", "https://shop.test"
    site.up(site.order("hello", http("/a", cors={"origins": [second, first]})))
    allowed = [
        asked(site, "/a", "OPTIONS", origin=one).headers["access-control-allow-origin"]
        for one in (first, second, "https://other.test")
    ]
    assert allowed == [first, second, first]
    assert asked(site, "/a", "OPTIONS", origin=second).headers["vary"] == "Origin"


MAPPED = """export const handler = async (event) => {
  console.log("given " + JSON.stringify(event));
  if (event.query?.fail) throw new Error(event.query.fail);
  return { got: event };
};
"""


def test_a_route_without_a_proxy_gets_the_parts_of_a_request(site: Cloud1Site) -> None:
    door = {"type": "token", "function": "check"}
    configure(site, kind="rest", authorizers={"door": door})
    one = http("/a/{id}", "ANY", integration="lambda", cors="https://shop.test", authorizer="door")
    plain = http("/b", "POST", integration="lambda")
    site.up(site.order("hello", one, plain, source=MAPPED), site.order("check", source=CHECK))
    found = asked(
        site,
        "/a/it's%20%22x%22?q=%C3%A4/",
        "POST",
        b'{"n": [1]}',
        content_type="application/json; charset=utf-8",
        Authorization="open",
    )
    assert found.headers["access-control-allow-origin"] == "https://shop.test"
    event = json.loads(found.text)["got"]
    assert event["body"] == {"n": [1]}
    assert (event["method"], event["stage"], event["requestPath"]) == ("POST", "dev", "/a/{id}")
    assert (event["path"], event["query"]) == ({"id": 'it\'s "x"'}, {"q": "ä/"})
    assert event["principalId"] == "me"
    assert event["enhancedAuthContext"]["who"] == "me"
    assert event["headers"]["Authorization"] == "open"
    form = asked(
        site,
        "/b",
        "POST",
        b"a=1&b=it%27s+x&c",
        content_type="application/x-www-form-urlencoded",
    )
    assert json.loads(form.text)["got"]["body"] == {"a": "1", "b": "it's x", "c": ""}
    texts = ("", "%5B404%5D+none", "other", "%5B500%5D")
    assert [status(site, f"/b?fail={one}", "POST") for one in texts] == [200, 404, 200, 500]
    kinds = ("text/plain", "application/json")
    assert [asked(site, "/b", "POST", b"{", content_type=one).status for one in kinds] == [415, 400]


def test_responses_of_the_api_itself_can_be_changed(site: Cloud1Site) -> None:
    unknown = {
        "statusCode": 404,
        "headers": {"X-A": "b"},
        "templates": {"application/json": '{"error": $context.error.messageString}'},
    }
    configure(site, kind="rest", gatewayResponses={"MISSING_AUTHENTICATION_TOKEN": unknown})
    order = site.order("hello", http("/a", "POST", request={"parameters": {"page": "query"}}))
    site.up(order)
    found = asked(site, "/b")
    assert (found.status, found.headers["x-a"]) == (404, "b")
    assert json.loads(found.text) == {"error": "Missing Authentication Token"}
    assert status(site, "/a", "POST") == 400
    configure(site, kind="rest", gatewayResponses={"BAD_REQUEST_PARAMETERS": {"statusCode": 422}})
    site.up(order)
    assert [status(site, "/b"), status(site, "/a", "POST")] == [403, 422]


def test_functions_and_user_pools_authorize_requests(site: Cloud1Site) -> None:
    trust(site.cloud1, "https://cognito-idp.us-east-1.amazonaws.com/us-east-1_abc")
    door = {"type": "token", "function": "check", "ttl": 60, "pattern": "[a-z]+"}
    request = {
        "type": "request",
        "function": "check",
        "identitySource": ["$request.header.Authorization"],
    }
    users = {"type": "cognito", "userPoolArn": POOL}
    configure(site, kind="rest", authorizers={"door": door, "gate": request, "users": users})
    routes = (
        http("/a", authorizer="door"),
        http("/b", authorizer="gate"),
        http("/c", authorizer="users", scopes=["write"]),
        http("/d", authorizer="AWS_IAM"),
    )
    site.up(site.order("hello", *routes, source=ECHO), site.order("check", source=CHECK))
    tokens = ("", "OPEN", "shut", "open", "open")
    assert [status(site, "/a", Authorization=one) for one in tokens] == [401, 401, 403, 200, 200]
    assert len([one for one in site.given("check") if one["type"] == "TOKEN"]) == 2
    assert [status(site, "/b", Authorization=one) for one in ("shut", "open")] == [403, 200]
    event = json.loads(asked(site, "/b", Authorization="open").text)
    assert event["requestContext"]["authorizer"] == {"principalId": "me", "who": "me"}
    issuer = "https://cognito-idp.us-east-1.amazonaws.com/us-east-1_abc"
    assert status(site, "/c", Authorization=token(iss=issuer, scope="read")) == 401
    assert status(site, "/c", Authorization=token(iss=issuer, scope="write")) == 200
    assert status(site, "/d") == 403
    configure(site, kind="rest")
    site.up(site.order("hello", http("/a")), site.order("check", source=CHECK))
    lambdas = site.cloud1.client("lambda")
    with pytest.raises(lambdas.exceptions.ResourceNotFoundException):
        lambdas.get_policy(FunctionName="shop-dev-check", Qualifier="live")


def test_the_stage_follows_the_config(site: Cloud1Site) -> None:
    client = site.cloud1.client("apigateway")
    role = [{"op": "replace", "path": "/cloudwatchRoleArn", "value": "arn:aws:iam::1:role/logs"}]
    client.update_account(patchOperations=role)
    nobody = {"rate": 0, "burst": 0}
    configure(
        site,
        kind="rest",
        throttle={"rate": 100, "burst": 200},
        metrics=True,
        tracing=True,
        accessLogs={"retentionDays": 14},
    )
    site.up(site.order("hello", http("/a"), http("/b/{id}", throttle=nobody)))
    assert (status(site, "/a"), status(site, "/b/1")) == (200, 429)
    there = stage(site)
    assert there["tracingEnabled"]
    assert there["methodSettings"]["*/*"]["throttlingRateLimit"] == 100
    assert there["accessLogSettings"]["destinationArn"].endswith("/fabric/shop-dev")
    configure(site, kind="rest", metrics=True)
    site.up(site.order("hello", http("/a"), http("/b/{id}")))
    there = stage(site)
    assert (status(site, "/b/1"), there["tracingEnabled"]) == (200, False)
    assert there["methodSettings"]["*/*"]["throttlingRateLimit"] == 10_000
    assert there["methodSettings"]["*/*"]["metricsEnabled"]
    assert "accessLogSettings" not in there
    configure(site, kind="rest")
    site.up(site.order("hello", http("/a"), http("/b/{id}")))
    assert stage(site).get("methodSettings", {}) == {}


def test_access_logs_without_a_role_of_the_account_stop_before_any_change(site: Cloud1Site) -> None:
    configure(site, kind="rest", accessLogs=True)
    with pytest.raises(FabricError, match="require a CloudWatch role of API Gateway"):
        site.up(site.order("hello", http("/a")))
    assert "rest apis" not in site.cloud1.left()


def test_settings_of_the_api_follow_the_config(site: Cloud1Site) -> None:
    deny = [{"effect": "Deny"}]
    configure(
        site,
        kind="rest",
        binaryMediaTypes=["image/png"],
        minimumCompressionSize=1024,
        resourcePolicy=deny,
    )
    order = site.order("hello", http("/a"))
    site.up(order)
    api = rest_api(site)
    assert (api["binaryMediaTypes"], api["minimumCompressionSize"]) == (["image/png"], 1024)
    assert status(site, "/a") == 403
    configure(site, kind="rest", binaryMediaTypes=["*/*"], endpointType="edge")
    site.up(order)
    api = rest_api(site)
    assert (api["binaryMediaTypes"], api.get("policy")) == (["*/*"], None)
    assert "minimumCompressionSize" not in api
    assert api["endpointConfiguration"]["types"] == ["EDGE"]
    assert status(site, "/a") == 200


def test_an_endpoint_changes_with_the_release(site: Cloud1Site) -> None:
    configure(site, kind="rest")
    order = site.order("hello", http("/a"))
    site.up(order)
    private = {"endpointType": "private", "vpcEndpointIds": ["vpce-1"], "resourcePolicy": [{}]}
    configure(site, kind="rest", **private)
    site.cloud1.fault("lambda.UpdateAlias", status=400, code="InvalidParameterValueException")
    with pytest.raises(FabricError):
        site.up(site.order("hello", http("/a"), word="two"))
    assert rest_api(site)["endpointConfiguration"]["types"] == ["REGIONAL"]
    site.up(site.order("hello", http("/a"), word="two"))
    there = rest_api(site)["endpointConfiguration"]
    assert (there["types"], there["vpcEndpointIds"]) == (["PRIVATE"], ["vpce-1"])


def test_an_api_changed_by_hand_is_repaired_by_force(site: Cloud1Site) -> None:
    configure(site, kind="rest")
    order = site.order("hello", http("/a"))
    site.up(order)
    client, api = site.cloud1.client("apigateway"), rest_api(site)["id"]
    client.delete_stage(restApiId=api, stageName="dev")
    site.up(order, force=True)
    assert status(site, "/a") == 200
    client.delete_rest_api(restApiId=api)
    site.up(order, force=True)
    assert status(site, "/a") == 200


def test_a_change_during_another_one_is_repeated(site: Cloud1Site) -> None:
    configure(site, kind="rest")
    words = "Unable to complete operation due to concurrent modification."
    for operation in ("PutRestApi", "CreateDeployment"):
        site.cloud1.fault(
            f"apigateway.{operation}", status=409, code="ConflictException", message=words
        )
    site.up(site.order("hello", http("/a")))
    assert (status(site, "/a"), len(deployments(site))) == (200, 1)


@pytest.mark.parametrize("operation", ["CreateRestApi", "CreateDeployment", "CreateApiKey"])
def test_unconfirmed_create_is_looked_up_before_a_retry(site: Cloud1Site, operation: str) -> None:
    configure(site, kind="rest", apiKeys=["mobile"])
    site.cloud1.fault(f"apigateway.{operation}", status=503, after=True)
    site.cloud1.fault(f"apigateway.{operation}", status=503)
    site.up(site.order("hello", http("/a")))
    left = site.cloud1.left()
    kinds = ("rest apis", "deployments", "api keys", "usage plans")
    assert [len(left[kind]) for kind in kinds] == [1, 1, 1, 1]


def test_a_domain_moves_to_the_api_of_the_other_kind(
    site: Cloud1Site, certificate: str, zone: str
) -> None:
    domain = {"name": DOMAIN, "certificate": certificate, "zone": zone, "basePath": "v1"}
    order = site.order("hello", http("/a"))
    configure(site, domain=domain)
    site.up(order)
    site.cloud1.reset()
    configure(site, kind="rest", domain=domain, disableDefaultEndpoint=True)
    outputs = dict(site.up(order).outputs)
    assert site.cloud1.calls()["apigatewayv2.UpdateApiMapping"] == 1
    assert "apigatewayv2.DeleteApiMapping" not in site.cloud1.calls()
    assert outputs["url"] == f"https://{DOMAIN}/v1"
    assert at_domain(site, "/v1/a") == 200
    url = f"{site.cloud1.endpoint}/_api/{rest_api(site)['id']}/dev/a"
    assert site.cloud1.http_get(url).status == 403
    assert records(site, zone).keys() == {"A", "AAAA"}
    site.dissolve()
    assert records(site, zone) == {}
    assert site.cloud1.left() == {}


def test_routes_of_a_rest_api_are_not_diverted(site: Cloud1Site) -> None:
    configure(site, kind="rest")
    site.up(site.order("hello", http("/a")))
    with pytest.raises(FabricError, match="has a REST API, whose routes fabric does not divert"):
        site.deployer.diversion(site.address(site.record), "https://tunnel.test", "m")
