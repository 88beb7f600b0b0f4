"""The effect of a deploy: the graph with its removals, compared with the records."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec.structs import replace

from fabric.app.deploy.apart_addresses import no_addresses
from fabric.app.deploy.changes import live_rows
from fabric.app.deploy.known_records import not_deployed, ref_of_release
from fabric.app.deploy.live_traces import made_elsewhere
from fabric.app.deploy.local_state import local_state_warning
from fabric.app.deploy.orphans import left_behind
from fabric.app.deploy.scope import DeployScope
from fabric.app.preview import Preview, with_warnings
from fabric.app.project.compiled import Compiled
from fabric.app.run_graph import entries_of, plan_graph
from fabric.app.session import Session
from fabric.config.rules.env_size import SHORT_ADDRESS, limit_of
from fabric.graph.compile import deploys_whole_services
from fabric.graph.name_tasks import leads_names
from fabric.graph.plan import Plan
from fabric.graph.taskgraph import TaskGraph
from fabric.model.outcomes.planned import PlannedService
from fabric.model.problems import Problem
from fabric.model.records.record import Record, RecordRef
from fabric.model.task import Task
from fabric.model.task_id import task_id
from fabric.model.task_inputs import DeployInputs, ReleaseInputs, RemoveInputs
from fabric.state.contract import state_key, traces_key
from fabric.state.dev_journal import journal_path
from fabric.state.records.unsure import unsure_path
from fabric.state.records.unwritten import unwritten_path
from fabric.state.records.wal import wal_path
from fabric.tasks.deploy import DeployKind, ref_of


def preview(
    session: Session, work: Compiled, scope: DeployScope, *, files: bool = False
) -> Preview:
    """Plan a deploy and compare it with the deployed state. Takes no lock and changes nothing.

    With `files` all artifacts are fetched to this machine.
    """
    wider = with_removals(work, scope)
    if not files:
        session.runner.believe(made_elsewhere(session, wider.graph, scope))
    plan = plan_graph(session, wider.graph)
    entries = entries_of(session, plan)
    # What a name is to lead to hangs on records of other targets, too.
    has_names = leads_names(wider.graph)
    is_local = all(one.is_own_folder for one in (*work.placements, *work.dependencies))
    return Preview(
        against_live(wider, plan, scope),
        plan,
        entries,
        session.runner.elsewhere,
        wider.sources | _states(scope) if is_local and not has_names else None,
    )


def _states(scope: DeployScope) -> frozenset[str]:
    """List the local files with state or locks, whether they exist or not."""
    found: set[str] = set()
    for ref, placement in {**scope.dependencies, **scope.placements}.items():
        home = Path(placement.home)
        record = scope.record(ref)
        keys = (state_key(ref), traces_key(ref))
        found |= {str(unwritten_path(home, ref)), str(unsure_path(home, ref))}
        found.add(str(journal_path(home, ref)))
        found |= {str(home / "state" / key) for key in keys}
        if record is not None:
            found.add(str(wal_path(home, ref, record.fence)))
    return frozenset(found)


def against_live(work: Compiled, made: Plan, scope: DeployScope) -> Compiled:
    records = {ref: scope.record(ref) for ref in scope.placements}
    deploys = [task for task in made.graph.tasks if task.kind == "deploy"]
    code = DeployKind(scope.tools).code(deploys[0]) if deploys else ()
    large = grown_too_large(scope)
    rows = live_rows(work.services, made, records, code)
    rows = tuple(_warned(row, large.get((row.service, row.provider), ())) for row in rows)
    of_all = tuple(problem for problems in large.values() for problem in problems)
    info = replace(work.info, warnings=(*work.info.warnings, *of_all))
    looked_at = {**{ref: scope.record(ref) for ref in scope.dependencies}, **records}
    serials = {ref.path: one.serial if one else 0 for ref, one in sorted(looked_at.items())}
    live = replace(work, info=info, services=rows, serials=serials)
    told = (*left_behind(scope), *no_addresses(scope), *local_state_warning(scope, made))
    return with_warnings(live, told)


def missing_upstreams(graph: TaskGraph, scope: DeployScope) -> Iterator[Problem]:
    """List dependencies that are not part of the run and not deployed."""
    seen = set()
    releases = (one for one in graph.inputs_of("release") if isinstance(one, ReleaseInputs))
    for inputs in releases:
        for name in inputs.outside:
            upstream_service = ref_of_release(name, inputs.stage)
            if (inputs.service, upstream_service) not in seen and scope.record(
                upstream_service
            ) is None:
                yield not_deployed(inputs.service, upstream_service).of(inputs.service)
            seen.add((inputs.service, upstream_service))


def grown_too_large(scope: DeployScope) -> dict[tuple[str, str], tuple[Problem, ...]]:
    """Find functions, by service and provider, whose environment would be too large.

    Assumes that upstream addresses stay unchanged.
    """
    found = {}
    for ref, placement in sorted(scope.placements.items()):
        size, waits = placement.taken
        limit = limit_of(placement.provider_id)
        if waits and size + sum(count * _length(one, ref, scope) for one, count in waits) > limit:
            found[ref.service, ref.provider] = tuple(
                replace(one, message=f"{one.message}, with the URLs of its dependencies")
                for one in scope.values.too_large_now(ref)
            )
    return found


def _length(release: str, taker: RecordRef, scope: DeployScope) -> int:
    record = scope.record(ref_of_release(release, taker.stage))
    return len(record.endpoint.encode()) if record else SHORT_ADDRESS


def warned_of_outputs(session: Session, seen: Preview) -> Preview:
    """Add the output warnings if nothing needs to run. Raises if a strict run would fail."""
    told = session.runner.warnings_of(seen.plan)
    info = replace(seen.work.info, warnings=(*seen.work.info.warnings, *told))
    return replace(seen, work=replace(seen.work, info=info))


def _warned(row: PlannedService, told: tuple[Problem, ...]) -> PlannedService:
    return replace(row, warnings=(*row.warnings, *(one.message for one in told)))


def with_removals(work: Compiled, scope: DeployScope) -> Compiled:
    """Add a task for each deployed function that no config contains anymore."""
    if work.is_part:
        return work
    deployed = _deployed(work.graph)
    releases = [task for task in work.graph.tasks if isinstance(task.inputs, ReleaseInputs)]
    removals = [task for release in releases for task in _removals(release, deployed, scope)]
    if not removals:
        return work
    from fabric.graph.build_graph import build_graph  # networkx: only when the graph changes

    return replace(work, graph=build_graph((*work.graph.tasks, *removals)))


def _deployed(graph: TaskGraph) -> dict[RecordRef, set[str]]:
    """Group the functions that this run deploys by service."""
    found: dict[RecordRef, set[str]] = {}
    for one in graph.inputs_of("deploy"):
        if isinstance(one, DeployInputs):
            found.setdefault(ref_of(one), set()).update(name for name, _, _ in one.functions)
    return found


def _removals(
    release: Task, deployed: Mapping[RecordRef, set[str]], scope: DeployScope
) -> Iterable[Task]:
    inputs = release.inputs
    if not isinstance(inputs, ReleaseInputs):
        return
    # A run over a few functions leaves all others alone, wanted or not.
    ref = ref_of(inputs)
    record = scope.record(ref)
    if record is None or not deployed.get(ref, set()).issuperset(inputs.functions):
        return
    if deploys_whole_services(record.provider_id, record.mode):
        return  # its next deploy leaves them out
    for name in sorted(_gone(record, inputs)):
        own = task_id("remove", inputs.service, name, inputs.provider)
        remove = RemoveInputs(inputs.service, name, inputs.provider, inputs.stage, record.mode)
        yield Task(own, remove, (release.id,))


def _gone(record: Record, inputs: ReleaseInputs) -> set[str]:
    return {one.name for one in record.functions} - set(inputs.functions)
