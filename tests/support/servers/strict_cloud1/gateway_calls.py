"""The calls of HTTP APIs. To make one is not idempotent: asked twice, there are two."""

import re
import secrets
from datetime import UTC, datetime

from tests.support.servers.strict_cloud1.accounts import Region
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.gateways import Gateway
from tests.support.servers.strict_cloud1.operations import heeding
from tests.support.servers.strict_cloud1.refusals import RefusalError, bad, not_written

MOST_OF_A_KIND = 300
_PAGE = 25
_ROUTE_KEY = re.compile(r"\$default|(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|ANY) /\S*")
_FUNCTION = re.compile(
    r"(arn:aws:apigateway:[a-z0-9-]+:lambda:path/2015-03-31/functions/)?"
    r"(?P<arn>arn:aws:lambda:[a-z0-9-]+:\d{12}:function:[\w:$-]+?)(/invocations)?"
)
_OWN = frozenset({"ApiId", "IntegrationId", "RouteId", "StageName"})
_KINDS = {"JWT": "JWT", "CUSTOM": "REQUEST"}


def function_of(integration: Fields) -> str:
    """The ARN that an integration names, with its alias."""
    found = _FUNCTION.fullmatch(integration.get("IntegrationUri", ""))
    return found["arn"] if found else ""


def missing(message: str) -> RefusalError:
    return RefusalError(404, "NotFoundException", message)


def conflict(message: str) -> RefusalError:
    return RefusalError(409, "ConflictException", message)


def ident() -> str:
    return secrets.token_hex(5)


def gateway_of(region: Region, asked: Fields) -> Gateway:
    api = asked["ApiId"]
    if api not in region.gateways:
        number = region.account.number
        raise missing(f"Invalid API identifier specified {number}:{api}")
    return region.gateways[api]


def part_of(region: Region, asked: Fields, kind: str) -> Fields:
    key = asked["StageName" if kind == "stage" else f"{kind.title()}Id"]
    found = gateway_of(region, asked).part(kind)
    if key not in found:
        raise missing(f"Invalid {kind.title()} identifier specified {key}")
    return found[key]


def page(rows: list[Fields], asked: Fields) -> Fields:
    start, size = int(asked.get("NextToken") or 0), int(asked.get("MaxResults") or _PAGE)
    end = start + size
    return {"Items": rows[start:end], "NextToken": str(end) if end < len(rows) else None}


def _must_have_room(rows: dict[str, Fields], kind: str) -> None:
    if len(rows) >= MOST_OF_A_KIND:
        raise bad(f"Maximum number of {kind}s for an API exceeded")


def _create(region: Region, asked: Fields) -> Fields:
    if asked["ProtocolType"] != "HTTP":
        raise not_written("only HTTP APIs are kept here")
    _check_cors(asked.get("CorsConfiguration", {}))
    api = ident()
    own = {
        "ApiId": api,
        "ApiEndpoint": f"{region.server}/_api/{api}",
        "RouteSelectionExpression": "$request.method $request.path",
        "ApiKeySelectionExpression": "$request.header.x-api-key",
        "CreatedDate": datetime.now(UTC),  # noqa: TID251 - shown only
    }
    region.gateways[api] = Gateway({"Tags": {}, **asked, **own})
    return region.gateways[api].shown


def _check_cors(cors: Fields) -> None:
    if cors.get("AllowCredentials") and "*" in cors.get("AllowOrigins", []):
        raise bad("Allow-credentials is not supported with a * origin")


def _get(region: Region, asked: Fields) -> Fields:
    return gateway_of(region, asked).shown


def _list(region: Region, asked: Fields) -> Fields:
    return page([one.shown for one in region.gateways.values()], asked)


def _update(region: Region, asked: Fields) -> Fields:
    shown = gateway_of(region, asked).shown
    _check_cors(asked.get("CorsConfiguration", {}))
    shown |= without_own(asked)
    return shown


def without_own(asked: Fields) -> Fields:
    return {name: value for name, value in asked.items() if name not in _OWN}


def _delete(region: Region, asked: Fields) -> Fields:
    gateway_of(region, asked)
    del region.gateways[asked["ApiId"]]
    return {}


def _delete_cors(region: Region, asked: Fields) -> Fields:
    gateway_of(region, asked).shown.pop("CorsConfiguration", None)
    return {}


def _create_integration(region: Region, asked: Fields) -> Fields:
    integrations = gateway_of(region, asked).integrations
    _must_have_room(integrations, "Integration")
    row = without_own(asked) | {"IntegrationId": ident()}
    _check_integration(row)
    row = {"ConnectionType": "INTERNET", "TimeoutInMillis": 30_000, **row}
    integrations[row["IntegrationId"]] = row
    return row


def _check_integration(row: Fields) -> None:
    match row["IntegrationType"]:
        case "AWS_PROXY":
            if row.get("PayloadFormatVersion") not in {"1.0", "2.0"}:
                raise bad("PayloadFormatVersion is a required parameter for integration")
            if not 50 <= row.get("TimeoutInMillis", 30_000) <= 30_000:
                raise bad("Timeout should be between 50 ms and 30000 ms")
            if not function_of(row):
                raise bad("Invalid Integration URI specified: not the ARN of a function")
        case "HTTP_PROXY":
            if not re.match(r"https?://[^/]+", row.get("IntegrationUri", "")):
                raise bad("Invalid HTTP endpoint specified for URI")
            if "IntegrationMethod" not in row:
                raise bad("HttpMethod is required")
            _check_mapping(row.get("RequestParameters", {}))
        case kind:
            raise not_written(f"integrations of the type {kind}")


def _check_mapping(parameters: dict[str, str]) -> None:
    others = {key: one for key, one in parameters.items() if key != "overwrite:path"}
    if others:
        raise not_written(f"request parameters other than overwrite:path: {sorted(others)}")


def _update_integration(region: Region, asked: Fields) -> Fields:
    row = part_of(region, asked, "integration")
    changed = {**row, **without_own(asked)}
    _check_integration(changed)
    row.update(changed)
    return row


def _delete_integration(region: Region, asked: Fields) -> Fields:
    gateway = gateway_of(region, asked)
    number = part_of(region, asked, "integration")["IntegrationId"]
    if any(one.get("Target") == f"integrations/{number}" for one in gateway.routes.values()):
        raise conflict(f"Cannot delete Integration '{number}'. It is referenced by a Route")
    del gateway.integrations[number]
    return {}


def _check_route(gateway: Gateway, row: Fields) -> None:
    key = row["RouteKey"]
    if not _ROUTE_KEY.fullmatch(key):
        raise bad(
            "The provided route key is not formatted properly for HTTP protocol. Format should be"
            ' "<HTTP METHOD> /<RESOURCE PATH>" or "$default"'
        )
    for other in gateway.routes.values():
        if other["RouteKey"] == key and other["RouteId"] != row["RouteId"]:
            raise conflict(f"Route with key {key} already exists for this API")
    _check_authorizer(gateway, row)
    target = row.get("Target")
    if target and target.removeprefix("integrations/") not in gateway.integrations:
        raise bad(f"Unable to find Integration with ID {target.removeprefix('integrations/')}")


def _check_authorizer(gateway: Gateway, row: Fields) -> None:
    """The type of a route is that of its authorizer; an empty id is none."""
    kind, number = row["AuthorizationType"], row.get("AuthorizerId")
    if kind not in _KINDS:
        if number or row.get("AuthorizationScopes"):
            raise bad(f"A route of the authorization type {kind} has no authorizer and no scopes")
        return
    if number not in gateway.authorizers:
        raise bad(f"Invalid authorizer identifier specified {number}")
    if gateway.authorizers[number]["AuthorizerType"] != _KINDS[kind]:
        raise bad(f"The authorizer is not of the type {kind}")
    if row.get("AuthorizationScopes") and kind != "JWT":
        raise bad("Only JWT authorizers check scopes")


def _create_route(region: Region, asked: Fields) -> Fields:
    gateway = gateway_of(region, asked)
    _must_have_room(gateway.routes, "Route")
    row = {"AuthorizationType": "NONE", **without_own(asked), "RouteId": ident()}
    _check_route(gateway, row)
    gateway.routes[row["RouteId"]] = row
    return row


def _update_route(region: Region, asked: Fields) -> Fields:
    row = part_of(region, asked, "route")
    changed = {**row, **without_own(asked)}
    _check_route(gateway_of(region, asked), changed)
    row.update(changed)
    return row


def _delete_route(region: Region, asked: Fields) -> Fields:
    del gateway_of(region, asked).routes[part_of(region, asked, "route")["RouteId"]]
    return {}


def _delete_stage(region: Region, asked: Fields) -> Fields:
    del gateway_of(region, asked).stages[part_of(region, asked, "stage")["StageName"]]
    return {}


def _tagged(region: Region, asked: Fields) -> Fields:
    """The resource is `arn:aws:apigateway:REGION::/apis/ID`."""
    tags: Fields = gateway_of(region, {"ApiId": asked["ResourceArn"].rpartition("/")[2]}).shown[
        "Tags"
    ]
    return tags


def _tag(region: Region, asked: Fields) -> Fields:
    tags = _tagged(region, asked)
    tags |= asked.get("Tags", {})
    return {}


def _untag(region: Region, asked: Fields) -> Fields:
    tags = _tagged(region, asked)
    for name in asked["TagKeys"]:
        tags.pop(name, None)
    return {}


_API = "Name Description CorsConfiguration Version DisableExecuteApiEndpoint"
_ROUTE = "ApiId RouteKey Target AuthorizationType AuthorizerId AuthorizationScopes"
_INTEGRATION = (
    "Description IntegrationUri IntegrationMethod PayloadFormatVersion RequestParameters"
    " TimeoutInMillis ConnectionType IntegrationType"
)

GATEWAY_CALLS = {
    "CreateApi": heeding(f"ProtocolType Tags {_API}", _create),
    "GetApi": heeding("ApiId", _get),
    "GetApis": heeding("MaxResults NextToken", _list),
    "UpdateApi": heeding(f"ApiId {_API}", _update),
    "DeleteApi": heeding("ApiId", _delete),
    "DeleteCorsConfiguration": heeding("ApiId", _delete_cors),
    "GetStage": heeding("ApiId StageName", lambda where, it: part_of(where, it, "stage")),
    "GetStages": heeding(
        "ApiId MaxResults NextToken",
        lambda where, it: page(list(gateway_of(where, it).stages.values()), it),
    ),
    "DeleteStage": heeding("ApiId StageName", _delete_stage),
    "CreateIntegration": heeding(f"ApiId {_INTEGRATION}", _create_integration),
    "GetIntegration": heeding(
        "ApiId IntegrationId", lambda where, it: part_of(where, it, "integration")
    ),
    "GetIntegrations": heeding(
        "ApiId MaxResults NextToken",
        lambda where, it: page(list(gateway_of(where, it).integrations.values()), it),
    ),
    "UpdateIntegration": heeding(f"ApiId IntegrationId {_INTEGRATION}", _update_integration),
    "DeleteIntegration": heeding("ApiId IntegrationId", _delete_integration),
    "CreateRoute": heeding(_ROUTE, _create_route),
    "GetRoute": heeding("ApiId RouteId", lambda where, it: part_of(where, it, "route")),
    "GetRoutes": heeding(
        "ApiId MaxResults NextToken",
        lambda where, it: page(list(gateway_of(where, it).routes.values()), it),
    ),
    "UpdateRoute": heeding(f"RouteId {_ROUTE}", _update_route),
    "DeleteRoute": heeding("ApiId RouteId", _delete_route),
    "TagResource": heeding("ResourceArn Tags", _tag),
    "UntagResource": heeding("ResourceArn TagKeys", _untag),
    "GetTags": heeding("ResourceArn", lambda where, it: {"Tags": _tagged(where, it)}),
}
