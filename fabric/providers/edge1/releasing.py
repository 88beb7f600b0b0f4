"""Release on Cloudflare: switch traffic and schedules to the deployed versions."""

from collections.abc import Sequence

from fabric.model.hashing import hash_fields
from fabric.model.task import Pairs
from fabric.providers.core.contract import DeploymentAddress, LiveFunction, Released
from fabric.providers.core.errors import attach_error_spot
from fabric.providers.core.release_state import ReleaseState, read_kept_texts
from fabric.providers.core.retry import run_parallel
from fabric.providers.core.triggers import build_function_endpoint, number_of
from fabric.providers.edge1.addresses import open_address
from fabric.providers.edge1.crons import format_crons, plan_crons, set_crons
from fabric.providers.edge1.gate_plan import DesiredFrontWorker, plan_gate
from fabric.providers.edge1.release_state import ACCOUNT, ADDRESS, GATE, PLACE, ZONE
from fabric.providers.edge1.removing import remove_gate
from fabric.providers.edge1.settings import build_worker_name, read_version
from fabric.providers.edge1.versions import (
    Edge1Work,
    activate_version,
    find_met_version,
    upload_version,
)

_VERSION, _CRONS = "version:", "crons:"


def release_service(
    work: Edge1Work, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> Released:
    # What a deploy has failed to make has no version, and is met by nobody.
    functions = [one for one in functions if read_version(one.resource_id)]
    kept = read_kept_texts(address)
    gate = plan_gate(address, functions, work.own.compatibility_date)
    crons = {one.name: plan_crons(one.triggers) for one in functions}
    run_parallel(lambda one: _cut_over(work, address, one, kept), functions)
    endpoint, texts = _release_gate(work, address, gate, kept)
    run_parallel(lambda one: _update_crons(work, address, (one, crons[one.name]), kept), functions)
    left = {
        ACCOUNT: work.api.account.account,
        **kept.of_leaving(address, frozenset(one.name for one in functions)),
        **texts,
        **{_VERSION + one.name: read_version(one.resource_id) for one in functions},
        **{_CRONS + name: format_crons(rows) for name, rows in crons.items() if rows},
    }
    return Released(endpoint, _build_outputs(address, endpoint, functions), tuple(left.items()))


def _cut_over(
    work: Edge1Work, address: DeploymentAddress, one: LiveFunction, kept: ReleaseState
) -> None:
    wanted, name = read_version(one.resource_id), build_worker_name(address, one.name)
    known = kept.sure(_VERSION + one.name)
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


def _build_outputs(
    address: DeploymentAddress, endpoint: str, functions: Sequence[LiveFunction]
) -> Pairs:
    """Build the outputs for other services, equal for all versions."""
    outputs = {"url": endpoint}
    for one in functions:
        below = build_function_endpoint(endpoint, one.triggers)
        if below:
            outputs[f"url_{one.name}"] = below
        outputs[f"arn_{one.name}"] = build_worker_name(address, one.name)
    return tuple((name, text) for name, text in outputs.items() if text)
