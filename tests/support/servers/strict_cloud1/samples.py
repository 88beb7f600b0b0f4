"""Functions to deploy to the server, as tests of it and of deployers need them."""

import json
from typing import Any

from tests.support.function_archive import archive
from tests.support.servers.strict_cloud1.client import StrictCloud1

ALIAS = "live"


def saying(word: str) -> bytes:
    """Answers with a word and the event that it was given."""
    return archive(
        index_mjs=f"export const handler = async (event) => ({{ said: {json.dumps(word)}, event }})"
    )


def create(cloud1: StrictCloud1, name: str = "hello", **changed: Any) -> dict[str, Any]:
    """A function that says `one`, at its first version."""
    asked = {
        "FunctionName": name,
        "Runtime": "nodejs20.x",
        "Handler": "index.handler",
        "Code": {"ZipFile": saying("one")},
        "Publish": True,
        **changed,
    }
    if "Role" not in asked:
        asked["Role"] = role_of(cloud1)
    made: dict[str, Any] = cloud1.client("lambda").create_function(**asked)
    return made


def role_of(cloud1: StrictCloud1) -> str:
    iam = cloud1.client("iam")
    try:
        return str(iam.get_role(RoleName="functions")["Role"]["Arn"])
    except iam.exceptions.NoSuchEntityException:
        return cloud1.role("functions")


def settle(cloud1: StrictCloud1, name: str = "hello") -> dict[str, Any]:
    """Looks until nothing is under way any more."""
    while True:
        found: dict[str, Any] = cloud1.client("lambda").get_function(FunctionName=name)
        state = found["Configuration"]
        if (state["State"], state["LastUpdateStatus"]) == ("Active", "Successful"):
            return found


def live(cloud1: StrictCloud1, name: str = "hello", **changed: Any) -> str:
    """A function that is ready behind its alias; the ARN of that."""
    create(cloud1, name, **changed)
    settle(cloud1, name)
    client = cloud1.client("lambda")
    made = client.create_alias(FunctionName=name, Name=ALIAS, FunctionVersion="1")
    return str(made["AliasArn"])


def update(cloud1: StrictCloud1, word: str, name: str = "hello") -> str:
    """The number of the version that says another word."""
    client = cloud1.client("lambda")
    made = client.update_function_code(FunctionName=name, ZipFile=saying(word), Publish=True)
    settle(cloud1, name)
    return str(made["Version"])


def call(cloud1: StrictCloud1, name: str = "hello", qualifier: str = "", event: Any = None) -> Any:
    """What it answers."""
    asked = {"FunctionName": name, "Payload": json.dumps(event).encode()}
    if qualifier:
        asked["Qualifier"] = qualifier
    return json.loads(cloud1.client("lambda").invoke(**asked)["Payload"].read())


def expose(cloud1: StrictCloud1, alias_arn: str, *keys: str) -> dict[str, Any]:
    """An API whose routes lead to one alias; it may call, and is served at its endpoint."""
    gateway = cloud1.client("apigatewayv2")
    api: dict[str, Any] = gateway.create_api(Name="shop", ProtocolType="HTTP")
    ident = api["ApiId"]
    gateway.create_stage(ApiId=ident, StageName="$default", AutoDeploy=True)
    target = integrate(cloud1, ident, alias_arn)
    for key in keys or ("GET /hello/{name}",):
        gateway.create_route(ApiId=ident, RouteKey=key, Target=target)
    permit(cloud1, alias_arn, ident)
    return api


def integrate(cloud1: StrictCloud1, ident: str, alias_arn: str) -> str:
    made = cloud1.client("apigatewayv2").create_integration(
        ApiId=ident,
        IntegrationType="AWS_PROXY",
        IntegrationUri=alias_arn,
        PayloadFormatVersion="2.0",
    )
    return f"integrations/{made['IntegrationId']}"


def permit(cloud1: StrictCloud1, alias_arn: str, ident: str, routes: str = "*/*") -> None:
    name, qualifier = alias_arn.split(":")[6:]
    cloud1.client("lambda").add_permission(
        FunctionName=name,
        Qualifier=qualifier,
        StatementId=f"api-{ident}",
        Action="lambda:InvokeFunction",
        Principal="apigateway.amazonaws.com",
        SourceArn=f"arn:aws:execute-api:{cloud1.region}:{cloud1.account}:{ident}/{routes}",
    )
