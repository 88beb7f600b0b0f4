"""HTTP APIs: kept as they are described, and answered by the functions themselves."""

import pytest

from tests.servers.strict_cloud1.refused import refused
from tests.support.function_archive import archive
from tests.support.servers.functions import functions_server
from tests.support.servers.strict_cloud1.client import StrictCloud1
from tests.support.servers.strict_cloud1.samples import (
    call,
    create,
    expose,
    integrate,
    live,
    permit,
    update,
)

pytestmark = pytest.mark.slow

PYTHON = """
def handler(event, context):
    return {"statusCode": 201, "headers": {"X-Own": "yes"}, "body": event["rawPath"]}
"""


def test_a_request_reaches_the_version_of_the_alias(cloud1: StrictCloud1) -> None:
    api = expose(cloud1, live(cloud1))
    url = f"{api['ApiEndpoint']}/hello/ada?x=1&x=2"
    first = cloud1.http_get(url).json
    assert first["said"] == "one"
    assert first["event"]["version"] == "2.0"
    assert first["event"]["rawPath"] == "/hello/ada"
    assert first["event"]["pathParameters"] == {"name": "ada"}
    assert first["event"]["queryStringParameters"] == {"x": "1,2"}
    number = update(cloud1, "two")
    assert cloud1.http_get(url).json["said"] == "one"
    cloud1.client("lambda").update_alias(FunctionName="hello", Name="live", FunctionVersion=number)
    assert cloud1.http_get(url).json["said"] == "two"


def test_a_function_of_python_answers_too(cloud1: StrictCloud1) -> None:
    code = {"ZipFile": archive(app_py=PYTHON)}
    arn = live(cloud1, Runtime="python3.12", Handler="app.handler", Code=code)
    api = expose(cloud1, arn, "ANY /{proxy+}")
    answer = cloud1.http_get(f"{api['ApiEndpoint']}/a/b")
    assert (answer.status, answer.text) == (201, "/a/b")
    assert answer.headers["x-own"] == "yes"


def test_without_permission_on_the_alias_the_answer_is_500(cloud1: StrictCloud1) -> None:
    arn = live(cloud1)
    api = expose(cloud1, arn)
    url = f"{api['ApiEndpoint']}/hello/ada"
    cloud1.client("lambda").remove_permission(
        FunctionName="hello", Qualifier="live", StatementId=f"api-{api['ApiId']}"
    )
    answer = cloud1.http_get(url)
    assert (answer.status, answer.json) == (500, {"message": "Internal Server Error"})
    cloud1.client("lambda").add_permission(
        FunctionName="hello",
        StatementId="on-the-function-alone",
        Action="lambda:InvokeFunction",
        Principal="apigateway.amazonaws.com",
    )
    assert cloud1.http_get(url).status == 500


def test_a_permission_is_for_the_routes_that_it_names(cloud1: StrictCloud1) -> None:
    arn = live(cloud1)
    gateway = cloud1.client("apigatewayv2")
    ident = gateway.create_api(Name="shop", ProtocolType="HTTP")["ApiId"]
    gateway.create_stage(ApiId=ident, StageName="$default", AutoDeploy=True)
    target = integrate(cloud1, ident, arn)
    for key in ("GET /a", "POST /a"):
        gateway.create_route(ApiId=ident, RouteKey=key, Target=target)
    permit(cloud1, arn, ident, "*/GET/a")
    url = f"{gateway.get_api(ApiId=ident)['ApiEndpoint']}/a"
    assert cloud1.http("GET", url).status == 200
    assert cloud1.http("POST", url, b"").status == 500


def test_an_alias_of_a_version_that_is_still_made_answers_500(cloud1: StrictCloud1) -> None:
    create(cloud1)
    made = cloud1.client("lambda").create_alias(
        FunctionName="hello", Name="live", FunctionVersion="1"
    )
    url = f"{expose(cloud1, made['AliasArn'])['ApiEndpoint']}/hello/ada"
    assert [cloud1.http_get(url).status for _ in range(2)] == [500, 200]


def test_a_path_without_a_route_is_not_found(cloud1: StrictCloud1) -> None:
    api = expose(cloud1, live(cloud1))
    assert cloud1.http_get(f"{api['ApiEndpoint']}/other").status == 404
    assert cloud1.http("POST", f"{api['ApiEndpoint']}/hello/ada", b"{}").status == 404


def test_an_api_without_a_stage_that_deploys_itself_serves_nothing(cloud1: StrictCloud1) -> None:
    api = expose(cloud1, live(cloud1))
    gateway = cloud1.client("apigatewayv2")
    gateway.delete_stage(ApiId=api["ApiId"], StageName="$default")
    assert cloud1.http_get(f"{api['ApiEndpoint']}/hello/ada").status == 404
    gateway.create_stage(ApiId=api["ApiId"], StageName="dev", AutoDeploy=True)
    assert cloud1.http_get(f"{api['ApiEndpoint']}/dev/hello/ada").status == 200


def test_the_most_specific_route_answers(cloud1: StrictCloud1) -> None:
    keys = ("$default", "ANY /{proxy+}", "GET /hello/{name}", "GET /hello/me", "POST /hello/me")
    api = expose(cloud1, live(cloud1), *keys)
    paths = ("/hello/me", "/hello/you", "/hello/you/too")
    taken = [cloud1.http_get(api["ApiEndpoint"] + path).json["event"]["routeKey"] for path in paths]
    assert taken == ["GET /hello/me", "GET /hello/{name}", "ANY /{proxy+}"]


def test_handler_exception_returns_500(cloud1: StrictCloud1) -> None:
    code = {"ZipFile": archive(index_mjs="export const handler = () => { throw Error('no') }")}
    api = expose(cloud1, live(cloud1, Code=code))
    assert cloud1.http_get(f"{api['ApiEndpoint']}/hello/ada").status == 500


def test_creating_an_api_twice_creates_two_apis(cloud1: StrictCloud1) -> None:
    gateway = cloud1.client("apigatewayv2")
    tags = {"fabric:service": "shop"}
    for _ in range(2):
        gateway.create_api(Name="shop", ProtocolType="HTTP", Tags=tags)
    found = gateway.get_apis()["Items"]
    assert [one["Tags"] for one in found] == [tags, tags]
    for one in found:
        gateway.delete_api(ApiId=one["ApiId"])
    with refused("NotFoundException"):
        gateway.delete_api(ApiId=found[0]["ApiId"])
    assert cloud1.left() == {}


def test_lists_come_in_pages_and_end_at_300(cloud1: StrictCloud1) -> None:
    gateway = cloud1.client("apigatewayv2")
    ident = gateway.create_api(Name="shop", ProtocolType="HTTP")["ApiId"]
    for number in range(300):
        gateway.create_route(ApiId=ident, RouteKey=f"GET /{number}")
    with refused("BadRequestException", "Maximum number of Routes"):
        gateway.create_route(ApiId=ident, RouteKey="GET /more")
    first = gateway.get_routes(ApiId=ident)
    assert len(first["Items"]) < 300
    pages = gateway.get_paginator("get_routes").paginate(ApiId=ident)
    assert len([one for page in pages for one in page["Items"]]) == 300


def test_routes_and_integrations_are_validated_together(cloud1: StrictCloud1) -> None:
    gateway = cloud1.client("apigatewayv2")
    api = expose(cloud1, live(cloud1))
    ident = api["ApiId"]
    route = gateway.get_routes(ApiId=ident)["Items"][0]
    with refused("ConflictException", "already exists for this API"):
        gateway.create_route(ApiId=ident, RouteKey=route["RouteKey"])
    with refused("BadRequestException", "Unable to find Integration"):
        gateway.update_route(ApiId=ident, RouteId=route["RouteId"], Target="integrations/none")
    with refused("BadRequestException", "not formatted properly"):
        gateway.create_route(ApiId=ident, RouteKey="get hello")
    with refused("ConflictException", "referenced by a Route"):
        gateway.delete_integration(
            ApiId=ident, IntegrationId=route["Target"].removeprefix("integrations/")
        )
    with refused("BadRequestException", "Invalid Integration URI"):
        integrate(cloud1, ident, "hello")


def test_route_may_proxy_to_another_server_with_the_request_path(cloud1: StrictCloud1) -> None:
    gateway = cloud1.client("apigatewayv2")
    api = expose(cloud1, live(cloud1))
    route = gateway.get_routes(ApiId=api["ApiId"])["Items"][0]
    with functions_server() as address:
        made = gateway.create_integration(
            ApiId=api["ApiId"],
            IntegrationType="HTTP_PROXY",
            IntegrationMethod="ANY",
            IntegrationUri=f"{address}/ignored",
            PayloadFormatVersion="1.0",
            RequestParameters={"overwrite:path": "$request.path"},
        )
        gateway.update_route(
            ApiId=api["ApiId"],
            RouteId=route["RouteId"],
            Target=f"integrations/{made['IntegrationId']}",
        )
        seen = cloud1.http_get(f"{api['ApiEndpoint']}/hello/ada?x=1").json
    assert seen == {"method": "GET", "path": "/hello/ada?x=1", "body": ""}
    assert cloud1.http_get(f"{api['ApiEndpoint']}/hello/ada").status == 503


def test_an_api_answers_for_origins_itself(cloud1: StrictCloud1) -> None:
    api = expose(cloud1, live(cloud1))
    url = f"{api['ApiEndpoint']}/hello/ada"
    cloud1.client("apigatewayv2").update_api(
        ApiId=api["ApiId"],
        CorsConfiguration={"AllowOrigins": ["https://shop.example"], "AllowMethods": ["GET"]},
    )
    asked = {"Origin": "https://shop.example", "Access-Control-Request-Method": "GET"}
    preflight = cloud1.http("OPTIONS", url, headers=asked)
    assert preflight.status == 204
    assert preflight.headers["access-control-allow-methods"] == "GET"
    answer = cloud1.http_get(url, Origin="https://shop.example")
    assert answer.headers["access-control-allow-origin"] == "https://shop.example"
    other = cloud1.http_get(url, Origin="https://other.example")
    assert "access-control-allow-origin" not in other.headers


def test_credentials_are_not_for_every_origin(cloud1: StrictCloud1) -> None:
    cors = {"AllowOrigins": ["*"], "AllowCredentials": True}
    with refused("BadRequestException"):
        cloud1.client("apigatewayv2").create_api(
            Name="shop", ProtocolType="HTTP", CorsConfiguration=cors
        )


def test_binary_body_round_trips_as_base64(cloud1: StrictCloud1) -> None:
    echo = """export const handler = async (event) => ({ statusCode: 200,
        body: event.body, isBase64Encoded: event.isBase64Encoded, cookies: ["a=b", "c=d"] })"""
    arn = live(cloud1, Code={"ZipFile": archive(index_mjs=echo)})
    api = expose(cloud1, arn, "POST /echo")
    url = f"{api['ApiEndpoint']}/echo"
    assert cloud1.http("POST", url, b"text").text == "text"
    answer = cloud1.http("POST", url, b"\xff\x00\xfe")
    assert (answer.body, answer.headers["set-cookie"]) == (b"\xff\x00\xfe", "a=b, c=d")


def test_warm_function_retains_its_state(cloud1: StrictCloud1) -> None:
    code = {"ZipFile": archive(index_mjs="let n = 0; export const handler = () => ++n")}
    live(cloud1, Code=code)
    assert [call(cloud1, qualifier="live") for _ in range(3)] == [1, 2, 3]


def test_an_api_of_another_account_is_not_seen(cloud1: StrictCloud1) -> None:
    other = StrictCloud1(cloud1.endpoint)
    create(other)
    cloud1.client("apigatewayv2").create_api(Name="shop", ProtocolType="HTTP")
    assert list(cloud1.left()) == ["apis"]
    assert other.left() == {"functions": ["hello"]}
    other.close()
