"""Release on Alibaba Cloud: switch traffic and schedules to the deployed versions."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.providers.cloud4.client import Cloud4Work
from fabric.providers.cloud4.events import (
    ROUTE_TRIGGER,
    FunctionSchedule,
    delete_trigger,
    list_triggers,
    open_public_route,
    plan_schedules,
    set_schedule,
)
from fabric.providers.cloud4.function_attributes import read_attributes, update_attributes
from fabric.providers.cloud4.functions import (
    BESIDE,
    MET_VERSION,
    ROUTE,
    fetch_function,
    require_ownership_tag,
)
from fabric.providers.cloud4.limits import set_concurrency
from fabric.providers.cloud4.settings import (
    NOT_MARKED,
    FunctionVersion,
    build_function_name,
    parse_version,
)
from fabric.providers.cloud4.versions import (
    activate_version,
    delete_alias,
    delete_version,
    list_aliases,
    list_versions,
)
from fabric.providers.core.contract import DeploymentAddress, LiveFunction, Released
from fabric.providers.core.errors import attach_error_spot
from fabric.providers.core.ownership import build_owner
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
    number_of,
)


class _ActivationPlan(Struct, frozen=True):
    """The desired state of a function; `kept` are the values stored by the last release."""

    live: LiveFunction
    schedules: dict[str, FunctionSchedule]
    kept: ReleaseState

    @property
    def version(self) -> FunctionVersion:
        return parse_version(self.live.resource_id)

    @property
    def is_open(self) -> bool:
        return "http" in collect_trigger_kinds(self.live.triggers)

    def sure(self, name: str) -> str | None:
        """Return a stored value, or None if it cannot be trusted, as for a re-created function."""
        met = parse_version(self.kept.texts.get(MET_VERSION + self.live.name, ""))
        if met.version and met.function != self.version.function:
            return None
        return self.kept.sure(name + self.live.name)

    @property
    def is_stale_beside(self) -> bool:
        """Whether the attributes need an update. A function without traffic has them from its
        deploy."""
        is_first = self.sure(MET_VERSION) == ""
        return not is_first and self.sure(BESIDE) != read_attributes(self.live).digest

    def build_notes(self, url: str) -> dict[str, str]:
        name = self.live.name
        texts = {
            MET_VERSION + name: self.live.resource_id,
            ROUTE + name: url,
            CLOCKS + name: format_schedules(self.schedules),
            BESIDE + name: read_attributes(self.live).digest,
        }
        return {key: text for key, text in texts.items() if text}


def release_service(
    work: Cloud4Work, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> Released:
    # What a deploy has failed to make has no version, and is met by nobody.
    functions = [one for one in functions if parse_version(one.resource_id).version]
    kept = read_kept_texts(address)
    plans = [_ActivationPlan(one, plan_schedules(one.triggers), kept) for one in functions]

    def release(plan: _ActivationPlan) -> tuple[LiveFunction, dict[str, str]]:
        name = plan.live.name
        with attach_error_spot(name), work.convert_errors(f"function `{name}`"):
            url = _cut_over(work, address, plan)
        endpoint = build_function_endpoint(url, plan.live.triggers)
        return replace(plan.live, endpoint=endpoint), plan.build_notes(url)

    left = kept.of_leaving(address, frozenset(one.name for one in functions))
    lives = []
    for live, texts in run_parallel(release, plans):
        lives.append(live)
        left |= texts
    return build_released(lives, left, lambda one: parse_version(one.resource_id).arn)


def _cut_over(work: Cloud4Work, address: DeploymentAddress, plan: _ActivationPlan) -> str:
    """Switch traffic and return the endpoint. Revoke public access before the switch, and grant it
    after."""
    one, name = plan.live, plan.live.resource_name
    route = plan.sure(ROUTE)
    if not plan.is_open and route != "":
        delete_trigger(work, name, ROUTE_TRIGGER)
    is_new = plan.sure(MET_VERSION) != one.resource_id
    if is_new and activate_version(work, name, plan.version.version):
        work.watch.hear(f"{one.name}: version {plan.version.version} receives all traffic")
    row = fetch_function(work, name) if plan.is_stale_beside else None
    if row is not None:
        update_attributes(work, name, row, read_attributes(one))
    url = (route or _open_function_route(work, one)) if plan.is_open else ""
    _update_clocks(work, plan)
    if is_new:
        prune_versions(work, address, one)
    return url


def _open_function_route(work: Cloud4Work, one: LiveFunction) -> str:
    number = number_of("http", one.triggers)
    with (
        attach_error_spot(one.name, number),
        work.convert_errors(f"function `{one.name}`, its address"),
    ):
        return open_public_route(work, one.resource_name)


def _update_clocks(work: Cloud4Work, plan: _ActivationPlan) -> None:
    name = plan.live.resource_name
    calls = ScheduleCalls[FunctionSchedule](
        "trigger",
        lambda: [one.trigger_name for one in list_triggers(work, name) if one.is_clock],
        lambda schedule: set_schedule(work, name, schedule),
        lambda ident: delete_trigger(work, name, ident),
    )
    update_schedules(work, plan.live.name, plan.schedules, plan.sure(CLOCKS), calls)


def prune_versions(work: Cloud4Work, address: DeploymentAddress, live: LiveFunction) -> None:
    """Delete stale versions, including those of runs without a release. Versions of other owners
    and of their aliases stay."""
    named = frozenset(_list_needed_versions(address, live))
    stale = [
        one.version_id
        for one in list_versions(work, live.resource_name)
        if one.mark != NOT_MARKED and one.version_id not in named
    ]
    if not stale:
        return
    met = {version for one in list_aliases(work, live.resource_name) for version in one.versions}
    going = [one for one in stale if one not in met]
    for version in going:
        delete_version(work, live.resource_name, version)
    if going:
        work.watch.hear(f"{live.name}: deleted {len(going)} old versions")


def _list_needed_versions(address: DeploymentAddress, live: LiveFunction) -> Iterator[str]:
    """Yield versions with current or previous traffic, and the rollback targets of records."""
    yield parse_version(live.resource_id).version
    yield parse_version(read_kept_texts(address).texts.get(MET_VERSION + live.name, "")).version
    record = address.previous
    if record is not None:
        rows = (*record.functions, *(one for past in record.history for one in past.functions))
        yield from (parse_version(one.resource_id).version for one in rows if one.name == live.name)


def delete_functions(
    work: Cloud4Work, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> None:
    """Delete functions with all their triggers, aliases and versions, regardless of their creator.
    A function cannot be deleted while it has any."""

    def remove(one: LiveFunction) -> None:
        with attach_error_spot(one.name), work.convert_errors(f"function `{one.name}`"):
            _delete(work, address, one)

    run_parallel(remove, functions)


def _delete(work: Cloud4Work, address: DeploymentAddress, one: LiveFunction) -> None:
    name, owner = (
        one.resource_name or build_function_name(address, one.name),
        build_owner(address, one.name),
    )
    row = fetch_function(work, name)
    if row is None:
        require_ownership_tag(address, one.name, work.place)
        return
    if not owner.is_in(row.description):
        # What was never ours keeps nobody from taking away what is.
        work.watch.hear(
            f"the function `{name}` does not belong to {owner.title} and was not deleted"
        )
        return
    for trigger in list(list_triggers(work, name)):
        delete_trigger(work, name, trigger.trigger_name)
    for alias in list(list_aliases(work, name)):
        delete_alias(work, name, alias.alias_name)
    for version in list(list_versions(work, name)):
        delete_version(work, name, version.version_id)
    set_concurrency(work, name, None)
    work.delete("DeleteFunction", name)
    work.watch.hear(f"{one.name}: deleted with all its versions")
