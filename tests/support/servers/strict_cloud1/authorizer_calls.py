"""The calls of authorizers and of a stage's settings: what an account refuses of them."""

import re

from tests.support.servers.strict_cloud1.accounts import Region
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.gateway_calls import (
    conflict,
    gateway_of,
    ident,
    page,
    part_of,
    without_own,
)
from tests.support.servers.strict_cloud1.operations import heeding
from tests.support.servers.strict_cloud1.refusals import bad

_SOURCE = re.compile(r"\$(request\.(header|querystring)\.[\w-]+|context\.\w+|stageVariables\.\w+)")
_URI = re.compile(
    r"arn:aws:apigateway:[a-z0-9-]+:lambda:path/2015-03-31/functions/arn:aws:lambda:[\w:$-]+/invocations"
)
_LONGEST_TTL = 3600


def _check(row: Fields) -> None:
    sources = row.get("IdentitySource") or []
    if not all(_SOURCE.fullmatch(one) for one in sources):
        raise bad(f"Invalid identity source: {sources}")
    if row["AuthorizerType"] == "JWT":
        _check_jwt(row, sources)
        return
    if not _URI.fullmatch(row.get("AuthorizerUri", "")):
        raise bad(
            "Authorizer Uri should be a valid API Gateway ARN that represents a Lambda function"
        )
    if row.get("AuthorizerPayloadFormatVersion") != "2.0":
        raise bad("AuthorizerPayloadFormatVersion is a required parameter for authorizer")
    ttl = row.get("AuthorizerResultTtlInSeconds", 0)
    if not 0 <= ttl <= _LONGEST_TTL:
        raise bad("AuthorizerResultTtlInSeconds must be between 0 and 3600")
    if ttl and not sources:
        raise bad("Identity source is required when caching is enabled")


def _check_jwt(row: Fields, sources: list[str]) -> None:
    tokens = row.get("JwtConfiguration") or {}
    if not tokens.get("Issuer", "").startswith("https://"):
        raise bad("Invalid issuer: it has to be an https address")
    if not tokens.get("Audience"):
        raise bad("Audience is required for a JWT authorizer")
    if len(sources) != 1:
        raise bad("A JWT authorizer has one identity source")


def _create(region: Region, asked: Fields) -> Fields:
    authorizers = gateway_of(region, asked).authorizers
    if any(one["Name"] == asked["Name"] for one in authorizers.values()):
        raise conflict(f"Authorizer with name {asked['Name']} already exists for this API")
    row = without_own(asked) | {"AuthorizerId": ident()}
    _check(row)
    authorizers[row["AuthorizerId"]] = row
    return row


def _update(region: Region, asked: Fields) -> Fields:
    row = part_of(region, asked, "authorizer")
    changed = {**row, **without_own(asked)}
    if changed["AuthorizerType"] != row["AuthorizerType"]:
        raise bad("The type of an authorizer cannot be changed")
    _check(changed)
    row.update(changed)
    return row


def _delete(region: Region, asked: Fields) -> Fields:
    gateway, row = gateway_of(region, asked), part_of(region, asked, "authorizer")
    number = row["AuthorizerId"]
    if any(one.get("AuthorizerId") == number for one in gateway.routes.values()):
        raise conflict(f"Cannot delete Authorizer '{number}'. It is referenced by a Route")
    del gateway.authorizers[number]
    return {}


def _create_stage(region: Region, asked: Fields) -> Fields:
    stages = gateway_of(region, asked).stages
    name = asked["StageName"]
    if name in stages:
        raise conflict("Stage already exists")
    if name != "$default" and not re.fullmatch(r"[A-Za-z0-9_-]{1,128}", name):
        raise bad("Stage name only allows a-zA-Z0-9_-, or $default")
    _check_stage(region, asked)
    stages[name] = {"StageName": name, **without_own(asked)}
    return stages[name]


def _update_stage(region: Region, asked: Fields) -> Fields:
    row = part_of(region, asked, "stage")
    _check_stage(region, asked)
    given = without_own(asked)
    routes = {**row.get("RouteSettings", {}), **given.pop("RouteSettings", {})}
    row.update(given)
    if routes:
        row["RouteSettings"] = routes
    return row


def _check_stage(region: Region, asked: Fields) -> None:
    """Limits are of routes that are there; logs go to a group, not to its streams."""
    keys = {one["RouteKey"] for one in gateway_of(region, asked).routes.values()}
    for key in asked.get("RouteSettings") or {}:
        if key not in keys:
            raise bad(f"Unable to find Route by key {key} within the provided RouteSettings")
    logs = asked.get("AccessLogSettings")
    if logs and not re.fullmatch(
        rf"arn:aws:logs:{region.name}:{region.account.number}:log-group:[\w/.#-]+",
        logs.get("DestinationArn", ""),
    ):
        raise bad("Invalid ARN specified in the request. ARNs must start with 'arn:'")
    if logs and "$context" not in logs.get("Format", ""):
        raise bad("Access log format must contain $context variables")


def _delete_limit(region: Region, asked: Fields) -> Fields:
    found = part_of(region, asked, "stage").get("RouteSettings", {})
    if asked["RouteKey"] not in found:
        raise bad(f"Unable to find Route by key {asked['RouteKey']}")
    del found[asked["RouteKey"]]
    return {}


def _delete_logs(region: Region, asked: Fields) -> Fields:
    part_of(region, asked, "stage").pop("AccessLogSettings", None)
    return {}


_FIELDS = (
    "ApiId Name AuthorizerType AuthorizerUri AuthorizerPayloadFormatVersion IdentitySource"
    " EnableSimpleResponses AuthorizerResultTtlInSeconds JwtConfiguration"
)

_STAGE = "ApiId StageName DefaultRouteSettings RouteSettings AccessLogSettings"

AUTHORIZER_CALLS = {
    "CreateAuthorizer": heeding(_FIELDS, _create),
    "UpdateAuthorizer": heeding(f"AuthorizerId {_FIELDS}", _update),
    "DeleteAuthorizer": heeding("ApiId AuthorizerId", _delete),
    "GetAuthorizers": heeding(
        "ApiId MaxResults NextToken",
        lambda where, it: page(list(gateway_of(where, it).authorizers.values()), it),
    ),
    "CreateStage": heeding(f"AutoDeploy Description Tags {_STAGE}", _create_stage),
    "UpdateStage": heeding(_STAGE, _update_stage),
    "DeleteRouteSettings": heeding("ApiId StageName RouteKey", _delete_limit),
    "DeleteAccessLogSettings": heeding("ApiId StageName", _delete_logs),
}
