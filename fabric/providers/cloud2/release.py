"""Release on Google Cloud: switch traffic and schedules to the deployed revisions."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud2.client import BUILDS_AT_ONCE, FUNCTIONS, RUN, build_cloud2_call
from fabric.providers.cloud2.deployed import fetch_deployed, fetch_either
from fabric.providers.cloud2.event_triggers import (
    EVENT_KINDS,
    EVENTS,
    DesiredEventTrigger,
    EventTarget,
    delete_event_trigger,
    list_own_event_triggers,
    plan_event_triggers,
    set_event_trigger,
)
from fabric.providers.cloud2.events import (
    EVERYBODY,
    ClockCall,
    DesiredJob,
    delete_job,
    format_account_member,
    is_open,
    let_call,
    list_all_jobs,
    list_own_jobs,
    plan_jobs,
    set_job,
)
from fabric.providers.cloud2.revisions import activate_version
from fabric.providers.cloud2.work import (
    CALLERS,
    REVISION,
    Cloud2Work,
    OperationRow,
    build_function_name,
    derive_clock_key,
    parse_revision,
    wait_for_operation,
)
from fabric.providers.core.contract import DeploymentAddress, LiveFunction, Released
from fabric.providers.core.errors import attach_error_spot
from fabric.providers.core.ownership import FunctionOwner, build_owner
from fabric.providers.core.release_state import ReleaseState, build_released, read_kept_texts
from fabric.providers.core.retry import run_parallel
from fabric.providers.core.schedules import (
    CLOCKS,
    ScheduleCalls,
    format_schedules,
    update_schedules,
)
from fabric.providers.core.triggers import (
    build_function_endpoint,
    collect_trigger_kinds,
)


class _ReleasePlan(Struct, frozen=True):
    """The desired state of a function: `callers` can call it, `clocks` are its schedules, `events`
    its Eventarc triggers."""

    live: LiveFunction
    callers: tuple[str, ...]
    clocks: dict[str, DesiredJob]
    events: dict[str, DesiredEventTrigger]

    @property
    def kept(self) -> dict[str, str]:
        name = self.live.name
        texts = {
            REVISION + name: parse_revision(self.live.resource_id),
            CALLERS + name: " ".join(self.callers),
            CLOCKS + name: format_schedules(self.clocks),
            EVENTS + name: format_schedules(self.events),
        }
        return {key: text for key, text in texts.items() if text}


def release_service(
    work: Cloud2Work, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> Released:
    # A function whose deploy failed has no revision, so no user reaches it.
    functions = [_with_endpoint(work, one) for one in functions if parse_revision(one.resource_id)]
    kept = read_kept_texts(address)

    def release(one: LiveFunction) -> dict[str, str]:
        with attach_error_spot(one.name), work.convert_errors(f"function `{one.name}`"):
            wanted = _plan_function(work, address, one)
            _cut_over(work, address, wanted, kept)
        return wanted.kept

    left = kept.of_leaving(address, frozenset(one.name for one in functions))
    for texts in run_parallel(release, functions, BUILDS_AT_ONCE):
        left |= texts
    return build_released(functions, left, lambda one: one.resource_id.partition("@")[0])


def _with_endpoint(work: Cloud2Work, one: LiveFunction) -> LiveFunction:
    """Add the endpoint of a function that the deploy found instead of building it."""
    if one.endpoint or "http" not in collect_trigger_kinds(one.triggers):
        return one
    row = fetch_deployed(work, one)
    uri = row.service_config.uri if row else ""
    return replace(one, endpoint=build_function_endpoint(uri, one.triggers))


def _plan_function(work: Cloud2Work, address: DeploymentAddress, one: LiveFunction) -> _ReleasePlan:
    """Plan a function. Schedules can call a public function without a permission."""
    kinds = collect_trigger_kinds(one.triggers)
    callers = (EVERYBODY,) if "http" in kinds else ()
    if not kinds & {"cron", *EVENT_KINDS}:
        return _ReleasePlan(one, callers, {}, {})
    row = fetch_deployed(work, one)
    served = row.service_config if row else None
    account = served.service_account_email if served else ""
    if served is None or not account:
        raise FabricError(_missing_account_problem(one.name))
    owner = build_owner(address, one.name)
    called = ClockCall(
        one.resource_name, owner, served.uri, account, derive_clock_key(address, owner)
    )
    target = EventTarget(one.resource_name, owner, account)
    return _ReleasePlan(
        one,
        callers or (format_account_member(account),),
        plan_jobs(called, one.triggers),
        plan_event_triggers(work, target, one.triggers),
    )


def _missing_account_problem(function: str) -> Problem:
    message = (
        f"function `{function}` has a schedule or receives events, and no service account can "
        "invoke it"
    )
    hint = "set `serviceAccount` below `extensions.cloud2-functions`"
    return Problem("provider/no-account", message, hint)


def _cut_over(
    work: Cloud2Work, address: DeploymentAddress, wanted: _ReleasePlan, kept: ReleaseState
) -> None:
    """Switch traffic. Revoke callers before a revision trusts schedule calls, and add new callers
    after it."""
    one = wanted.live
    name, ident = one.resource_name, parse_revision(one.resource_id)
    callers = kept.sure(CALLERS + one.name)
    before = set(kept.texts.get(CALLERS + one.name, "").split()) | {EVERYBODY}
    leaving = before - set(wanted.callers)
    if callers is None or leaving & set(callers.split()):
        let_call(work, name, (), leaving)
    if kept.sure(REVISION + one.name) != ident and activate_version(work, name, ident):
        work.watch.hear(f"{one.name}: revision {ident} receives all traffic")
    if callers is None or set(wanted.callers) - set(callers.split()):
        is_new = let_call(work, name, wanted.callers, leaving)
        if is_new and EVERYBODY in wanted.callers:
            _await_open(work, one)
    _update_clocks(work, address, wanted, kept)
    _update_event_triggers(work, address, wanted, kept)


def _await_open(work: Cloud2Work, one: LiveFunction) -> None:
    row = fetch_deployed(work, one)
    work.watch.hear(f"{one.name}: public invocation is allowed")
    if row is not None and not is_open(work, row.service_config.uri):
        work.watch.hear(
            f"{one.name}: calls are still rejected; the new permission takes one to two minutes"
        )


def _update_clocks(
    work: Cloud2Work, address: DeploymentAddress, wanted: _ReleasePlan, kept: ReleaseState
) -> None:
    name = wanted.live.name
    owner = build_owner(address, name)
    calls = ScheduleCalls[DesiredJob](
        "scheduler job",
        lambda: list_own_jobs(work, owner),
        lambda job: set_job(work, job, owner),
        lambda ident: delete_job(work, ident),
    )
    update_schedules(work, name, wanted.clocks, kept.sure(CLOCKS + name), calls)


def _update_event_triggers(
    work: Cloud2Work, address: DeploymentAddress, wanted: _ReleasePlan, kept: ReleaseState
) -> None:
    name = wanted.live.name
    owner = build_owner(address, name)
    is_expected = bool(wanted.events or kept.texts.get(EVENTS + name))
    calls = ScheduleCalls[DesiredEventTrigger](
        "Eventarc trigger",
        lambda: list_own_event_triggers(work, owner, is_expected=is_expected),
        lambda one: set_event_trigger(work, one, owner),
        lambda ident: delete_event_trigger(work, ident),
    )
    update_schedules(work, name, wanted.events, kept.sure(EVENTS + name), calls)


def delete_functions(
    work: Cloud2Work, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> None:
    """Delete functions, with their permissions, revisions and Cloud Run services."""
    kept = read_kept_texts(address)
    has_clocks = any(_can_have(kept, one, CLOCKS, _CRON) for one in functions)
    jobs = list_all_jobs(work) if has_clocks else []

    def remove(one: LiveFunction) -> None:
        owner = build_owner(address, one.name)
        with attach_error_spot(one.name), work.convert_errors(f"function `{one.name}`"):
            for job in jobs:
                if owner.is_in(job.description):
                    delete_job(work, job.name.rpartition("/")[2])
            if _can_have(kept, one, EVENTS, EVENT_KINDS):
                _delete_event_triggers(work, owner, kept)
            _delete(work, address, one)

    run_parallel(remove, functions, BUILDS_AT_ONCE)
    names = [one.name for one in functions if one.image]
    if names and work.open_registries is not None:
        from fabric.providers.core.images import delete_recorded_images

        delete_recorded_images(work.open_registries, address.previous, names, work.watch)


_CRON = frozenset(("cron",))


def _can_have(kept: ReleaseState, one: LiveFunction, stored: str, kinds: frozenset[str]) -> bool:
    """Return whether resources of these triggers can exist. Without stored ones, no permission on
    them is needed.

    After an interrupted release the answer is unknown, so they are read.
    """
    return kept.sure(stored + one.name) != "" or bool(kinds & collect_trigger_kinds(one.triggers))


def _delete_event_triggers(work: Cloud2Work, owner: FunctionOwner, kept: ReleaseState) -> None:
    is_expected = bool(kept.texts.get(EVENTS + owner.function))
    for ident in list_own_event_triggers(work, owner, is_expected=is_expected):
        delete_event_trigger(work, ident)


def _delete(work: Cloud2Work, address: DeploymentAddress, one: LiveFunction) -> None:
    name, owner = (
        one.resource_name or build_function_name(address, one.name),
        build_owner(address, one.name),
    )

    def act(work: Cloud2Work) -> bool:
        """Delete the function and return whether one of ours existed."""
        row = fetch_either(work, name)
        if row is None:
            return False
        if not row.is_of(owner):
            # Resources of others must not stop the removal of ours.
            work.watch.hear(
                f"the function `{name}` does not belong to {owner.title} and was not deleted"
            )
            return False
        interface = RUN if row.is_service else FUNCTIONS
        begun = work.api.once(
            build_cloud2_call(interface, "DELETE", f"/v2/{row.name}"), OperationRow
        )
        wait_for_operation(work, interface, begun, f"function `{one.name}`")
        return True

    if work.trying(act):
        work.watch.hear(f"{one.name}: deleted with all its revisions")
