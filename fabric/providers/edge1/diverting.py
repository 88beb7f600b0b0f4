"""Temporarily divert the front Worker of a service to a tunnel with a separate version, and restore
it."""

from collections.abc import Sequence

from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.model.records.diversion import Diversion
from fabric.providers.contract import DeploymentAddress, LiveFunction
from fabric.providers.diverting import in_other_account, led_away
from fabric.providers.edge1.gate_plan import route_keys, tunnel_gate
from fabric.providers.edge1.own_settings import gate_name, owner_of
from fabric.providers.edge1.uploads import TUNNEL_MARK
from fabric.providers.edge1.versions import Edge1Work, let_meet, met_version, uploaded, versions

_ACCOUNT, _GATE, _VERSION, _TAG = "account", "gate", "version", "tag"


def diversion_of(
    work: Edge1Work, address: DeploymentAddress, url: str, mark: str
) -> Diversion | None:
    name, account = gate_name(address), work.api.account.account
    way = Diversion(url, mark, ())
    upload = tunnel_gate(address, _functions(address), way, work.own.compatibility_date).upload
    rows = versions(work, name)
    met = met_version(work, name) if upload and rows is not None else ""
    if upload is None or not met:
        return None
    owner = owner_of(address)
    if any(one.id == met and owner.mark_in(one.tag).startswith(TUNNEL_MARK) for one in rows or ()):
        raise FabricError(led_away(address))
    before = ((_ACCOUNT, account), (_GATE, name), (_VERSION, met), (_TAG, upload.tag))
    return replace(way, before=before)


def diverted(work: Edge1Work, address: DeploymentAddress, way: Diversion) -> Sequence[str]:
    functions = _functions(address)
    gate = tunnel_gate(address, functions, replace(way, before=()), work.own.compatibility_date)
    if gate.upload is None:
        return ()
    with work.told(f"the front Worker `{gate.name}` of `{address.service}`"):
        let_meet(work, gate.name, uploaded(work, gate.name, gate.upload))
    return route_keys(functions)


def turned_back(work: Edge1Work, way: Diversion) -> Sequence[str]:
    """Restore the front Worker's version. A deleted Worker needs no change; all versions stay, as
    always on Cloudflare."""
    before = dict(way.before)
    name, account = before[_GATE], work.api.account.account
    if account != before[_ACCOUNT]:
        raise FabricError(in_other_account(before[_ACCOUNT]))
    with work.told(f"the front Worker `{name}`"):
        rows = versions(work, name)
        if rows is None:
            return ()
        met = met_version(work, name)
        if met == before[_VERSION]:
            return ()
        if not any((one.id, one.tag) == (met, before[_TAG]) for one in rows):
            return (f"all routes of the front Worker `{name}`",)
        let_meet(work, name, before[_VERSION])
    return ()


def _functions(address: DeploymentAddress) -> tuple[LiveFunction, ...]:
    """Return the functions of the last release. A function without a version receives no
    traffic."""
    recorded = address.previous.functions if address.previous else ()
    return tuple(
        LiveFunction(one.name, one.resource_name, one.resource_id, triggers=one.triggers)
        for one in recorded
        if one.resource_id
    )
