"""Release on Cloudflare: switch traffic and schedules to the deployed versions."""

import json
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.calls.cors import encode_cors
from fabric.model.hashing import hash_fields
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError
from fabric.model.records.record import Diversion
from fabric.providers.core.contract import DeploymentAddress, LiveFunction, Released
from fabric.providers.core.errors import attach_error_spot
from fabric.providers.core.release_state import ReleaseState, read_kept_texts
from fabric.providers.core.retry import run_parallel
from fabric.providers.core.routes import foreign_diversion_problem, other_account_problem
from fabric.providers.core.triggers import build_outputs, number_of
from fabric.providers.edge1.bindings.objects import delete_objects, release_objects
from fabric.providers.edge1.bindings.resources import delete_resources, store_resources
from fabric.providers.edge1.client import (
    Owner,
    build_gate_name,
    build_worker_name,
    build_worker_owner,
    read_version,
)
from fabric.providers.edge1.events import (
    delete_consumers,
    format_crons,
    plan_crons,
    set_consumers,
    set_crons,
)
from fabric.providers.edge1.routes import open_address, shut
from fabric.providers.edge1.uploads import (
    TUNNEL_MARK,
    Upload,
    build_gate_upload,
    build_tunnel_upload,
)
from fabric.providers.edge1.versions import (
    activate_version,
    find_met_version,
    has_own,
    list_worker_versions,
    upload_version,
)
from fabric.providers.edge1.work import (
    ACCOUNT,
    ADDRESS,
    GATE,
    OBJECTS,
    PLACE,
    VERSION,
    ZONE,
    Edge1Work,
)

_CRONS, _QUEUES = "crons:", "queues:"


def release_service(
    work: Edge1Work, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> Released:
    # What a deploy has failed to make has no version, and is met by nobody.
    functions = [one for one in functions if read_version(one.resource_id)]
    kept = read_kept_texts(address)
    gate = plan_gate(address, functions, work.own.compatibility_date)
    crons = {one.name: plan_crons(one.triggers) for one in functions}
    resources = store_resources(work, address, kept)
    objects = release_objects(work, address, functions, kept)
    run_parallel(lambda one: _cut_over(work, address, one, kept), functions)
    endpoint, texts = _release_gate(work, address, gate, kept)
    run_parallel(lambda one: _update_crons(work, address, (one, crons[one.name]), kept), functions)
    queues = dict(run_parallel(lambda one: _update_queues(work, address, one, kept), functions))
    left = {
        ACCOUNT: work.api.account.account,
        **kept.of_leaving(address, frozenset(one.name for one in functions)),
        **texts,
        **resources.texts,
        **objects,
        **{_QUEUES + name: text for name, text in queues.items() if text},
        **{VERSION + one.name: read_version(one.resource_id) for one in functions},
        **{_CRONS + name: format_crons(rows) for name, rows in crons.items() if rows},
    }
    outputs = build_outputs(endpoint, functions, partial(build_worker_name, address))
    return Released(endpoint, (*outputs, *resources.outputs.items()), tuple(left.items()))


def _cut_over(
    work: Edge1Work, address: DeploymentAddress, one: LiveFunction, kept: ReleaseState
) -> None:
    wanted, name = read_version(one.resource_id), build_worker_name(address, one.name)
    known = kept.sure(VERSION + one.name)
    with attach_error_spot(one.name), work.convert_errors(f"function `{one.name}`"):
        there = find_met_version(work, name) if known is None else known
        if there != wanted:
            activate_version(work, name, wanted)
    if there != wanted:
        work.watch.hear(f"{one.name}: version {wanted} receives all traffic")


def _update_crons(
    work: Edge1Work,
    address: DeploymentAddress,
    wanted: tuple[LiveFunction, tuple[str, ...]],
    kept: ReleaseState,
) -> None:
    one, crons = wanted
    rows = ", ".join(f"`{row}`" for row in crons) or "none"
    number = number_of("cron", one.triggers)
    whose = f"function `{one.name}`, its schedules ({rows})"
    with attach_error_spot(one.name, number), work.convert_errors(whose):
        set_crons(work, build_worker_name(address, one.name), crons, kept.sure(_CRONS + one.name))


def _update_queues(
    work: Edge1Work, address: DeploymentAddress, one: LiveFunction, kept: ReleaseState
) -> tuple[str, str]:
    """Set the consumers of a function, and return what to store of them."""
    number, name = number_of("queue", one.triggers), build_worker_name(address, one.name)
    with attach_error_spot(one.name, number), work.convert_errors(f"function `{one.name}`"):
        return one.name, set_consumers(work, name, one, kept, _QUEUES + one.name)


def delete_functions(
    work: Edge1Work, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> None:
    kept = read_kept_texts(address)

    def delete(one: LiveFunction) -> None:
        name = one.resource_name or build_worker_name(address, one.name)
        with attach_error_spot(one.name), work.convert_errors(f"function `{one.name}`"):
            work.api.resources.forget(f"worker:{name}")
            delete_consumers(work, name, kept, _QUEUES + one.name)
            if _delete_own(work, name, build_worker_owner(address, one.name)):
                work.watch.hear(f"{one.name}: deleted with all its versions")

    run_parallel(delete, functions)


def delete_service(
    work: Edge1Work, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> None:
    remove_gate(work, address)
    delete_functions(work, address, functions)
    delete_objects(work, address, read_kept_texts(address).texts.get(OBJECTS, ""))
    delete_resources(work, address)


def remove_gate(work: Edge1Work, address: DeploymentAddress) -> None:
    """Delete the front Worker after its routes, including routes of an interrupted deletion."""
    name, owner = build_gate_name(address), build_worker_owner(address)
    with work.convert_errors(f"the front Worker `{name}` of `{address.service}`"):
        rows = list_worker_versions(work, name)
        if rows is not None and not has_own(rows, owner):
            _leave(work, name, owner)
            return
        shut(work, name, read_kept_texts(address))
        if rows is not None:
            work.delete_script(name)


def _delete_own(work: Edge1Work, name: str, owner: Owner) -> bool:
    """Delete the Worker and return whether the name is unused now."""
    rows = list_worker_versions(work, name)
    if rows is not None and not has_own(rows, owner):
        _leave(work, name, owner)
        return False
    if rows is not None:
        work.delete_script(name)
    return True


def _leave(work: Edge1Work, name: str, owner: Owner) -> None:
    """Report a Worker of another owner, which must not block the deletion of ours."""
    work.watch.hear(f"the Worker `{name}` does not belong to {owner.title} and was not deleted")


class DesiredFrontWorker(Struct, frozen=True):
    """The desired front Worker."""

    name: str
    # None for a service without HTTP routes.
    upload: Upload | None


def _release_gate(
    work: Edge1Work, address: DeploymentAddress, gate: DesiredFrontWorker, kept: ReleaseState
) -> tuple[str, dict[str, str]]:
    """Return the address of the front Worker, and the values to store."""
    if gate.upload is None:
        if kept.sure(GATE) != "":
            remove_gate(work, address)
        return "", {}
    seen = gate.upload.tag
    if kept.sure(GATE) != seen:
        with work.convert_errors(f"the front Worker `{gate.name}` of `{address.service}`"):
            ident = upload_version(work, gate.name, gate.upload)
            if find_met_version(work, gate.name) != ident:
                activate_version(work, gate.name, ident)
        work.watch.hear(f"the front Worker `{gate.name}` has all routes")
    account = work.api.account
    place = hash_fields((gate.name, work.own.hostname, account.zone, account.workers_url))
    endpoint = kept.texts.get(ADDRESS, "")
    if kept.sure(PLACE) != place or not endpoint:
        endpoint = open_address(work, gate.name, kept)
        work.watch.hear(f"the service is available at {endpoint}")
    zone = {ZONE: account.zone} if work.own.hostname else {}
    return endpoint, {GATE: seen, PLACE: place, ADDRESS: endpoint, **zone}


class _GateRoute(NamedTuple):
    path: str
    method: str
    function: str
    cors: JsonObject | None


def plan_gate(
    address: DeploymentAddress, functions: Sequence[LiveFunction], date: str
) -> DesiredFrontWorker:
    routes, name = _list_routes(functions), build_gate_name(address)
    if not routes:
        return DesiredFrontWorker(name, None)
    bindings = _name_bindings(routes)
    services = {binding: build_worker_name(address, one) for one, binding in bindings.items()}
    return DesiredFrontWorker(
        name, build_gate_upload(_build_rows(routes), build_worker_owner(address), services, date)
    )


def plan_tunnel_gate(
    address: DeploymentAddress, functions: Sequence[LiveFunction], way: Diversion, date: str
) -> DesiredFrontWorker:
    """Plan the same routes, all to one tunnel address."""
    routes, name = _list_routes(functions), build_gate_name(address)
    if not routes:
        return DesiredFrontWorker(name, None)
    return DesiredFrontWorker(
        name, build_tunnel_upload(_build_rows(routes), build_worker_owner(address), way, date)
    )


def route_keys(functions: Sequence[LiveFunction]) -> tuple[str, ...]:
    return tuple(sorted(f"{one.method} {one.path}" for one in _list_routes(functions)))


def _list_routes(functions: Sequence[LiveFunction]) -> list[_GateRoute]:
    return [
        _GateRoute(
            trigger.get("path") or "/",
            trigger.get("method") or "GET",
            one.name,
            encode_cors(trigger.get("cors")),
        )
        for one in functions
        for trigger in map(json.loads, one.triggers)
        if trigger.get("type") == "http"
    ]


def _name_bindings(routes: Sequence[_GateRoute]) -> dict[str, str]:
    names = sorted({one.function for one in routes})
    return {function: f"F{number}" for number, function in enumerate(names)}


def _build_rows(routes: Sequence[_GateRoute]) -> list[JsonObject]:
    bindings = _name_bindings(routes)
    return [
        {"method": method, "path": path, "binding": bindings[function], "cors": cors}
        for path, method, function, cors in sorted(routes, key=lambda one: one[:3])
    ]


_OLD_ACCOUNT, _OLD_GATE, _OLD_VERSION, _OLD_TAG = "account", "gate", "version", "tag"


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
    before = (
        (_OLD_ACCOUNT, account),
        (_OLD_GATE, name),
        (_OLD_VERSION, met),
        (_OLD_TAG, upload.tag),
    )
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
    name, account = before[_OLD_GATE], work.api.account.account
    if account != before[_OLD_ACCOUNT]:
        raise FabricError(other_account_problem(before[_OLD_ACCOUNT]))
    with work.convert_errors(f"the front Worker `{name}`"):
        rows = list_worker_versions(work, name)
        if rows is None:
            return ()
        met = find_met_version(work, name)
        if met == before[_OLD_VERSION]:
            return ()
        if not any((one.id, one.tag) == (met, before[_OLD_TAG]) for one in rows):
            return (f"all routes of the front Worker `{name}`",)
        activate_version(work, name, before[_OLD_VERSION])
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
