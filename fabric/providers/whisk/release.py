"""Release on OpenWhisk: switch traffic and schedules to the deployed versions."""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.model.text.amounts import format_count
from fabric.providers.core.contract import DeploymentAddress, LiveFunction, Released
from fabric.providers.core.errors import attach_error_spot, ignore_missing
from fabric.providers.core.http_calls import ProviderCall, build_json_call
from fabric.providers.core.ownership import foreign_resource_problem
from fabric.providers.core.release_state import ReleaseState, build_released, read_kept_texts
from fabric.providers.core.retry import run_parallel
from fabric.providers.core.schedules import (
    CLOCKS,
    ScheduleCalls,
    format_schedules,
    update_schedules,
)
from fabric.providers.whisk.client import (
    ARCHIVE,
    MARK,
    MET_NOW,
    OWNER,
    format_action_owner,
    package_name,
    package_owner,
    read_version,
)
from fabric.providers.whisk.documents import MetPlan, build_active_document
from fabric.providers.whisk.functions import (
    ActionRow,
    PackageRow,
    build_action_endpoint,
    delete_package,
    fetch_own_package,
    is_of,
    list_versions,
    package_row,
)
from fabric.providers.whisk.work import WhiskClock, WhiskWork, plan_clocks


class _FunctionRelease(Struct, frozen=True):
    """The desired state of a function."""

    met: MetPlan
    clocks: dict[str, WhiskClock]

    @property
    def name(self) -> str:
        return self.met.live.name

    @property
    def kept(self) -> dict[str, str]:
        texts = {
            MET_NOW + self.name: self.met.text,
            CLOCKS + self.name: format_schedules(self.clocks),
        }
        return {key: text for key, text in texts.items() if text}

    def is_met(self, kept: ReleaseState) -> bool:
        return kept.sure(MET_NOW + self.name) == self.met.text


def release_service(
    work: WhiskWork,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
) -> Released:
    # What a deploy has failed to make has no version, and is met by nobody.
    functions = [
        replace(one, endpoint=build_action_endpoint(work, address, one))
        for one in functions
        if read_version(one.resource_id)
    ]
    kept = read_kept_texts(address)
    plans = [_plan(address, one) for one in functions]
    moved = [one for one in plans if not one.is_met(kept)]
    package = fetch_own_package(work, address) if moved else None

    def release(one: _FunctionRelease) -> dict[str, str]:
        with attach_error_spot(one.name), work.convert_errors(f"function `{one.name}`"):
            if one in moved:
                _cut_over(work, one, package)
            _update_clocks(work, address, one, kept)
        return one.kept

    left = kept.of_leaving(address, frozenset(one.name for one in functions))
    for texts in run_parallel(release, plans):
        left |= texts
    if moved:
        prune_versions(work, address, functions)
    return build_released(functions, left, lambda one: one.resource_name)


def _plan(address: DeploymentAddress, one: LiveFunction) -> _FunctionRelease:
    met = MetPlan(one, read_version(one.resource_id), format_action_owner(address, one.name))
    return _FunctionRelease(met, plan_clocks(package_name(address), one.name, one.triggers))


def _cut_over(work: WhiskWork, plan: _FunctionRelease, package: PackageRow | None) -> None:
    """Switch code, variables and callers in one call."""
    met = plan.met
    version = package.action(met.version) if package else None
    if package is None or version is None:
        raise FabricError(_missing_action_problem(met))
    there = package.action(plan.name)
    if there is not None and not is_of(there, met.owner):
        raise FabricError(foreign_resource_problem("action", there.name, met.owner))
    component = f"/{work.place.namespace}/{package.name}/{met.version}"
    document = build_active_document(
        met, component, version.read_annotation(ARCHIVE), version.read_annotation(MARK)
    )
    call = build_json_call("PUT", f"/actions/{package.name}/{plan.name}?overwrite=true", document)
    work.ask(call, object)
    work.watch.hear(f"{plan.name}: {met.version} receives all traffic")


def _missing_action_problem(met: MetPlan) -> Problem:
    message = f"the action `{met.version}` no longer exists"
    return Problem("provider/gone", message, "run: fabric deploy --force")


def _update_clocks(
    work: WhiskWork, address: DeploymentAddress, plan: _FunctionRelease, kept: ReleaseState
) -> None:
    clocks, package = work.provider.clocks, package_name(address)
    called = f"{package}/{plan.name}"
    calls = ScheduleCalls[WhiskClock](
        "trigger",
        lambda: [one for one, calls in clocks.there(work, package).items() if calls == called],
        lambda clock: clocks.set(work, clock),
        lambda ident: clocks.delete(work, ident),
    )
    update_schedules(work, plan.name, plan.clocks, kept.sure(CLOCKS + plan.name), calls)


def prune_versions(
    work: WhiskWork, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> None:
    """Delete stale versions, including those of runs without a release. A deleted function loses
    all its versions."""
    named = frozenset(_list_needed_versions(address, functions))
    package = fetch_own_package(work, address)
    stale = [
        one.name
        for function in functions
        for one in (
            list_versions(package, format_action_owner(address, function.name)) if package else ()
        )
        if one.name not in named
    ]
    run_parallel(lambda name: delete_action(work, package_name(address), name), stale)
    if stale:
        work.watch.hear(f"{address.service}: deleted {len(stale)} old versions")


def _list_needed_versions(
    address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> Iterator[str]:
    """Yield versions with current or previous traffic, and the rollback targets of records."""
    yield from (read_version(one.resource_id) for one in functions)
    texts = read_kept_texts(address).texts
    yield from (text.partition(" ")[0] for name, text in texts.items() if name.startswith(MET_NOW))
    record = address.previous
    if record is not None:
        rows = (*record.functions, *(one for past in record.history for one in past.functions))
        yield from (read_version(one.resource_id) for one in rows)


def delete_action(work: WhiskWork, package: str, name: str) -> None:
    with ignore_missing():
        work.ask(ProviderCall("DELETE", f"/actions/{package}/{name}"), object)


def delete_functions(
    work: WhiskWork,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
) -> None:
    """Delete these functions with all their versions."""
    owners = frozenset(format_action_owner(address, one.name) for one in functions)
    _delete_matching(work, address, owners.__contains__)


def delete_service(work: WhiskWork, address: DeploymentAddress) -> None:
    """Delete all resources of the service, and the package if it is empty then."""
    begin = f"{package_owner(address)}/"
    _delete_matching(work, address, lambda owner: owner.startswith(begin))


def _delete_matching(
    work: WhiskWork, address: DeploymentAddress, is_meant: Callable[[str], bool]
) -> None:
    clocks = work.provider.clocks
    package = package_row(work, address)
    name = package_name(address)
    own = {one.name: one.read_annotation(OWNER) for one in package.actions} if package else {}
    is_others = package is not None and not package.is_of(address)
    for ident, called in clocks.there(work, name).items():
        action = called.rpartition("/")[2]
        # In a package of others what it calls has to say itself that it is ours.
        owner = own.get(action, "") if is_others else format_action_owner(address, action)
        if is_meant(owner):
            clocks.delete(work, ident)
    if package is None:
        return
    going = [one for one in package.actions if is_meant(one.read_annotation(OWNER))]
    run_parallel(lambda one: delete_action(work, name, one.name), sorted(going, key=_rank_deletion))
    work.watch.hear(f"{name}: {format_count(len(going), 'action')} deleted")
    begin = f"{package_owner(address)}/"
    for one in sorted(package.actions, key=_rank_deletion):
        if not one.read_annotation(OWNER).startswith(begin):
            work.watch.hear(
                f"{name}: the action `{one.name}` does not belong to this service "
                "and was not deleted"
            )
    if is_others:
        # What was never ours keeps nobody from taking away what is.
        work.watch.hear(
            f"the package `{name}` does not belong to {package_owner(address)} and was not deleted"
        )
    elif len(going) == len(package.actions):
        delete_package(work, address)


def _rank_deletion(row: ActionRow) -> int:
    """Order active actions before versions."""
    return len(row.name)
