"""Release on AWS: switch traffic and event sources to the deployed versions."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.model.task import Pairs
from fabric.providers.cloud1.alias_settings import (
    prepare_settings,
    read_function_urls,
    release_settings,
)
from fabric.providers.cloud1.core.client import GONE, MAX_PARALLEL, ignore_codes
from fabric.providers.cloud1.core.http_settings import decode_authorizers
from fabric.providers.cloud1.core.ownership import (
    format_kept_place,
    is_foreign,
    refuse_other_account,
)
from fabric.providers.cloud1.core.versions import (
    Cloud1Work,
    build_alias_arn,
    build_function_name,
    build_ownership_tags,
    describe_function,
    read_timeout_seconds,
)
from fabric.providers.cloud1.events.buckets import find_bucket_region, make_bucket
from fabric.providers.cloud1.events.event_sources import (
    KEPT_SCHEDULER_ROLE,
    NOT_LOOKED,
    WiredNow,
    Wiring,
    encode_wiring,
    fetch_wires,
    find_changed_functions,
    list_changed_wires,
    plan_unwiring,
    unwire,
    unwire_service,
    wire_up,
)
from fabric.providers.cloud1.events.events import plan_wires
from fabric.providers.cloud1.events.mappings import FoundQueue, find_queue
from fabric.providers.cloud1.events.rules import (
    drop_statements,
    has_bus,
    has_schedule_group,
    set_statements,
)
from fabric.providers.cloud1.events.scheduler_role import (
    SchedulerRole,
    choose_scheduler_role,
    drop_scheduler_role,
)
from fabric.providers.cloud1.events.wires import BucketWire, QueueWire, RuleWire, ScheduleWire, Wire
from fabric.providers.cloud1.functions.aliases import (
    CutOver,
    StoredReleaseState,
    cut_over,
    format_kept_versions,
    read_kept_state,
    read_live_version,
)
from fabric.providers.cloud1.functions.function_attributes import release_attributes
from fabric.providers.cloud1.functions.functions import prune_versions
from fabric.providers.cloud1.functions.images import delete_repositories
from fabric.providers.cloud1.functions.roles import delete_roles, release_roles
from fabric.providers.cloud1.functions.scaling import stop_function_scaling
from fabric.providers.cloud1.http.api_domain import read_stored_domain
from fabric.providers.cloud1.http.authorizers import AUTHORIZERS
from fabric.providers.cloud1.http.gateway_calls import GatewayOrder
from fabric.providers.cloud1.http.gateway_plan import plan_gateway
from fabric.providers.cloud1.http.http_history import encode_history, recall_settings
from fabric.providers.cloud1.http.rest_gateway import RestOrder
from fabric.providers.cloud1.http.rest_plan import plan_rest_api
from fabric.providers.cloud1.http.service_apis import (
    ServiceApis,
    check_service_api,
    prepare_service_api,
    read_service_endpoint,
    release_service_api,
    remove_service_apis,
)
from fabric.providers.cloud1.workflows.machine_release import (
    build_machine_outputs,
    release_machines,
)
from fabric.providers.core.contract import DeploymentAddress, LiveFunction, Released
from fabric.providers.core.retry import run_parallel
from fabric.providers.core.triggers import build_function_endpoint


class _Releasing(Struct, frozen=True, kw_only=True):
    """The complete plan of a release, computed before the first call."""

    address: DeploymentAddress
    functions: Sequence[LiveFunction]
    kept: StoredReleaseState
    apis: ServiceApis
    wiring: Wiring
    scheduler: SchedulerRole


def release_service(
    work: Cloud1Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
) -> Released:
    # What a deploy has failed to make has no version, and is met by nobody.
    functions = [one for one in functions if read_live_version(one)]
    releasing = _plan_release(work, recall_settings(work, address), functions)
    address, kept, wiring = releasing.address, releasing.kept, releasing.wiring
    changed = find_changed_functions(wiring, kept)
    check_service_api(releasing.apis)
    new = _find_missing_buckets(work, address, list_changed_wires(wiring, changed, kept))
    statements = set_statements(work, address, kept)
    run_parallel(
        lambda bucket: make_bucket(work, bucket, build_ownership_tags(address)), new, MAX_PARALLEL
    )
    prepared = prepare_settings(work, functions, kept)
    api = prepare_service_api(releasing.apis)
    cut = cut_over(work, functions, kept)
    beside = release_attributes(work, address, functions, kept)
    machines = release_machines(work, address, kept)
    roles = release_roles(work, address, functions, kept)
    settings = {**prepared, **release_settings(work, functions, kept)}
    now = _inspect_wires(releasing, cut)
    gateway = release_service_api(releasing.apis, api, cut, now)
    releasing.scheduler.prepare()
    wire_up(replace(wiring, fresh=cut.fresh), changed | cut.fresh, kept, now)
    left = {
        **releasing.scheduler.settle(),
        **_keep_leaving(releasing),
        **statements,
        **gateway,
        **(encode_history(work, address) if gateway else {}),
        **format_kept_place(functions),
        **format_kept_versions(functions),
        **beside,
        **roles,
        **machines,
        **settings,
        **encode_wiring(wiring, kept.salt),
        **prune_versions(work, address, functions, cut, kept),
    }
    endpoint = read_service_endpoint(gateway)
    urls = read_function_urls(settings)
    domain = read_stored_domain(gateway).url
    more = (("domain_url", domain),) if domain else ()
    outputs = (
        *_build_outputs(address, endpoint, functions, urls),
        *(*more, *build_machine_outputs(address)),
    )
    return Released(endpoint, outputs, tuple(left.items()))


def _plan_release(
    work: Cloud1Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
) -> _Releasing:
    aliases = {one.name: build_alias_arn(one.resource_id) for one in functions}
    role = choose_scheduler_role(work, address, functions)
    wiring = Wiring(work, aliases, plan_wires(address, functions, role))
    kept = read_kept_state(address)
    former = decode_authorizers(kept.texts.get(AUTHORIZERS, ""))
    apis = ServiceApis(
        http=GatewayOrder(work, address, plan_gateway(address, functions, former)),
        rest=RestOrder(work, address, plan_rest_api(address, functions, former)),
        kept=kept,
    )
    scheduler = SchedulerRole(wiring, address, role, kept)
    return _Releasing(
        address=address,
        functions=functions,
        kept=kept,
        apis=apis,
        wiring=wiring,
        scheduler=scheduler,
    )


def _inspect_wires(releasing: _Releasing, cut: CutOver) -> WiredNow:
    """Read the event sources if the result of the last release is unknown. A new alias has none."""
    if releasing.kept.is_sure:
        return NOT_LOOKED
    wiring = releasing.wiring
    older = {name: alias for name, alias in wiring.aliases.items() if name not in cut.fresh}
    return fetch_wires(wiring.work, releasing.address, older)


def _keep_leaving(releasing: _Releasing) -> dict[str, str]:
    """Return the stored event sources of functions that the config no longer contains; they are
    deleted after this."""
    record = releasing.address.previous
    staying = releasing.wiring.aliases
    names = [one.name for one in record.functions if one.name not in staying] if record else []
    return releasing.kept.of_functions(names)


def _build_outputs(
    address: DeploymentAddress,
    endpoint: str,
    functions: Sequence[LiveFunction],
    urls: Mapping[str, str],
) -> Pairs:
    """Build the outputs for other services, equal for all versions."""
    outputs = {"url": endpoint, "region": address.region}
    for one in functions:
        below = build_function_endpoint(endpoint, one.triggers) or urls.get(one.name)
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
    delete_roles(work, address, functions)


def delete_service(
    work: Cloud1Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
) -> None:
    refuse_other_account(work, address)
    kept = read_kept_state(address)
    unwiring = plan_unwiring(work, address, functions, kept)
    remove_service_apis(work, address, kept)
    unwire_service(unwiring)
    _delete(work, address, functions)
    delete_roles(work, address, functions)
    drop_statements(work, address, kept)
    is_known = KEPT_SCHEDULER_ROLE in kept.texts
    if is_known or not kept.is_sure:
        drop_scheduler_role(work, address, is_known=is_known)


def _delete(
    work: Cloud1Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
) -> None:
    kept = read_kept_state(address)

    def delete(one: LiveFunction) -> None:
        name = one.resource_name or build_function_name(address, one.name)
        found = describe_function(work, name)
        if found is not None and is_foreign(address, one.name, found):
            work.scope.watch.hear(
                f"{one.name}: `{name}` now belongs to another owner and is not deleted"
            )
            return
        stop_function_scaling(work, one, kept)
        with ignore_codes(GONE):
            work.functions.delete_function(FunctionName=name)
        work.scope.watch.hear(f"{one.name}: deleted with all its versions")

    run_parallel(delete, functions, MAX_PARALLEL)
    delete_repositories(work, address, functions)


T = TypeVar("T")
FunctionWires: TypeAlias = Mapping[str, tuple[Wire, ...]]


class _Places(Struct, frozen=True):
    queues: Mapping[str, FoundQueue | None]
    buses: Mapping[str, bool]
    groups: Mapping[str, bool]
    buckets: Mapping[str, str | None]
    region: str


def _find_missing_buckets(
    work: Cloud1Work, address: DeploymentAddress, functions: FunctionWires
) -> tuple[str, ...]:
    """Return the buckets to create. Raises for everything else that is missing or unsuitable."""
    region = work.clients.of("lambda").meta.region_name
    wires = [wire for found in functions.values() for wire in found]
    places = _Places(
        _fetch_each((one.queue for one in wires if isinstance(one, QueueWire)), work, find_queue),
        _fetch_each((one.bus for one in wires if isinstance(one, RuleWire)), work, has_bus),
        _fetch_each(
            (one.group for one in wires if isinstance(one, ScheduleWire)), work, has_schedule_group
        ),
        _fetch_each(
            (one.bucket for one in wires if isinstance(one, BucketWire)), work, find_bucket_region
        ),
        region,
    )
    problems = [
        problem
        for name, found in functions.items()
        for wire in found
        for problem in _find_source_problems(
            name, wire, places, _read_recorded_timeout(address, name)
        )
    ]
    if problems:
        raise FabricError(*problems)
    return tuple(bucket for bucket, there in places.buckets.items() if there is None)


def _fetch_each(
    names: Iterable[str], work: Cloud1Work, look: Callable[[Cloud1Work, str], T]
) -> dict[str, T]:
    asked = sorted(set(names))
    return dict(
        zip(asked, run_parallel(lambda name: look(work, name), asked, MAX_PARALLEL), strict=True)
    )


def _find_source_problems(
    function: str, wire: Wire, places: _Places, timeout: int
) -> Iterator[Problem]:
    match wire:
        case QueueWire(queue=queue):
            yield from _find_queue_problems(function, wire, places.queues[queue], timeout)
        case RuleWire(bus=bus) if not places.buses[bus]:
            yield _missing_source_problem(function, f"bus `{bus}`")
        case ScheduleWire(group=group) if not places.groups[group]:
            yield _missing_source_problem(function, f"schedule group `{group}`")
        case BucketWire(bucket=bucket, is_existing=is_existing):
            there = places.buckets[bucket]
            if there is None and is_existing:
                yield _missing_source_problem(function, f"bucket `{bucket}`")
            elif there and there != places.region:
                yield _bucket_region_problem(function, bucket, there, places.region)
        case _:
            return


def _find_queue_problems(
    function: str, wire: QueueWire, found: FoundQueue | None, timeout: int
) -> Iterator[Problem]:
    queue = wire.queue
    if found is None or wire.arn not in ("", found.arn):
        yield _missing_source_problem(function, f"queue `{wire.arn or queue}`")
    elif found.hidden_for < timeout:
        message = (
            f"function `{function}` has a timeout of {timeout} s, and the visibility timeout "
            f"of the queue `{queue}` is only {found.hidden_for} s"
        )
        hint = (
            "increase the visibility timeout of the queue, or decrease the timeout of the function"
        )
        yield Problem("deploy/queue-timeout", message, hint)


def _bucket_region_problem(function: str, bucket: str, there: str, here: str) -> Problem:
    message = (
        f"function `{function}` is in {here}, and the bucket `{bucket}` of its trigger is in "
        f"{there}"
    )
    hint = "use a bucket in the region of the function"
    return Problem("deploy/other-region", message, hint)


def _missing_source_problem(function: str, what: str) -> Problem:
    message = f"function `{function}` has a trigger for the {what}, which does not exist"
    return Problem("deploy/missing-source", message, "create it, or correct its name or region")


def _read_recorded_timeout(address: DeploymentAddress, function: str) -> int:
    record = address.previous.function(function) if address.previous else None
    return read_timeout_seconds(dict(record.settings if record else ()))
