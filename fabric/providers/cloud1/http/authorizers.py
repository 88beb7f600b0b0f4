"""The authorizers and the stage of an HTTP API, with its limits and access logs."""

from collections.abc import Mapping
from typing import Any

from fabric.providers.cloud1.core.client import GONE, MAX_PARALLEL, ignore_codes
from fabric.providers.cloud1.core.http_settings import (
    Authorizer,
    encode_authorizers,
    is_own_authorizer,
    parse_authorizer_function,
)
from fabric.providers.cloud1.core.permissions import build_authorizer_permission, let_in, shut_out
from fabric.providers.cloud1.core.versions import Cloud1Work
from fabric.providers.cloud1.functions.aliases import StoredReleaseState
from fabric.providers.cloud1.http.gateway_calls import (
    GatewayOrder,
    create_new,
    create_once,
    list_pages,
    require_created,
)
from fabric.providers.cloud1.http.gateway_plan import GatewayAuthorizer
from fabric.providers.core.retry import poll_until, run_parallel
from fabric.system.cloud1_account import REFUSED

# The names of the stored values.
AUTHORIZERS, STAGE, LOG_DAYS = "authorizers", "stage", "log_days"
DEFAULT_STAGE = "$default"
_LIMIT, _ROUTES, _LOGS = "DefaultRouteSettings", "RouteSettings", "AccessLogSettings"
Row = Mapping[str, Any]


def set_authorizers(gateway: GatewayOrder, kept: StoredReleaseState) -> dict[str, Row]:
    """Create and update authorizers, and return all that fabric has created, by name. Functions
    permit the API first."""
    wanted = gateway.wanted.authorizers
    if not (kept.texts.get(AUTHORIZERS) or gateway.wanted.definitions):
        return {}  # none was ever configured
    there = _fetch_authorizers(gateway)

    def put(one: GatewayAuthorizer) -> Row:
        if one.alias:
            let_in(gateway.work, one.alias, build_authorizer_permission(one.alias, gateway.id))
        row = there.get(one.name) or _create_authorizer(gateway, one)
        if any(row.get(name, type(value)()) != value for name, value in one.fields.items()):
            ident = row["AuthorizerId"]
            gateway.calls.update_authorizer(ApiId=gateway.id, AuthorizerId=ident, **one.fields)
        return row

    rows = run_parallel(put, wanted, MAX_PARALLEL)
    return {**there, **{one.name: row for one, row in zip(wanted, rows, strict=True)}}


def _fetch_authorizers(gateway: GatewayOrder) -> dict[str, Row]:
    found = list_pages(gateway.calls, "get_authorizers", "Items", ApiId=gateway.id)
    return {one["Name"]: one for one in found if is_own_authorizer(one["Name"])}


def _create_authorizer(gateway: GatewayOrder, one: GatewayAuthorizer) -> Row:
    def request() -> Row:
        made: Row = gateway.single.create_authorizer(ApiId=gateway.id, Name=one.name, **one.fields)
        return made

    def create() -> Row | None:
        return create_once(request, lambda: _fetch_authorizers(gateway).get(one.name))

    made = poll_until(create, gateway.work.scope.waiting, gateway.work.scope.watch)
    return require_created(made, "an authorizer")


def drop_authorizers(gateway: GatewayOrder, there: Mapping[str, Row]) -> None:
    """Delete the authorizers that no route uses any longer. fabric's own are known by name."""
    wanted = {one.name: one.alias for one in gateway.wanted.authorizers}
    for name, row in there.items():
        if name not in wanted:
            with ignore_codes(GONE):
                ident = row["AuthorizerId"]
                gateway.calls.delete_authorizer(ApiId=gateway.id, AuthorizerId=ident)
        alias = parse_authorizer_function(row.get("AuthorizerUri", ""))
        if alias and alias not in wanted.values():
            close_authorizer(gateway.work, alias, gateway.id)


def encode_definitions(work: Cloud1Work, known: Mapping[str, Authorizer]) -> dict[str, str]:
    """Return the definitions to store, which a rollback can need."""
    return {AUTHORIZERS: encode_authorizers(known, work.scope.quoted)} if known else {}


def close_authorizers(gateway: GatewayOrder, kept: StoredReleaseState) -> None:
    """Remove the permissions of the authorizers of an API that is deleted."""
    if kept.texts.get(AUTHORIZERS):
        with ignore_codes(GONE):
            for row in _fetch_authorizers(gateway).values():
                alias = parse_authorizer_function(row.get("AuthorizerUri", ""))
                close_authorizer(gateway.work, alias, gateway.id)


def close_authorizer(work: Cloud1Work, alias: str, api: str) -> None:
    """Remove a permission. Functions elsewhere have none of fabric, and can be inaccessible."""
    if alias:
        with ignore_codes(REFUSED):
            shut_out(work, alias, build_authorizer_permission(alias, api))


def set_stage(gateway: GatewayOrder, kept: StoredReleaseState) -> None:
    """Create the stage, or update the settings that differ. Limits name routes, which exist then;
    limits of routes that are deleted afterwards are deleted here."""
    wanted = gateway.wanted.stage.settings
    stage = {"ApiId": gateway.id, "StageName": DEFAULT_STAGE}
    if create_new(lambda: gateway.calls.create_stage(**stage, AutoDeploy=True, **wanted)):
        return
    if not wanted and kept.is_sure and not kept.texts.get(STAGE):
        return
    there = gateway.calls.get_stage(**stage)
    for key in (there.get(_ROUTES) or {}).keys() - wanted.get(_ROUTES, {}).keys():
        with ignore_codes(GONE):
            gateway.calls.delete_route_settings(**stage, RouteKey=key)
    if there.get(_LOGS) and _LOGS not in wanted:
        gateway.calls.delete_access_log_settings(**stage)
    changed = {name: value for name, value in wanted.items() if _differs(there.get(name), value)}
    if (there.get(_LIMIT) or {}).get("ThrottlingRateLimit") is not None and _LIMIT not in wanted:
        changed[_LIMIT] = {"DetailedMetricsEnabled": False}
    if changed:
        gateway.calls.update_stage(**stage, **changed)


def _differs(there: Any, wanted: Any) -> bool:
    """Compare settings by the fields that are set."""
    if isinstance(wanted, Mapping):
        rows = there if isinstance(there, Mapping) else {}
        return any(_differs(rows.get(name), value) for name, value in wanted.items())
    return bool(there != wanted)
