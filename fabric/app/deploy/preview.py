"""The effect of a deploy: the graph with its removals, compared with the records."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.command import Command
from fabric.app.deploy.changes import compare_with_deployed, format_setting_changes
from fabric.app.deploy.orphans import warn_of_orphans
from fabric.app.deploy.resource_changes import (
    list_planned_stacks,
    list_planned_workflows,
    warn_of_left_stacks,
    warn_of_lost_data,
)
from fabric.app.preview import Preview, with_warnings
from fabric.app.project.compiled import Compiled
from fabric.app.project.files import build_client_environment
from fabric.app.project.placement import Placement
from fabric.app.records.known_records import parse_release_ref
from fabric.app.records.live_traces import import_shared_traces
from fabric.app.records.scope import DeployScope, ScopeOptions, open_deploy_scope
from fabric.app.running.run_graph import list_entry_files, plan_graph
from fabric.app.session import Session, SessionOptions, open_session
from fabric.config.rules.env_size import SHORT_ADDRESS, limit_of
from fabric.graph.compile import is_whole_service_deploy
from fabric.graph.decide import Action, Change
from fabric.graph.name_tasks import is_managing_dns
from fabric.graph.plan import Plan
from fabric.graph.taskgraph import TaskGraph
from fabric.graph.undo import plan_workflow_removal
from fabric.model.backends import BackendKind
from fabric.model.outcomes.planned import PlannedApi, PlannedService
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Mode, RecordRef
from fabric.model.task import Task
from fabric.model.task_id import build_task_id
from fabric.model.task_inputs import DeployInputs, ReleaseInputs, RemoveInputs, WorkflowInputs
from fabric.providers.core.contract import ApiComparer, PerFunctionEndpoints
from fabric.state.backends.registry import is_on_this_machine
from fabric.state.contract import build_state_key, build_traces_key
from fabric.state.dev_journal import build_journal_path
from fabric.state.records.unsure import build_unsure_path, build_unwritten_path
from fabric.state.records.wal import build_wal_path
from fabric.tasks.contract import Registry
from fabric.tasks.deploy import DeployKind
from fabric.tasks.deploy_tools import get_record_ref

_NAMED = 3
NO_KINDS: Registry = MappingProxyType({})


class OpenWork(Struct, frozen=True):
    """Compiled services with their open stores and records."""

    session: Session
    scope: DeployScope
    work: Compiled


@contextlib.contextmanager
def open_work(
    command: Command, work: Compiled, options: ScopeOptions, more: Registry = NO_KINDS
) -> Iterator[OpenWork]:
    """Open the stores and records of compiled services. Nothing is locked or written. `more` are
    further kinds of tasks."""
    workspace = Path(work.info.workspace)
    with open_deploy_scope(work.placements, command.settings, options) as scope:
        kinds = SessionOptions(kinds={**scope.kinds, **_open_checks(scope, work), **more})
        with open_session(command, workspace, kinds) as session:
            yield OpenWork(session, scope, work)


def _open_checks(scope: DeployScope, work: Compiled) -> Registry:
    """Return the kind of checks, which needs the modules of local calls."""
    if next(work.graph.numbers_of("check"), None) is None:
        return {}
    from fabric.app.deploy.check_calls import CheckCalls
    from fabric.tasks.check import CheckKind

    return {"check": CheckKind(CheckCalls(scope, Path(work.info.workspace)))}


def preview(opened: OpenWork, *, files: bool = False) -> Preview:
    """Plan a deploy and compare it with the deployed state. Takes no lock and changes nothing.

    With `files` all artifacts are fetched to this machine.
    """
    session, scope, work = opened.session, opened.scope, opened.work
    wider = with_removals(work, scope)
    if not files:
        session.runner.believe(import_shared_traces(session, wider.graph, scope))
    plan = plan_graph(session, wider.graph)
    entries = list_entry_files(session, plan)
    # What a name is to lead to hangs on records of other targets, too.
    has_names = is_managing_dns(wider.graph)
    is_local = all(one.is_own_folder for one in (*work.placements, *work.dependencies))
    return Preview(
        add_deployed_changes(wider, plan, scope),
        plan,
        entries,
        session.runner.elsewhere,
        wider.reads.sources | _list_state_files(scope) if is_local and not has_names else None,
    )


def _list_state_files(scope: DeployScope) -> frozenset[str]:
    """List the local files with state or locks, whether they exist or not."""
    found: set[str] = set()
    for ref, placement in {**scope.dependencies, **scope.placements}.items():
        home = Path(placement.home)
        record = scope.record(ref)
        keys = (build_state_key(ref), build_traces_key(ref))
        found |= {str(build_unwritten_path(home, ref)), str(build_unsure_path(home, ref))}
        found.add(str(build_journal_path(home, ref)))
        found |= {str(home / "state" / key) for key in keys}
        if record is not None:
            found.add(str(build_wal_path(home, ref, record.fence)))
    return frozenset(found)


def add_deployed_changes(work: Compiled, made: Plan, scope: DeployScope) -> Compiled:
    records = {ref: scope.record(ref) for ref in scope.placements}
    deploys = [task for task in made.graph.tasks if task.kind == "deploy"]
    code = DeployKind(scope.tools).code(deploys[0]) if deploys else ()
    large = find_oversized_functions(scope)
    rows = compare_with_deployed(work.services, made, records, code)
    rows = tuple(_add_warnings(row, large.get((row.service, row.provider), ())) for row in rows)
    of_all = tuple(problem for problems in large.values() for problem in problems)
    info = replace(work.info, warnings=(*work.info.warnings, *of_all))
    looked_at = {**{ref: scope.record(ref) for ref in scope.dependencies}, **records}
    serials = {ref.path: one.serial if one else 0 for ref, one in sorted(looked_at.items())}
    stacks = list_planned_stacks(made, scope)
    live = replace(
        work,
        info=info,
        services=rows,
        serials=serials,
        stacks=stacks,
        workflows=tuple(list_planned_workflows(made, scope)),
        apis=tuple(_list_planned_apis(made, scope)),
    )
    told = (
        *warn_of_orphans(scope),
        *warn_of_left_stacks(scope),
        *warn_of_lost_data(made, scope),
        *_find_unaddressed_dependencies(scope),
        *_warn_of_local_state(scope, made),
    )
    return with_warnings(live, told)


def _list_planned_apis(made: Plan, scope: DeployScope) -> Iterator[PlannedApi]:
    """List the changed settings of the APIs of deployed services."""
    for task, decision in zip(made.graph.tasks, made.decisions, strict=True):
        if not isinstance(task.inputs, ReleaseInputs) or decision.action is Action.SKIP:
            continue
        ref = get_record_ref(task.inputs)
        record, pair = scope.record(ref), None
        if record is None or not record.mode == scope.placements[ref].mode == Mode.REAL:
            continue
        with contextlib.suppress(FabricError):  # a provider without a deployer has its own check
            deployer = scope.tools.deployers.deployer(ref, Mode.REAL)
            address = replace(scope.tools.deployers.address(ref), previous=record)
            pair = deployer.compare_api(address) if isinstance(deployer, ApiComparer) else None
        if pair and pair[0] != pair[1]:
            fields = dict(format_setting_changes(Change("option", "http", *pair)))
            yield PlannedApi(ref.service, ref.provider, fields)


def find_oversized_functions(scope: DeployScope) -> dict[tuple[str, str], tuple[Problem, ...]]:
    """Find functions, by service and provider, whose environment would be too large.

    Assumes that upstream addresses stay unchanged.
    """
    found = {}
    for ref, placement in sorted(scope.placements.items()):
        size, waits = placement.taken
        limit = limit_of(placement.provider_id)
        if (
            waits
            and size + sum(count * _measure_address(one, ref, scope) for one, count in waits)
            > limit
        ):
            found[ref.service, ref.provider] = tuple(
                replace(one, message=f"{one.message}, with the URLs of its dependencies")
                for one in scope.values.too_large_now(ref)
            )
    return found


def _measure_address(release: str, taker: RecordRef, scope: DeployScope) -> int:
    record = scope.record(parse_release_ref(release, taker.stage))
    return len(record.endpoint.encode()) if record else SHORT_ADDRESS


def add_output_warnings(session: Session, seen: Preview) -> Preview:
    """Add the output warnings if nothing needs to run. Raises if a strict run would fail."""
    told = session.runner.warnings_of(seen.plan)
    info = replace(seen.work.info, warnings=(*seen.work.info.warnings, *told))
    return replace(seen, work=replace(seen.work, info=info))


def _add_warnings(row: PlannedService, told: tuple[Problem, ...]) -> PlannedService:
    return replace(row, warnings=(*row.warnings, *(one.message for one in told)))


def with_removals(work: Compiled, scope: DeployScope) -> Compiled:
    """Add a task for each deployed function that no config contains anymore."""
    if work.is_part:
        return work
    deployed = _group_deployed_functions(work.graph)
    releases = [task for task in work.graph.tasks if isinstance(task.inputs, ReleaseInputs)]
    removals = [
        task
        for release in releases
        for task in _list_removals(release, deployed, work.graph, scope)
    ]
    if not removals:
        return work
    from fabric.graph.build_graph import build_graph  # networkx: only when the graph changes

    return replace(work, graph=build_graph((*work.graph.tasks, *removals)))


def _group_deployed_functions(graph: TaskGraph) -> dict[RecordRef, set[str]]:
    """Group the functions that this run deploys by service."""
    found: dict[RecordRef, set[str]] = {}
    for one in graph.inputs_of("deploy"):
        if isinstance(one, DeployInputs):
            found.setdefault(get_record_ref(one), set()).update(
                name for name, _, _ in one.functions
            )
    return found


def _list_removals(
    release: Task, deployed: Mapping[RecordRef, set[str]], graph: TaskGraph, scope: DeployScope
) -> Iterable[Task]:
    inputs = release.inputs
    if not isinstance(inputs, ReleaseInputs):
        return
    workflows = tuple(_list_workflow_removals(release, graph, scope))
    yield from workflows
    # A run over a few functions leaves all others alone, wanted or not.
    ref = get_record_ref(inputs)
    record = scope.record(ref)
    if record is None or not deployed.get(ref, set()).issuperset(inputs.functions):
        return
    if is_whole_service_deploy(record.provider_id, record.mode):
        return  # its next deploy leaves them out
    for name in sorted({one.name for one in record.functions} - set(inputs.functions)):
        own = build_task_id("remove", inputs.service, name, inputs.provider)
        remove = RemoveInputs(inputs.service, name, inputs.provider, inputs.stage, record.mode)
        # Workflows call functions until they are deleted.
        yield Task(own, remove, (release.id, *(one.id for one in workflows)))


def _list_workflow_removals(release: Task, graph: TaskGraph, scope: DeployScope) -> Iterable[Task]:
    """List the recorded state machines that the config no longer contains."""
    ref = get_record_ref(release.inputs)
    record = scope.record(ref)
    machines = (one for one in graph.inputs_of("workflow") if isinstance(one, WorkflowInputs))
    wanted = {one.name for one in machines if get_record_ref(one) == ref}
    rows = record.workflows if record else ()
    return plan_workflow_removal(record, (release.id,), wanted) if record and rows else ()


def _warn_of_local_state(scope: DeployScope, plan: Plan) -> Iterator[Problem]:
    """Warn of local state at the first deploy that is not simulated, and in CI at each one."""
    if not plan.anything_to_do:
        return
    in_ci = scope.settings.in_ci
    local = [
        ref.service
        for ref, placement in sorted(scope.placements.items())
        if (in_ci or (placement.mode != Mode.SIMULATED and scope.record(ref) is None))
        and _is_local(scope, placement)
    ]
    services = list(dict.fromkeys(local))
    if services:
        own = services[0] if len(services) == 1 else ""
        yield _build_warning(services, in_ci=in_ci).of(own)


def _is_local(scope: DeployScope, placement: Placement) -> bool:
    env = build_client_environment(placement.env_place, scope.settings.env)
    return is_on_this_machine(BackendKind(placement.backend), dict(placement.settings), env)


def _build_warning(services: list[str], *, in_ci: bool) -> Problem:
    names = ", ".join(f"`{one}`" for one in services[:_NAMED])
    more = f" and {len(services) - _NAMED} more" if len(services) > _NAMED else ""
    danger = "this CI job deletes it at its end" if in_ci else "another machine could overwrite it"
    message = f"the state of {names}{more} is stored only on this machine: {danger}"
    hint = "set `backend` to sql or an object store, then run: fabric state migrate"
    return Problem("state/local-only", message, hint)


def _find_unaddressed_dependencies(scope: DeployScope) -> Iterator[Problem]:
    """Find dependencies on services whose functions have separate endpoints only."""
    apart = {ref: _list_separate_functions(scope, ref) for ref in sorted(scope.placements)}
    for taker in sorted(scope.placements) if any(apart.values()) else ():
        for upstream, variables in sorted(_list_upstream_variables(scope, taker).items()):
            names = apart.get(upstream, ())
            if names:
                message = (
                    f"{_join_names(variables)} of `{taker.service}` is not set: each public "
                    f"function of `{upstream.service}` has a separate URL "
                    f"({_join_names(names)})"
                )
                hint = "keep only one public function in a service that other services call"
                yield Problem("deploy/no-address", message, hint, service=taker.service)


def _list_upstream_variables(scope: DeployScope, taker: RecordRef) -> dict[RecordRef, list[str]]:
    """Map each upstream to the variables that it provides to this record."""
    unit = scope.work.units.get(taker)
    found: dict[RecordRef, list[str]] = {}
    for variable, release in unit.needs.outputs if unit else ():
        found.setdefault(parse_release_ref(release, taker.stage), []).append(variable)
    return found


def _join_names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _list_separate_functions(scope: DeployScope, ref: RecordRef) -> tuple[str, ...]:
    """List the functions of a service that has no endpoint for all of them."""
    if scope.placements[ref].mode != Mode.REAL:
        return ()
    deployer = scope.find_real_deployer(ref)
    if deployer is None or not isinstance(deployer, PerFunctionEndpoints):
        return ()
    names = tuple(deployer.public(scope.values.drafts(ref)))
    return names if len(names) > 1 else ()
