"""Temporarily divert the front Worker of a service to a tunnel with a separate version, and restore
it."""

from collections.abc import Sequence

from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.model.records.record import Diversion
from fabric.providers.core.contract import DeploymentAddress, LiveFunction
from fabric.providers.core.routes import foreign_diversion_problem, other_account_problem
from fabric.providers.edge1.client import build_gate_name, build_worker_owner
from fabric.providers.edge1.functions import (
    Edge1Work,
    activate_version,
    find_met_version,
    list_worker_versions,
    upload_version,
)
from fabric.providers.edge1.release import plan_tunnel_gate, route_keys
from fabric.providers.edge1.uploads import TUNNEL_MARK

_ACCOUNT, _GATE, _VERSION, _TAG = "account", "gate", "version", "tag"


def read_diversion(
    work: Edge1Work, address: DeploymentAddress, url: str, mark: str
) -> Diversion | None:
    name, account = build_gate_name(address), work.api.account.account
    way = Diversion(url, mark, ())
    upload = plan_tunnel_gate(
        address, _list_released_functions(address), way, work.own.compatibility_date
    ).upload
    rows = list_worker_versions(work, name)
    met = find_met_version(work, name) if upload and rows is not None else ""
    if upload is None or not met:
        return None
    owner = build_worker_owner(address)
    if any(one.id == met and owner.mark_in(one.tag).startswith(TUNNEL_MARK) for one in rows or ()):
        raise FabricError(foreign_diversion_problem(address))
    before = ((_ACCOUNT, account), (_GATE, name), (_VERSION, met), (_TAG, upload.tag))
    return replace(way, before=before)


def divert_gate(work: Edge1Work, address: DeploymentAddress, way: Diversion) -> Sequence[str]:
    functions = _list_released_functions(address)
    gate = plan_tunnel_gate(
        address, functions, replace(way, before=()), work.own.compatibility_date
    )
    if gate.upload is None:
        return ()
    with work.convert_errors(f"the front Worker `{gate.name}` of `{address.service}`"):
        activate_version(work, gate.name, upload_version(work, gate.name, gate.upload))
    return route_keys(functions)


def restore_gate(work: Edge1Work, way: Diversion) -> Sequence[str]:
    """Restore the front Worker's version. A deleted Worker needs no change; all versions stay, as
    always on Cloudflare."""
    before = dict(way.before)
    name, account = before[_GATE], work.api.account.account
    if account != before[_ACCOUNT]:
        raise FabricError(other_account_problem(before[_ACCOUNT]))
    with work.convert_errors(f"the front Worker `{name}`"):
        rows = list_worker_versions(work, name)
        if rows is None:
            return ()
        met = find_met_version(work, name)
        if met == before[_VERSION]:
            return ()
        if not any((one.id, one.tag) == (met, before[_TAG]) for one in rows):
            return (f"all routes of the front Worker `{name}`",)
        activate_version(work, name, before[_VERSION])
    return ()


def _list_released_functions(address: DeploymentAddress) -> tuple[LiveFunction, ...]:
    """Return the functions of the last release. A function without a version receives no
    traffic."""
    recorded = address.previous.functions if address.previous else ()
    return tuple(
        LiveFunction(one.name, one.resource_name, one.resource_id, triggers=one.triggers)
        for one in recorded
        if one.resource_id
    )
