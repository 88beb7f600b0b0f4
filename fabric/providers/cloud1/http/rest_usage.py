"""The API keys and the usage plan of a REST API. AWS creates the values of keys; fabric does not
read them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fabric.model.hashing import hash_fields
from fabric.providers.cloud1.core.client import CONFLICT, GONE, ONCE, ignore_codes
from fabric.providers.cloud1.core.http_settings import UsagePlan
from fabric.providers.cloud1.core.versions import Cloud1Work, build_ownership_tags
from fabric.providers.cloud1.functions.aliases import StoredReleaseState
from fabric.providers.cloud1.http.gateway_calls import (
    REST_GATEWAY,
    create_once,
    list_pages,
    require_created,
)
from fabric.providers.cloud1.http.rest_plan import DesiredUsage
from fabric.providers.cloud1.http.rest_stage import Patch
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.retry import poll_until

# The name of the stored value.
USAGE = "rest_usage"
_PAGE = 500
Row = Mapping[str, Any]


def release_usage(
    work: Cloud1Work,
    address: DeploymentAddress,
    wanted: DesiredUsage | None,
    stage: Mapping[str, str],
    kept: StoredReleaseState,
) -> str:
    """Create the usage plan of the stage and its keys, and delete other keys. Return the value to
    store."""
    label = f"{stage['restApiId']}:{stage['stageName']}"
    digest = hash_fields((label, repr(wanted))) if wanted else ""
    if kept.is_sure and kept.texts.get(USAGE, "") == digest:
        return digest
    if wanted is None:
        delete_usage(work, address, (stage["restApiId"],))
        return ""
    plan = next(iter(_fetch_plans(work, address)), None) or _create_plan(work, address, wanted)
    patches = list(_find_patches(plan, wanted.plan, label))
    calls = work.clients.of(REST_GATEWAY)
    if patches:
        calls.update_usage_plan(usagePlanId=plan["id"], patchOperations=patches)
    there = {one["name"]: one["id"] for one in _fetch_keys(work, address)}
    for name in wanted.keys:
        there.setdefault(name, "")
    keys = {name: there[name] or _create_key(work, address, name) for name in wanted.keys}
    for ident in sorted({*keys.values()} - _fetch_attached(work, plan)):
        with ignore_codes(CONFLICT):  # attached by this call, whose response was lost
            calls.create_usage_plan_key(usagePlanId=plan["id"], keyId=ident, keyType="API_KEY")
    _delete_keys(work, {one: name for name, one in there.items() if name not in wanted.keys})
    return digest


def _is_own(row: Row, address: DeploymentAddress) -> bool:
    return build_ownership_tags(address).items() <= (row.get("tags") or {}).items()


def _fetch_plans(work: Cloud1Work, address: DeploymentAddress) -> list[Row]:
    rows = list_pages(work.clients.of(REST_GATEWAY), "get_usage_plans", "items", limit=_PAGE)
    return sorted((one for one in rows if _is_own(one, address)), key=lambda one: str(one["id"]))


def _fetch_keys(work: Cloud1Work, address: DeploymentAddress) -> list[Row]:
    """Fetch the keys without their values."""
    prefix = f"{address.service}-{address.stage}-"
    calls = work.clients.of(REST_GATEWAY)
    rows = list_pages(calls, "get_api_keys", "items", nameQuery=prefix, limit=_PAGE)
    return [one for one in rows if _is_own(one, address)]


def _fetch_attached(work: Cloud1Work, plan: Row) -> set[str]:
    calls = work.clients.of(REST_GATEWAY)
    rows = list_pages(calls, "get_usage_plan_keys", "items", usagePlanId=plan["id"], limit=_PAGE)
    return {one["id"] for one in rows}


def _create_plan(work: Cloud1Work, address: DeploymentAddress, wanted: DesiredUsage) -> Row:
    def request() -> Row:
        made: Row = work.clients.of(REST_GATEWAY, ONCE).create_usage_plan(
            name=f"{address.service}-{address.stage}",
            tags=build_ownership_tags(address),
            **_build_limits(wanted.plan),
        )
        return made

    def create() -> Row | None:
        return create_once(request, lambda: next(iter(_fetch_plans(work, address)), None))

    made = poll_until(create, work.scope.waiting, work.scope.watch)
    return require_created(made, "a usage plan")


def _create_key(work: Cloud1Work, address: DeploymentAddress, name: str) -> str:
    def request() -> str:
        made = work.clients.of(REST_GATEWAY, ONCE).create_api_key(
            name=name, enabled=True, tags=build_ownership_tags(address)
        )
        work.scope.watch.hear(f"created the API key `{name}`")
        return str(made["id"])

    def look() -> str | None:
        rows = _fetch_keys(work, address)
        return next((one["id"] for one in rows if one["name"] == name), None)

    made = poll_until(lambda: create_once(request, look), work.scope.waiting, work.scope.watch)
    return require_created(made, "an API key")


def _build_limits(plan: UsagePlan) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    if plan.throttle:
        found["throttle"] = {
            "rateLimit": float(plan.throttle.rate),
            "burstLimit": plan.throttle.burst,
        }
    if plan.quota:
        found["quota"] = {
            "limit": plan.quota.limit,
            "period": plan.quota.period.upper(),
            "offset": plan.quota.offset,
        }
    return found


def _find_patches(shown: Row, wanted: UsagePlan, label: str) -> Iterator[Patch]:
    """List the changes of a plan: its limits, and the stage that it is for."""
    limits = _build_limits(wanted)
    for name in ("throttle", "quota"):
        there, values = shown.get(name) or {}, limits.get(name, {})
        known = {"offset": 0, **there}
        if there and not values:
            yield {"op": "remove", "path": f"/{name}"}
        for key, value in values.items():
            if known.get(key) != value:
                op = "replace" if there else "add"
                yield {"op": op, "path": f"/{name}/{key}", "value": str(value)}
    labels = set(_list_labels(shown))
    if label not in labels:
        yield {"op": "add", "path": "/apiStages", "value": label}
    for one in sorted(labels - {label}):
        yield {"op": "remove", "path": "/apiStages", "value": one}


def _list_labels(plan: Row) -> Sequence[str]:
    return [f"{one['apiId']}:{one['stage']}" for one in plan.get("apiStages") or ()]


def delete_usage(work: Cloud1Work, address: DeploymentAddress, apis: Iterable[str]) -> None:
    """Delete the usage plans and keys of the service. Plans with stages cannot be deleted."""
    if not apis:
        return
    calls = work.clients.of(REST_GATEWAY)
    for plan in _fetch_plans(work, address):
        patches = [
            {"op": "remove", "path": "/apiStages", "value": one} for one in _list_labels(plan)
        ]
        with ignore_codes(GONE):
            if patches:
                calls.update_usage_plan(usagePlanId=plan["id"], patchOperations=patches)
            calls.delete_usage_plan(usagePlanId=plan["id"])
    _delete_keys(work, {one["id"]: one["name"] for one in _fetch_keys(work, address)})


def _delete_keys(work: Cloud1Work, keys: Mapping[str, str]) -> None:
    """Delete keys by their ids, each with its name."""
    for ident, name in keys.items():
        with ignore_codes(GONE):
            work.clients.of(REST_GATEWAY).delete_api_key(apiKey=ident)
        work.scope.watch.hear(f"deleted the API key `{name}`")
