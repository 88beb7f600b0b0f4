"""The document, the patches and the problems of REST APIs, on values."""

import json
from typing import Any

import pytest
from msgspec import convert
from openapi_spec_validator import OpenAPIV30SpecValidator

from fabric.model.problems import FabricError
from fabric.providers.cloud1.core.http_settings import HttpSettings
from fabric.providers.cloud1.core.versions import OwnSettings
from fabric.providers.cloud1.http.gateway_plan import plan_gateway
from fabric.providers.cloud1.http.rest_document import RestAttributes
from fabric.providers.cloud1.http.rest_plan import DesiredRestApi, DesiredRestStage, plan_rest_api
from fabric.providers.cloud1.http.rest_stage import (
    find_removed_settings,
    list_api_patches,
    list_stage_patches,
    normalize_method_path,
)
from fabric.providers.cloud1.limits import find_unsupported
from fabric.providers.core.contract import FunctionDraft, LiveFunction, Unsupported
from tests.support.orders import address
from tests.support.records import record

_USERS = {"type": "jwt", "issuer": "https://login.example", "audience": ["shop"]}
_POOL = {"type": "cognito", "userPoolArn": "arn:aws:cognito-idp:us-east-1:1:userpool/a"}
_HELLO = "arn:aws:lambda:us-east-1:123456789012:function:shop-dev-hello:3"
_CERTIFICATE = "arn:aws:acm:us-east-1:123456789012:certificate/1"
_PREFIX = "x-amazon-apigateway-"


def http(path: str = "/a", method: str = "GET", **more: object) -> str:
    return json.dumps({"type": "http", "method": method, "path": path, **more})


def planned(*triggers: str, **settings: Any) -> DesiredRestApi:
    function = LiveFunction("hello", "shop-dev-hello", _HELLO, triggers=triggers)
    extension = json.dumps({"http": {"kind": "rest", **settings}})
    return plan_rest_api(address(region="us-east-1", extension=extension), (function,))


def document(*triggers: str, **settings: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(planned(*triggers, **settings).document)
    return found


def unsupported(
    *triggers: str, kind: str = "rest", kept: tuple[tuple[str, str], ...] = (), **settings: object
) -> list[Unsupported]:
    own = OwnSettings(http=convert({"kind": kind, **settings}, HttpSettings))
    draft = FunctionDraft("hello", (("runtime", "nodejs"),), triggers=triggers)
    where = address(region="us-east-1", previous=record(kept=kept) if kept else None)
    return list(find_unsupported(own, where, (draft,)))


def test_the_document_is_valid_openapi() -> None:
    door = {"type": "request", "function": "hello", "ttl": 5}
    said = document(
        http("/a/{id}", "ANY", cors="true", authorizer="pool", scopes=["x"]),
        http("/b", "POST", request={"schema": {"type": "object"}, "parameters": {"p": "query"}}),
        http("/c", authorizer="AWS_IAM", apiKey=True),
        http("/d", authorizer="door", stream=True, timeout=600),
        http("/e", integration="lambda", cors="true"),
        authorizers={"pool": _POOL, "door": door},
        apiKeys=["mobile"],
        gatewayResponses={"THROTTLED": {"statusCode": 503}},
        resourcePolicy=[{"effect": "Deny", "condition": {"Bool": {"aws:SecureTransport": False}}}],
        binaryMediaTypes=["image/png"],
        minimumCompressionSize=10,
    )
    OpenAPIV30SpecValidator(said).validate()


def test_a_method_calls_the_alias_of_its_function() -> None:
    said = document(http("/a", "ANY"), timeout=3)
    integration = said["paths"]["/a"][f"{_PREFIX}any-method"][f"{_PREFIX}integration"]
    assert integration["uri"].endswith(":function:shop-dev-hello:live/invocations")
    assert (integration["type"], integration["timeoutInMillis"]) == ("aws_proxy", 3000)


def test_a_streamed_method_has_its_own_address_and_time() -> None:
    said = document(http(stream=True, timeout=120))
    integration = said["paths"]["/a"]["get"][f"{_PREFIX}integration"]
    assert "/2021-11-15/" in integration["uri"]
    assert integration["uri"].endswith("/response-streaming-invocations")
    assert (integration["responseTransferMode"], integration["timeoutInMillis"]) == (
        "STREAM",
        120_000,
    )


def test_a_key_and_an_authorizer_are_both_required() -> None:
    said = document(
        http(apiKey=True, authorizer="pool", scopes=["read"]),
        authorizers={"pool": _POOL},
        apiKeys=["mobile"],
    )
    assert said["paths"]["/a"]["get"]["security"] == [
        {"api_key": [], "fabric-cognito-pool": ["read"]}
    ]


def test_schemas_can_be_text_and_by_media_type() -> None:
    text = json.dumps({"$schema": "http://json-schema.org/draft-04/schema#", "type": "array"})
    said = document(http("/a", "POST", request={"schema": {"application/xml": text}}))
    operation = said["paths"]["/a"]["post"]
    reference = operation["requestBody"]["content"]["application/xml"]["schema"]["$ref"]
    assert said["components"]["schemas"][reference.rpartition("/")[2]] == {"type": "array"}
    assert operation[f"{_PREFIX}request-validator"] == "body"


def test_the_origin_of_a_request_is_chosen_from_several_of_its_path() -> None:
    said = document(
        *(http("/a", method, cors=f"https://{method}.test") for method in ("GET", "POST")),
        http("/b", cors="https://b.test"),
        http("/c", cors={"origins": ["https://c.test", "*"]}),
    )
    rows = {
        path: one["options"][f"{_PREFIX}integration"]["responses"]["default"]
        for path, one in said["paths"].items()
    }
    [template] = rows["/a"]["responseTemplates"].values()
    assert "$origin == 'https://GET.test' || $origin == 'https://POST.test'" in template
    assert rows["/a"]["responseParameters"]["method.response.header.Vary"] == "'Origin'"
    assert "responseTemplates" not in rows["/b"] | rows["/c"]


def test_browsers_are_answered_unless_a_function_does_it() -> None:
    cors = {"origins": ["https://shop.test"], "credentials": True, "headers": ["x-a"]}
    said = document(http(cors=cors), http("/own", "OPTIONS", cors=cors), http("/plain"))
    mock = said["paths"]["/a"]["options"][f"{_PREFIX}integration"]
    headers = mock["responses"]["default"]["responseParameters"]
    origin = "method.response.header.Access-Control-Allow-Origin"
    assert (mock["type"], headers[origin]) == ("mock", "'https://shop.test'")
    own = said["paths"]["/own"]["options"][f"{_PREFIX}integration"]
    assert own["type"] == "aws_proxy"
    assert "options" not in said["paths"]["/plain"]
    assert said[f"{_PREFIX}gateway-responses"].keys() == {"DEFAULT_4XX", "DEFAULT_5XX"}


def test_responses_of_the_api_have_own_headers_and_those_of_browsers() -> None:
    expired = {
        "statusCode": 401,
        "headers": {"X-A": "$request.header.Origin", "X-B": "$context.requestId"},
        "templates": {"application/json": "{}"},
    }
    responses = {"EXPIRED_TOKEN": expired, "DEFAULT_4XX": {"headers": {"X-C": "c"}}}
    said = document(http(cors="https://shop.test"), gatewayResponses=responses)
    found = said[f"{_PREFIX}gateway-responses"]
    header = "gatewayresponse.header."
    assert found["EXPIRED_TOKEN"] == {
        "statusCode": "401",
        "responseParameters": {
            f"{header}X-A": "method.request.header.Origin",
            f"{header}X-B": "context.requestId",
        },
        "responseTemplates": {"application/json": "{}"},
    }
    assert found["DEFAULT_4XX"]["responseParameters"] == {
        f"{header}Access-Control-Allow-Origin": "'https://shop.test'",
        f"{header}X-C": "'c'",
    }
    assert found.keys() == {"EXPIRED_TOKEN", "DEFAULT_4XX", "DEFAULT_5XX"}


def test_only_the_document_decides_about_a_new_deployment() -> None:
    plain = planned(http())
    limited = planned(http(), throttle={"rate": 1, "burst": 2}, tracing=True)
    assert limited.mark == plain.mark
    assert limited.digest != plain.digest
    assert planned(http(), binaryMediaTypes=["image/png"]).mark != plain.mark


def test_a_route_without_a_proxy_cannot_stream() -> None:
    [found] = unsupported(http(integration="lambda", stream=True))
    assert "only a proxy streams responses" in found.problem.message
    assert not unsupported(http(integration="lambda"))


def test_the_order_of_triggers_changes_nothing() -> None:
    assert planned(http("/a"), http("/b")).digest == planned(http("/b"), http("/a")).digest


@pytest.mark.parametrize("kind", ["http", "rest"])
def test_a_key_of_rest_apis_needs_the_kind(kind: str) -> None:
    found = unsupported(
        http(timeout=60, stream=True, request={}),
        kind=kind,
        apiKeys=["a"],
        metrics=True,
        authorizers={"pool": _POOL},
    )
    hint = "set extensions.cloud1-lambda.http.kind: rest"
    assert [one.problem.hint for one in found] == ([hint] * 6 if kind == "http" else [])


@pytest.mark.parametrize(
    ("triggers", "settings", "message"),
    [
        ((http(),), {"payload": "2.0"}, "send events of the format 1.0"),
        ((http(),), {"payload": "1.0"}, "send events of the format 1.0"),
        ((http(),), {"apiKeys": ["a", "a"]}, "the name `a` twice"),
        ((http(),), {"timeout": 60, "endpointType": "edge"}, "edge APIs wait for at most 29 s"),
        ((http(),), {"authorizers": {"users": _USERS}}, "`jwt`, which REST APIs do not have"),
        (
            (http(),),
            {"authorizers": {"a": {"type": "request", "arn": "arn:x", "simple": True}}},
            "return policies",
        ),
        ((http(),), {"endpointType": "private"}, "private, which requires `resourcePolicy`"),
        ((http(),), {"vpcEndpointIds": ["vpce-1"]}, "the API is not private"),
        (
            (http(),),
            {
                "endpointType": "private",
                "resourcePolicy": [{}],
                "domain": {"name": "a.example", "certificate": _CERTIFICATE},
            },
            "no domains of private APIs",
        ),
        ((http("/a/"),), {}, "a segment that REST APIs do not support"),
        ((http("/{all+}/b"),), {}, "a greedy parameter that is not last"),
        ((http("/a/{id}"), http("/a/{name}/b")), {}, "and another path has `{id}` there"),
        ((http(timeout=60),), {"endpointType": "edge"}, "edge APIs wait for at most 29 s"),
        ((http(apiKey=True),), {}, "sets `apiKey`, and the API has no keys"),
        ((http(request={"schema": "{"}),), {}, "is not a JSON schema"),
        ((http(scopes=["x"]),), {}, "only a Cognito authorizer checks"),
        (
            (http("/a", integration="lambda", cors={"origins": ["https://a.test", "https://b"]}),),
            {},
            "allows several origins (CORS), and `integration: lambda` responds with one",
        ),
        ((http(cors="https://*.test"),), {}, "allows the origin `https://*.test` (CORS), which is"),
        (tuple(http(f"/{number}") for number in range(300)), {}, "at most 300 resources"),
    ],
)
def test_what_a_rest_api_cannot_be_is_named(
    triggers: tuple[str, ...], settings: dict[str, Any], message: str
) -> None:
    (one,) = unsupported(*triggers, **settings)
    assert message in one.problem.message
    assert one.problem.code == "config/unfit"


def test_another_kind_needs_a_domain_or_consent() -> None:
    there = (("api", "a1"),)
    (one,) = unsupported(http(), kept=there)
    assert "replaces the API, and its address changes" in one.problem.message
    assert unsupported(http(), kept=there, allowReplace=True) == []
    domain = {"name": "a.example", "certificate": _CERTIFICATE}
    assert unsupported(http(), kept=there, domain=domain) == []
    assert unsupported(http(), kept=(("rest_api", "r1"),)) == []


@pytest.mark.parametrize("kind", ["http", "rest"])
def test_a_rollback_never_opens_a_route_that_needs_a_key(kind: str) -> None:
    function = LiveFunction("hello", "shop-dev-hello", _HELLO, triggers=(http(apiKey=True),))
    where = address(region="us-east-1", extension=json.dumps({"http": {"kind": kind}}))
    with pytest.raises(FabricError, match="apiKey"):
        (plan_gateway if kind == "http" else plan_rest_api)(where, (function,))


def test_a_method_path_has_one_form() -> None:
    forms = ("~1a~1{id}/GET", "/a/{id}/GET", "a/{id}/GET", "a~1{id}/GET")
    assert {normalize_method_path(one) for one in forms} == {"~1a~1{id}/GET"}
    assert normalize_method_path("*/*") == "*/*"


def test_settings_that_are_no_longer_set_are_removed_first() -> None:
    there = {"methodSettings": {"*/*": {"metricsEnabled": True}, "a/GET": {}}}
    wanted = DesiredRestStage(name="dev", methods={"*/*": {"metrics/enabled": "true"}})
    stored = {"*/*": {"metrics/enabled": "true"}, "~1a/GET": {"throttling/rateLimit": "1.0"}}
    removed = find_removed_settings(there, wanted, json.dumps(stored))
    assert removed == [{"op": "remove", "path": "/~1a/GET"}]
    unknown = find_removed_settings(there, wanted, None)
    assert [one["path"] for one in unknown] == ["/*/*", "/~1a/GET"]
    patches = list_stage_patches({**there, "deploymentId": "d"}, wanted, "d", unknown)
    assert [one["path"] for one in patches] == ["/*/*/metrics/enabled"]


def test_attributes_that_a_document_leaves_are_patched() -> None:
    shown = {
        "endpointConfiguration": {"types": ["EDGE"], "vpcEndpointIds": ["old"]},
        "binaryMediaTypes": ["image/png"],
        "minimumCompressionSize": 0,
        "policy": "{}",
    }
    assert [(one["op"], one["path"]) for one in list_api_patches(shown, RestAttributes())] == [
        ("remove", "/endpointConfiguration/vpcEndpointIds"),
        ("replace", "/endpointConfiguration/types/EDGE"),
        ("remove", "/binaryMediaTypes/image~1png"),
        ("replace", "/minimumCompressionSize"),
        ("replace", "/policy"),
    ]
