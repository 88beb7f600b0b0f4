"""The calls of REST APIs. To make an API, a key or a plan is not idempotent."""

import copy
import re
from datetime import UTC, datetime
from typing import Any

from tests.support.servers.strict_cloud1.accounts import Region
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.gateway_calls import conflict, ident, missing
from tests.support.servers.strict_cloud1.operations import heeding
from tests.support.servers.strict_cloud1.refusals import RefusalError, bad, not_written
from tests.support.servers.strict_cloud1.rest_apis import Deployment, RestApi
from tests.support.servers.strict_cloud1.rest_documents import Document

_PAGE = 25
_SETTINGS = {
    "metrics/enabled": ("metricsEnabled", bool),
    "throttling/rateLimit": ("throttlingRateLimit", float),
    "throttling/burstLimit": ("throttlingBurstLimit", int),
}
_METHOD_PATH = re.compile(r"/(?P<path>\*|~1[^/]*)/(?P<method>\*|[A-Z]+)(?:/(?P<setting>.+))?")


def now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - shown only


def page_of(rows: list[Fields], asked: Fields) -> Fields:
    start, size = int(asked.get("position") or 0), int(asked.get("limit") or _PAGE)
    end = start + size
    return {"items": rows[start:end], "position": str(end) if end < len(rows) else None}


def api_of(region: Region, asked: Fields) -> RestApi:
    api = asked["restApiId"]
    if api not in region.rest_apis:
        number = region.account.number
        raise missing(f"Invalid API identifier specified {number}:{api}")
    return region.rest_apis[api]


def _create(region: Region, asked: Fields) -> Fields:
    endpoint = asked.get("endpointConfiguration") or {"types": ["EDGE"]}
    if endpoint.get("vpcEndpointIds") and endpoint["types"] != ["PRIVATE"]:
        raise bad("VPC endpoints are only supported for private APIs")
    own: Fields = {"id": ident(), "createdDate": now(), "disableExecuteApiEndpoint": False}
    shown = {"tags": {}, **asked, "endpointConfiguration": endpoint, **own}
    region.rest_apis[own["id"]] = RestApi(shown)
    return shown


def _put(region: Region, asked: Fields) -> Fields:
    if asked.get("mode") != "overwrite":
        raise not_written("PutRestApi that merges")
    api = api_of(region, asked)
    endpoint = api.shown["endpointConfiguration"]["types"][0]
    document = Document.parse(asked["body"], endpoint)
    api.document = document
    api.shown["name"] = document.said["info"]["title"]
    # Settings that a document does not name stay.
    if document.binary_types:
        api.shown["binaryMediaTypes"] = document.binary_types
    size = document.said.get("x-amazon-apigateway-minimum-compression-size")
    if size is not None:
        api.shown["minimumCompressionSize"] = size
    api.shown["apiKeySource"] = document.said.get(
        "x-amazon-apigateway-api-key-source", api.shown.get("apiKeySource", "HEADER")
    )
    if document.part("policy"):
        api.shown["policy"] = str(document.part("policy"))
    said = document.endpoint
    if "disableExecuteApiEndpoint" in said:
        api.shown["disableExecuteApiEndpoint"] = said["disableExecuteApiEndpoint"]
    if said.keys() - {"disableExecuteApiEndpoint"}:
        raise not_written(f"{sorted(said)} of an endpoint")
    return api.shown


def _update(region: Region, asked: Fields) -> Fields:
    shown = api_of(region, asked).shown
    for patch in asked.get("patchOperations") or ():
        _patch_api(shown, patch)
    return shown


def _patch_api(shown: Fields, patch: Fields) -> None:
    op, path, value = patch["op"], patch["path"], patch.get("value")
    match [op, *path.split("/")[1:]]:
        case ["replace", "disableExecuteApiEndpoint"]:
            shown["disableExecuteApiEndpoint"] = value == "true"
        case ["replace", "minimumCompressionSize"]:
            shown["minimumCompressionSize"] = int(value) if value else None
        case ["replace", "apiKeySource"]:
            if value not in {"HEADER", "AUTHORIZER"}:
                raise bad(f"Invalid API key source {value}")
            shown["apiKeySource"] = value
        case ["replace", "policy"]:
            shown["policy"] = value or None
        case ["add" | "remove", "binaryMediaTypes", media]:
            one = media.replace("~1", "/").replace("~0", "~")
            there = set(shown.get("binaryMediaTypes") or ())
            if op == "remove" and one not in there:
                raise missing(f"Invalid binary media type {one}")
            shown["binaryMediaTypes"] = sorted(there | {one} if op == "add" else there - {one})
        case _:
            _patch_endpoint(shown, patch)


def _patch_endpoint(shown: Fields, patch: Fields) -> None:
    op, path, value = patch["op"], patch["path"], patch.get("value")
    endpoint = shown["endpointConfiguration"]
    match [op, *path.split("/")[1:]]:
        case ["replace", "endpointConfiguration", "types", former]:
            if endpoint["types"] != [former] or {former, value} == {"EDGE", "PRIVATE"}:
                raise bad(f"Cannot update the endpoint type {endpoint['types']} to {value}")
            shown["endpointConfiguration"] = {**endpoint, "types": [value]}
        case ["add" | "remove", "endpointConfiguration", "vpcEndpointIds"]:
            if op == "add" and endpoint["types"] != ["PRIVATE"]:
                raise bad("VPC endpoints are only supported for private APIs")
            there = set(endpoint.get("vpcEndpointIds") or ())
            changed = there | {value} if op == "add" else there - {value}
            endpoint["vpcEndpointIds"] = sorted(changed)
        case _:
            raise bad(f"Invalid patch path {path}")


def _delete(region: Region, asked: Fields) -> Fields:
    api_of(region, asked)
    for name, domain in region.domains.items():
        if any(row["ApiId"] == asked["restApiId"] for row in domain.mappings.values()):
            raise bad(f"Please remove all base path mappings related to the API in {name} first")
    del region.rest_apis[asked["restApiId"]]
    return {}


def _create_deployment(region: Region, asked: Fields) -> Fields:
    api = api_of(region, asked)
    methods = list(api.document.methods()) if api.document else []
    if api.document is None or not methods:
        raise bad("The REST API doesn't contain any methods")
    if any("x-amazon-apigateway-integration" not in one.operation for one in methods):
        raise bad("No integration defined for method")
    if api.shown["endpointConfiguration"]["types"] == ["PRIVATE"] and not api.shown.get("policy"):
        raise bad("Private REST API doesn't have a resource policy attached to it")
    shown: Fields = {"id": ident(), "description": asked.get("description"), "createdDate": now()}
    said = copy.deepcopy(api.document.said)
    said["disabled"] = api.shown["disableExecuteApiEndpoint"]
    said["x-amazon-apigateway-binary-media-types"] = api.shown.get("binaryMediaTypes")
    api.deployments[shown["id"]] = Deployment(shown, Document(said))
    return shown


def _delete_deployment(region: Region, asked: Fields) -> Fields:
    api, number = api_of(region, asked), asked["deploymentId"]
    if number not in api.deployments:
        raise missing("Invalid Deployment identifier specified")
    if any(one["deploymentId"] == number for one in api.stages.values()):
        raise bad("Active stages pointing to this deployment must be moved or deleted")
    del api.deployments[number]
    return {}


def _stage(region: Region, asked: Fields) -> Fields:
    stages = api_of(region, asked).stages
    if asked["stageName"] not in stages:
        raise missing("Invalid stage identifier specified")
    return stages[asked["stageName"]]


def _create_stage(region: Region, asked: Fields) -> Fields:
    api, name = api_of(region, asked), asked["stageName"]
    if name in api.stages:
        raise conflict("Stage already exists")
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,128}", name):
        raise bad("Stage name only allows the following characters: a-zA-Z0-9_-")
    _check_deployment(api, asked["deploymentId"])
    api.stages[name] = {
        "stageName": name,
        "deploymentId": asked["deploymentId"],
        "tracingEnabled": bool(asked.get("tracingEnabled")),
        "methodSettings": {},
    }
    return api.stages[name]


def _check_deployment(api: RestApi, number: str) -> None:
    if number not in api.deployments:
        raise bad("Deployment id does not exist")


def _update_stage(region: Region, asked: Fields) -> Fields:
    """All changes, or none."""
    api, there = api_of(region, asked), _stage(region, asked)
    changed = copy.deepcopy(there)
    patches = asked.get("patchOperations") or ()
    for patch in sorted(patches, key=lambda one: one["path"] != "/deploymentId"):
        _patch_stage(region, api, changed, patch)
    there.clear()
    there.update(changed)
    return there


def _patch_stage(region: Region, api: RestApi, stage: Fields, patch: Fields) -> None:
    op, path, value = patch["op"], patch["path"], str(patch.get("value", ""))
    match [op, path]:
        case ["replace", "/deploymentId"]:
            _check_deployment(api, value)
            stage["deploymentId"] = value
        case ["replace", "/tracingEnabled"]:
            stage["tracingEnabled"] = value == "true"
        case ["remove", "/accessLogSettings"]:
            stage.pop("accessLogSettings", None)
        case ["replace", "/accessLogSettings/destinationArn" | "/accessLogSettings/format"]:
            if not region.rest_plans.log_role:
                raise bad("CloudWatch Logs role ARN must be set in account settings")
            if path.endswith("format") and "$context.requestId" not in value:
                raise bad("Access log format must contain $context.requestId")
            name = path.rpartition("/")[2]
            stage["accessLogSettings"] = {**stage.get("accessLogSettings", {}), name: value}
        case _:
            _patch_method(api, stage, patch)


def _patch_method(api: RestApi, stage: Fields, patch: Fields) -> None:
    found = _METHOD_PATH.fullmatch(patch["path"])
    if not found:
        raise bad(f"Invalid method setting path: {patch['path']}")
    path, method = found["path"].replace("~1", "/"), found["method"]
    document = api.deployments[stage["deploymentId"]].document
    if path != "*" and not any(
        (one.path, one.verb) == (path, method) for one in document.methods()
    ):
        raise bad(f"Invalid method setting path: {patch['path']} is not a method")
    key = f"{path.removeprefix('/').replace('/', '~1')}/{method}"
    settings: dict[str, Any] = stage["methodSettings"]
    if patch["op"] == "remove" and not found["setting"]:
        if key not in settings:
            raise missing("Invalid method setting")
        del settings[key]
    elif patch["op"] == "replace" and found["setting"] in _SETTINGS:
        name, kind = _SETTINGS[found["setting"]]
        made = patch["value"] == "true" if kind is bool else kind(patch["value"])
        settings[key] = {**settings.get(key, _DEFAULTS), name: made}
    else:
        raise bad(f"Invalid patch operation on {patch['path']}")


_DEFAULTS = {
    "metricsEnabled": False,
    "throttlingRateLimit": 10_000.0,
    "throttlingBurstLimit": 5000,
}


def _delete_stage(region: Region, asked: Fields) -> Fields:
    _stage(region, asked)
    del api_of(region, asked).stages[asked["stageName"]]
    return {}


def _update_account(region: Region, asked: Fields) -> Fields:
    for patch in asked.get("patchOperations") or ():
        if patch["path"] != "/cloudwatchRoleArn":
            raise RefusalError(400, "BadRequestException", f"Invalid patch path {patch['path']}")
        region.rest_plans.log_role = patch.get("value") or ""
    return {"cloudwatchRoleArn": region.rest_plans.log_role}


_PAGED = "limit position"

REST_CALLS = {
    "CreateRestApi": heeding("name endpointConfiguration tags", _create),
    "PutRestApi": heeding("restApiId mode body", _put),
    "GetRestApi": heeding("restApiId", lambda where, it: api_of(where, it).shown),
    "GetRestApis": heeding(
        _PAGED, lambda where, it: page_of([one.shown for one in where.rest_apis.values()], it)
    ),
    "UpdateRestApi": heeding("restApiId patchOperations", _update),
    "DeleteRestApi": heeding("restApiId", _delete),
    "CreateDeployment": heeding("restApiId description", _create_deployment),
    "GetDeployments": heeding(
        f"restApiId {_PAGED}",
        lambda where, it: page_of(
            [one.shown for one in api_of(where, it).deployments.values()], it
        ),
    ),
    "DeleteDeployment": heeding("restApiId deploymentId", _delete_deployment),
    "CreateStage": heeding("restApiId stageName deploymentId tracingEnabled", _create_stage),
    "GetStage": heeding("restApiId stageName", _stage),
    "UpdateStage": heeding("restApiId stageName patchOperations", _update_stage),
    "DeleteStage": heeding("restApiId stageName", _delete_stage),
    "GetAccount": heeding(
        "", lambda where, _: {"cloudwatchRoleArn": where.rest_plans.log_role or None}
    ),
    "UpdateAccount": heeding("patchOperations", _update_account),
}
