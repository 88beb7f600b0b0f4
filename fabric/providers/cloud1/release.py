"""Release on AWS: switch traffic and event sources to the deployed versions."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.task import Pairs
from fabric.providers.cloud1.aliases import (
    CutOver,
    StoredReleaseState,
    cut_over,
    format_kept_versions,
    read_kept_state,
    read_live_version,
)
from fabric.providers.cloud1.buckets import make_bucket
from fabric.providers.cloud1.client import GONE, MAX_PARALLEL, ignore_codes
from fabric.providers.cloud1.create_event_sources import (
    Wiring,
    encode_wiring,
    find_changed_functions,
    wire_up,
)
from fabric.providers.cloud1.delete_event_sources import plan_unwiring, unwire, unwire_service
from fabric.providers.cloud1.events import plan_wires
from fabric.providers.cloud1.function_attributes import release_attributes
from fabric.providers.cloud1.functions import prune_versions
from fabric.providers.cloud1.gateway import (
    GatewayOrder,
    read_api_endpoint,
    read_api_id,
    release_gateway,
    remove_gateway,
)
from fabric.providers.cloud1.gateway_plan import DesiredGateway, plan_gateway
from fabric.providers.cloud1.ownership import format_kept_place, is_foreign, refuse_other_account
from fabric.providers.cloud1.prerequisites import find_missing_buckets
from fabric.providers.cloud1.rules import drop_statements, set_statements
from fabric.providers.cloud1.versions import (
    Cloud1Work,
    build_alias_arn,
    build_function_name,
    build_ownership_tags,
    describe_function,
)
from fabric.providers.cloud1.wired_now import NOT_LOOKED, WiredNow, fetch_wires
from fabric.providers.core.contract import DeploymentAddress, LiveFunction, Released
from fabric.providers.core.retry import run_parallel
from fabric.providers.core.triggers import build_function_endpoint


class _Releasing(Struct, frozen=True):
    """The complete plan of a release, computed before the first call."""

    address: DeploymentAddress
    functions: Sequence[LiveFunction]
    kept: StoredReleaseState
    gateway: DesiredGateway
    wiring: Wiring


def release_service(
    work: Cloud1Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
) -> Released:
    # What a deploy has failed to make has no version, and is met by nobody.
    functions = [one for one in functions if read_live_version(one)]
    releasing = _plan_release(work, address, functions)
    kept, wiring = releasing.kept, releasing.wiring
    changed = find_changed_functions(wiring, kept)
    new = find_missing_buckets(work, address, {name: wiring.list_wanted(name) for name in changed})
    statements = set_statements(work, address, kept)
    run_parallel(
        lambda bucket: make_bucket(work, bucket, build_ownership_tags(address)), new, MAX_PARALLEL
    )
    cut = cut_over(work, functions, kept)
    beside = release_attributes(work, address, functions, kept)
    now = _inspect_wires(releasing, cut)
    gateway = _release_api(releasing, cut, now)
    wire_up(replace(wiring, fresh=cut.fresh), changed | cut.fresh, kept, now)
    left = {
        **_keep_leaving(releasing),
        **statements,
        **gateway,
        **format_kept_place(functions),
        **format_kept_versions(functions),
        **beside,
        **encode_wiring(wiring, kept.salt),
        **prune_versions(work, (address, functions, cut), kept),
    }
    endpoint = read_api_endpoint(gateway)
    return Released(endpoint, _build_outputs(address, endpoint, functions), tuple(left.items()))


def _plan_release(
    work: Cloud1Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
) -> _Releasing:
    aliases = {one.name: build_alias_arn(one.resource_id) for one in functions}
    wiring = Wiring(work, aliases, plan_wires(address, functions, work.own))
    gateway = plan_gateway(address, functions)
    return _Releasing(address, functions, read_kept_state(address), gateway, wiring)


def _inspect_wires(releasing: _Releasing, cut: CutOver) -> WiredNow:
    """Read the event sources if the result of the last release is unknown. A new alias has none."""
    if releasing.kept.is_sure:
        return NOT_LOOKED
    wiring = releasing.wiring
    older = {name: alias for name, alias in wiring.aliases.items() if name not in cut.fresh}
    return fetch_wires(wiring.work, releasing.address, older)


def _release_api(releasing: _Releasing, cut: CutOver, now: WiredNow) -> dict[str, str]:
    wiring, kept = releasing.wiring, releasing.kept
    closed = cut.fresh | now.unknown_to(read_api_id(kept.texts))
    order = GatewayOrder(wiring.work, releasing.address, releasing.gateway)
    return release_gateway(order, closed, kept)


def _keep_leaving(releasing: _Releasing) -> dict[str, str]:
    """Return the stored event sources of functions that the config no longer contains; they are
    deleted after this."""
    record = releasing.address.previous
    staying = releasing.wiring.aliases
    names = [one.name for one in record.functions if one.name not in staying] if record else []
    return releasing.kept.of_functions(names)


def _build_outputs(
    address: DeploymentAddress, endpoint: str, functions: Sequence[LiveFunction]
) -> Pairs:
    """Build the outputs for other services, equal for all versions."""
    outputs = {"url": endpoint, "region": address.region}
    for one in functions:
        below = build_function_endpoint(endpoint, one.triggers)
        if below:
            outputs[f"url_{one.name}"] = below
        outputs[f"arn_{one.name}"] = build_alias_arn(one.resource_id)
    return tuple((name, text) for name, text in outputs.items() if text)


def delete_functions(
    work: Cloud1Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
) -> None:
    refuse_other_account(work, address)
    unwire(plan_unwiring(work, address, functions, read_kept_state(address)))
    _delete(work, address, functions)


def delete_service(
    work: Cloud1Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
) -> None:
    refuse_other_account(work, address)
    kept = read_kept_state(address)
    unwiring = plan_unwiring(work, address, functions, kept)
    remove_gateway(work, address, kept.texts)
    unwire_service(unwiring)
    _delete(work, address, functions)
    drop_statements(work, address, kept)


def _delete(
    work: Cloud1Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
) -> None:
    def delete(one: LiveFunction) -> None:
        name = one.resource_name or build_function_name(address, one.name)
        found = describe_function(work, name)
        if found is not None and is_foreign(address, one.name, found):
            work.watch.hear(f"{one.name}: `{name}` now belongs to another owner and is not deleted")
            return
        with ignore_codes(GONE):
            work.functions.delete_function(FunctionName=name)
        work.watch.hear(f"{one.name}: deleted with all its versions")

    run_parallel(delete, functions, MAX_PARALLEL)
