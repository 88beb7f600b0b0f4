"""The calls of API keys and usage plans. AWS makes the values of keys."""

import copy
import secrets

from tests.support.servers.strict_cloud1.accounts import Region
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.gateway_calls import conflict, ident, missing
from tests.support.servers.strict_cloud1.operations import heeding
from tests.support.servers.strict_cloud1.refusals import bad
from tests.support.servers.strict_cloud1.rest_calls import page_of

_LIMITS = {"rateLimit": float, "burstLimit": int, "limit": int, "period": str, "offset": int}


def _create_key(region: Region, asked: Fields) -> Fields:
    row = {"tags": {}, **asked, "id": ident(), "value": secrets.token_urlsafe(30)}
    region.rest_plans.keys[row["id"]] = row
    return row


def _key(region: Region, asked: Fields, name: str = "apiKey") -> Fields:
    keys = region.rest_plans.keys
    if asked[name] not in keys:
        raise missing("Invalid API Key identifier specified")
    return keys[asked[name]]


def _shown(row: Fields, *, with_value: bool) -> Fields:
    return {name: one for name, one in row.items() if with_value or name != "value"}


def _list_keys(region: Region, asked: Fields) -> Fields:
    rows = [
        _shown(one, with_value=bool(asked.get("includeValues")))
        for one in region.rest_plans.keys.values()
        if one["name"].startswith(asked.get("nameQuery", ""))
    ]
    return page_of(rows, asked)


def _delete_key(region: Region, asked: Fields) -> Fields:
    number, plans = _key(region, asked)["id"], region.rest_plans
    del plans.keys[number]
    plans.attached = {one for one in plans.attached if one[1] != number}
    return {}


def _create_plan(region: Region, asked: Fields) -> Fields:
    row = {"tags": {}, "apiStages": [], **asked, "id": ident()}
    region.rest_plans.plans[row["id"]] = row
    return row


def _plan(region: Region, asked: Fields) -> Fields:
    plans = region.rest_plans.plans
    if asked["usagePlanId"] not in plans:
        raise missing("Invalid Usage Plan identifier specified")
    return plans[asked["usagePlanId"]]


def _update_plan(region: Region, asked: Fields) -> Fields:
    """All changes, or none."""
    row = _plan(region, asked)
    changed = copy.deepcopy(row)
    for patch in asked.get("patchOperations") or ():
        _patch_plan(region, changed, patch)
    for name, needed in (("throttle", set[str]()), ("quota", {"limit", "period"})):
        if changed.get(name) and not needed <= changed[name].keys():
            raise bad(f"Usage Plan {name} must have {sorted(needed)}")
    row.clear()
    row.update(changed)
    return row


def _patch_plan(region: Region, row: Fields, patch: Fields) -> None:
    value = patch.get("value", "")
    match [patch["op"], *patch["path"].split("/")[1:]]:
        case ["add" | "remove" as op, "apiStages"]:
            api, _, stage = value.partition(":")
            others = [one for one in row["apiStages"] if one != {"apiId": api, "stage": stage}]
            if op == "add":
                _check_stage(region, api, stage)
                others.append({"apiId": api, "stage": stage})
            elif len(others) == len(row["apiStages"]):
                raise missing("API Stage not found")
            row["apiStages"] = others
        case ["remove", "throttle" | "quota" as name]:
            row.pop(name)
        case ["add" | "replace", "throttle" | "quota" as name, key] if key in _LIMITS:
            row[name] = {**row.get(name, {}), key: _LIMITS[key](value)}
        case _:
            raise bad(f"Invalid patch path {patch['path']}")


def _check_stage(region: Region, api: str, stage: str) -> None:
    if api not in region.rest_apis or stage not in region.rest_apis[api].stages:
        raise missing("API Stage not found")


def _delete_plan(region: Region, asked: Fields) -> Fields:
    row, plans = _plan(region, asked), region.rest_plans
    if row["apiStages"]:
        raise bad("Usage plan cannot be deleted because it is associated with API stages")
    del plans.plans[row["id"]]
    plans.attached = {one for one in plans.attached if one[0] != row["id"]}
    return {}


def _attach(region: Region, asked: Fields) -> Fields:
    plan, key = _plan(region, asked), _key(region, asked, "keyId")
    if (plan["id"], key["id"]) in region.rest_plans.attached:
        raise conflict("Usage Plan already has this API key")
    region.rest_plans.attached.add((plan["id"], key["id"]))
    return {"id": key["id"], "type": asked["keyType"], "name": key["name"]}


def _list_attached(region: Region, asked: Fields) -> Fields:
    plan = _plan(region, asked)["id"]
    plans = region.rest_plans
    rows = [_shown(plans.keys[key], with_value=False) for one, key in plans.attached if one == plan]
    return page_of(sorted(rows, key=lambda row: str(row["id"])), asked)


_PAGED = "limit position"

REST_USAGE_CALLS = {
    "CreateApiKey": heeding("name enabled tags", _create_key),
    "GetApiKey": heeding(
        "apiKey includeValue",
        lambda where, it: _shown(_key(where, it), with_value=bool(it.get("includeValue"))),
    ),
    "GetApiKeys": heeding(f"nameQuery includeValues {_PAGED}", _list_keys),
    "DeleteApiKey": heeding("apiKey", _delete_key),
    "CreateUsagePlan": heeding("name tags throttle quota", _create_plan),
    "GetUsagePlans": heeding(
        _PAGED, lambda where, it: page_of(list(where.rest_plans.plans.values()), it)
    ),
    "UpdateUsagePlan": heeding("usagePlanId patchOperations", _update_plan),
    "DeleteUsagePlan": heeding("usagePlanId", _delete_plan),
    "CreateUsagePlanKey": heeding("usagePlanId keyId keyType", _attach),
    "GetUsagePlanKeys": heeding(f"usagePlanId {_PAGED}", _list_attached),
}
