"""What an account refuses of REST APIs, and how their stages answer."""

import json
from typing import Any

import pytest

from tests.servers.strict_cloud1.refused import refused
from tests.support.servers.strict_cloud1.client import StrictCloud1
from tests.support.servers.strict_cloud1.samples import live, permit

pytestmark = pytest.mark.slow
_AWS = "x-amazon-apigateway-"
_ALIAS = "arn:aws:lambda:us-east-1:123456789012:function:hello:live"


def operation(alias: str = _ALIAS, **more: Any) -> dict[str, Any]:
    path = f"lambda:path/2015-03-31/functions/{alias}/invocations"
    uri = f"arn:aws:apigateway:us-east-1:{path}"
    integration = {"type": "aws_proxy", "httpMethod": "POST", "uri": uri}
    return {f"{_AWS}integration": {**integration, **more.pop("integration", {})}, **more}


def document(paths: dict[str, Any], **more: Any) -> bytes:
    info = {"title": "shop", "version": "1"}
    return json.dumps({"openapi": "3.0.1", "info": info, "paths": paths, **more}).encode()


def create(cloud1: StrictCloud1, **more: Any) -> str:
    made = cloud1.client("apigateway").create_rest_api(
        name="shop", endpointConfiguration={"types": ["REGIONAL"]}, **more
    )
    return str(made["id"])


def put(cloud1: StrictCloud1, api: str, body: bytes) -> None:
    cloud1.client("apigateway").put_rest_api(restApiId=api, mode="overwrite", body=body)


def release(cloud1: StrictCloud1, api: str) -> str:
    client = cloud1.client("apigateway")
    made = client.create_deployment(restApiId=api)["id"]
    client.create_stage(restApiId=api, stageName="dev", deploymentId=made)
    return str(made)


@pytest.mark.parametrize(
    ("paths", "more", "why"),
    [
        ({"/a/": {"get": operation()}}, {}, "the path part of /a/"),
        ({"/{x+}/b": {"get": operation()}}, {}, "greedy path variable"),
        ({"/{x}": {}, "/{y}/b": {}}, {}, "already has a variable path part"),
        ({"/{x}": {"get": operation()}}, {}, "The path parameters of /{x}"),
        ({"/a": {"get": operation(security=[{"door": []}])}}, {}, "the security definition door"),
        (
            {"/a": {"get": operation(**{f"{_AWS}request-validator": "all"})}},
            {},
            "Invalid request validator",
        ),
        ({"/a": {"get": operation(integration={"uri": "arn:x"})}}, {}, "contains invalid path"),
        (
            {"/a": {"get": operation(integration={"timeoutInMillis": 300_001})}},
            {},
            "between 50 ms and 300000 ms",
        ),
        ({}, {"components": {"schemas": {"a-b": {}}}}, "must be alphanumeric"),
    ],
)
def test_a_document_that_an_account_refuses(
    cloud1: StrictCloud1, paths: dict[str, Any], more: dict[str, Any], why: str
) -> None:
    api = create(cloud1)
    with refused("BadRequestException", why):
        put(cloud1, api, document(paths, **more))


def test_what_a_document_says_more_is_not_forgotten(cloud1: StrictCloud1) -> None:
    with refused("NotWrittenInThisServer", "x-amazon-apigateway-cors"):
        put(cloud1, create(cloud1), document({}, **{f"{_AWS}cors": {}}))


def test_a_deployment_is_a_snapshot_of_methods(cloud1: StrictCloud1) -> None:
    client, alias = cloud1.client("apigateway"), live(cloud1)
    api = create(cloud1)
    with refused("BadRequestException", "doesn't contain any methods"):
        client.create_deployment(restApiId=api)
    put(cloud1, api, document({"/a": {"get": operation(alias)}}))
    first = release(cloud1, api)
    url = f"{cloud1.endpoint}/_api/{api}/dev"
    assert cloud1.http_get(f"{url}/a").status == 500  # not permitted
    permit(cloud1, alias, api)
    assert cloud1.http_get(f"{url}/a").status == 502  # no status in its answer
    put(cloud1, api, document({"/b": {"get": operation(alias)}}))
    assert [cloud1.http_get(f"{url}/{one}").status for one in "ab"] == [502, 403]
    with refused("BadRequestException", "Active stages"):
        client.delete_deployment(restApiId=api, deploymentId=first)
    second = client.create_deployment(restApiId=api)["id"]
    patch = {"op": "replace", "path": "/deploymentId", "value": second}
    client.update_stage(restApiId=api, stageName="dev", patchOperations=[patch])
    assert [cloud1.http_get(f"{url}/{one}").status for one in "ab"] == [403, 502]


def test_a_stage_takes_only_patches_that_it_knows(cloud1: StrictCloud1) -> None:
    client, api = cloud1.client("apigateway"), create(cloud1)
    put(cloud1, api, document({"/a": {"get": operation()}}))
    release(cloud1, api)
    wrong = (
        ("/deploymentId", "none", "Deployment id does not exist"),
        ("/~1b/GET/throttling/rateLimit", "1", "is not a method"),
        ("/a/GET/throttling/rateLimit", "1", "Invalid method setting path"),
        ("/accessLogSettings/format", "$context.requestId", "role ARN must be set"),
    )
    for path, value, why in wrong:
        patch = {"op": "replace", "path": path, "value": value}
        with refused("BadRequestException", why):
            client.update_stage(restApiId=api, stageName="dev", patchOperations=[patch])


def test_a_plan_with_stages_stays(cloud1: StrictCloud1) -> None:
    client, api = cloud1.client("apigateway"), create(cloud1)
    put(cloud1, api, document({"/a": {"get": operation()}}))
    plan = client.create_usage_plan(name="shop")["id"]
    patch = {"op": "add", "path": "/apiStages", "value": f"{api}:dev"}
    with refused("NotFoundException", "API Stage not found"):
        client.update_usage_plan(usagePlanId=plan, patchOperations=[patch])
    release(cloud1, api)
    client.update_usage_plan(usagePlanId=plan, patchOperations=[patch])
    with refused("BadRequestException", "associated with API stages"):
        client.delete_usage_plan(usagePlanId=plan)


def test_values_of_keys_are_shown_on_request_only(cloud1: StrictCloud1) -> None:
    client = cloud1.client("apigateway")
    key = client.create_api_key(name="mobile", enabled=True)
    assert "value" not in client.get_api_key(apiKey=key["id"])
    assert client.get_api_key(apiKey=key["id"], includeValue=True)["value"] == key["value"]


def test_a_private_api_needs_a_policy(cloud1: StrictCloud1) -> None:
    client = cloud1.client("apigateway")
    api = client.create_rest_api(name="shop", endpointConfiguration={"types": ["PRIVATE"]})["id"]
    put(cloud1, api, document({"/a": {"get": operation()}}))
    with refused("BadRequestException", "resource policy"):
        client.create_deployment(restApiId=api)
