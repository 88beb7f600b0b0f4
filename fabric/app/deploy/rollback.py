"""`rollback` and `releases`: earlier deployments and how to restore them."""

from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.checks.table import Candidate, Use, require, require_changes
from fabric.app.command import start_command
from fabric.app.deploy.change_records import RecordsChange, change_records
from fabric.app.deploy.production_guard import AskFor, confirm_stage, refuse_prompt
from fabric.app.deploy.purpose import GoingBack
from fabric.app.deploy.remove import build_project_info
from fabric.app.project.opened import Project
from fabric.app.project.place_services import build_placement
from fabric.app.project.project import open_project
from fabric.app.project.recorded import open_recorded
from fabric.app.project.stored_source import use_kept_config
from fabric.app.records.known_records import parse_release_ref
from fabric.app.records.live_records import find_records
from fabric.app.records.scope import DeployScope, ScopeOptions, open_deploy_scope
from fabric.app.request import Request
from fabric.app.running.run_graph import GraphJob
from fabric.app.running.run_problems import list_run_problems
from fabric.app.session import SessionOptions, open_session
from fabric.app.settings import Settings
from fabric.config.overview import UNSET
from fabric.engine.bus import MakeListeners
from fabric.graph.judge import release_output
from fabric.graph.taskgraph import TaskGraph
from fabric.graph.undo import StackUndo, build_undo_graph, list_restored_functions
from fabric.model.outcomes.deployed import PastDeployment, ReleasesOutcome, RollbackOutcome
from fabric.model.problems import FabricError, Problem, raise_if_any
from fabric.model.records.record import Deployment, FunctionRecord, Record, RecordRef
from fabric.model.report import Report, encode_problem
from fabric.model.task_id import is_kind
from fabric.model.text.spelling import find_nearest
from fabric.providers.core.contract import RestoreChecker
from fabric.state.records.archives import ArchiveMissingError, build_archive_path
from fabric.tasks.past_environment import list_past_environments
from fabric.tasks.release import find_triggers, has_hidden_triggers, unknown_trigger_problem
from fabric.tasks.restore import find_deleted_workflow

_TODAY = "add --with-current-environment to use the current values"


class RollbackOptions(Struct, frozen=True):
    """The deployment to restore; empty for the one before the current."""

    to: str = ""
    with_current_environment: bool = False
    lock_timeout: float = 0.0
    ask: AskFor = refuse_prompt
    # Whether CloudFormation stacks are restored too.
    with_stack: bool = False


def rollback(
    request: Request, settings: Settings, options: RollbackOptions, make_listeners: MakeListeners
) -> Report:
    project = _open_rollback_project(request, settings)
    with _open_scope(project, settings, options) as scope:
        require(Use.ROLLBACK, Candidate(scope=scope))
        records = {ref: record for ref in scope.placements if (record := scope.record(ref))}
        ref, target = select_target(records, options)
        require_changes(Use.ROLLBACK, Candidate(scope=scope, refs=frozenset({ref})))
        stacks = StackUndo.RESTORE if options.with_stack else StackUndo.KEEP
        graph = build_undo_graph(records[ref], target, stacks)
        without = _check_rollback(scope, records[ref], target, graph)
        confirm_stage(project.units, project.stage, settings, options.ask)
        scope.targets.go_back_to({ref: target})
        work = GraphJob(build_project_info(project), graph)
        change = RecordsChange(scope, GoingBack({ref: target}), work, tuple(graph.tasks))
        command, kinds = start_command(request, settings), SessionOptions(kinds=scope.kinds)
        with open_session(command, project.workspace, kinds) as session:
            changed = change_records(session, change, make_listeners)
    after = changed.finals.get(ref) or records[ref]
    outcome = _build_outcome(ref, records[ref], after, target)
    return Report(
        request.command,
        replace(outcome, warnings=tuple(map(encode_problem, without))),
        text=None if changed.result.ok else "",
        problems=list_run_problems(changed.result),
        warnings=(*project.warnings, *without),
        exit_code=changed.result.exit_code,
    )


def _open_scope(
    project: Project, settings: Settings, options: RollbackOptions
) -> AbstractContextManager[DeployScope]:
    placements = [build_placement(one, project.workspace, project.home) for one in project.units]
    beside = [build_placement(one, project.workspace) for one in project.dependencies]
    opening = ScopeOptions(
        lambda: project.units,
        lock_timeout=options.lock_timeout,
        dependencies=beside,
        takes_today=options.with_current_environment,
    )
    return open_deploy_scope(placements, settings, opening)


def _open_rollback_project(request: Request, settings: Settings) -> Project:
    """Open the project. A record with sealed values needs no current environment values."""
    where = use_kept_config(request.where, settings)
    try:
        return open_project(where, settings)
    except FabricError as error:
        is_unset = all(one.code in UNSET for one in error.problems)
        if settings.state_key.reveal() is None or not is_unset:
            raise
        return open_project(where.for_records(), settings)


def _check_rollback(
    scope: DeployScope, record: Record, target: Deployment, graph: TaskGraph
) -> tuple[Problem, ...]:
    """Check the rollback before any change, so that none is left half done.

    Warns of functions that come back incomplete.
    """
    names = list_restored_functions(graph)
    then = tuple(one for one in target.functions if one.name in names)
    looks = list_past_environments(scope.tools, record, then)
    lost = [
        _find_provider_problem(scope, record, target),
        find_deleted_workflow(record, target),
        *_find_lost_archives(scope, record.ref, then),
        *(one.problem for one in looks),
        *_find_unknown_triggers(scope, record.ref, target),
    ]
    problems = [problem for problem in lost if problem]
    raise_if_any(problems)
    made_again = {one.function for one in looks}
    moved = _find_moved_upstreams(
        scope, record.ref, (one for one in then if one.name in made_again)
    )
    return (*(one.left_out for one in looks if one.left_out), *moved)


def _find_unknown_triggers(
    scope: DeployScope, ref: RecordRef, target: Deployment
) -> Iterator[Problem]:
    """Find triggers whose secrets have changed since, because the state does not contain them."""
    for one in filter(has_hidden_triggers, target.functions):
        values = scope.tools.values.values(ref, one.name)
        if find_triggers(one, values, takes_today=scope.tools.takes_today) is None:
            can_take = find_triggers(one, values, takes_today=True) is not None
            hint = "deploy the commit of that deployment again"
            yield unknown_trigger_problem(one.name, _TODAY if can_take else hint)


def _build_outcome(
    ref: RecordRef, before: Record, after: Record, target: Deployment
) -> RollbackOutcome:
    return RollbackOutcome(
        ref.service,
        ref.stage,
        ref.provider,
        before=before.deployment_id,
        to=after.deployment_id,
        endpoint=after.endpoint,
        functions=tuple(one.name for one in after.functions),
        restored=target.deployment_id,
    )


def select_target(
    records: Mapping[RecordRef, Record], options: RollbackOptions
) -> tuple[RecordRef, Deployment]:
    known = [
        (ref, one)
        for ref, record in sorted(records.items())
        for one in record.history
        if one.deployment_id != record.deployment_id or record.lifecycle != "deployed"
    ]
    found = [row for row in known if not options.to or row[1].deployment_id == options.to]
    if found:
        return found[0]
    ids = [one.deployment_id for _, one in known]
    if options.to and any(record.deployment_id == options.to for record in records.values()):
        raise FabricError(
            Problem("rollback/current", f"`{options.to}` is already the deployed version")
        )
    guess = find_nearest(options.to, ids)
    hint = f"did you mean `{guess}`?" if guess else "run: fabric releases"
    message = f"unknown deployment `{options.to}`" if options.to else "no earlier deployment found"
    raise FabricError(Problem("rollback/unknown", message, hint=hint))


def report_releases(request: Request, settings: Settings) -> Report:
    """Report the current deployment and the deployments to roll back to, newest first."""
    project = open_recorded(request.where, settings)
    found = find_records(project, request.where.provider, settings).all_readable()
    rows = tuple(row for record in found.records.values() for row in list_releases(record))
    service = project.units[0].service if len(project.units) == 1 else ""
    return Report(request.command, ReleasesOutcome(service, rows), warnings=project.warnings)


def list_releases(record: Record) -> Iterator[PastDeployment]:
    for one in record.history:
        yield PastDeployment(
            service=record.ref.service,
            stage=record.ref.stage,
            provider=record.ref.provider,
            deployment_id=one.deployment_id,
            endpoint=one.endpoint,
            updated_at=one.updated_at,
            current=one.deployment_id == record.deployment_id,
            commit=one.origin.commit,
            branch=one.origin.branch,
        )


def _find_provider_problem(
    scope: DeployScope, record: Record, target: Deployment
) -> Problem | None:
    deployers = scope.tools.deployers
    deployer = deployers.deployer(record.ref, record.mode)
    if not isinstance(deployer, RestoreChecker):
        return None
    address = replace(deployers.address(record.ref), previous=record)
    return deployer.find_restore_problem(address, target)


def _find_lost_archives(
    scope: DeployScope, ref: RecordRef, functions: Iterable[FunctionRecord]
) -> Iterator[Problem]:
    """Find archives missing both locally and in the backend. Fetches remote-only archives."""
    for one in functions:
        try:
            scope.tools.archives.find_archive(ref, one.artifact_sha256)
        except ArchiveMissingError:
            yield _no_archive_left_problem(scope, ref, one)


def _no_archive_left_problem(scope: DeployScope, ref: RecordRef, one: FunctionRecord) -> Problem:
    record_store = scope.transaction.record_store(ref)
    places = [str(build_archive_path(record_store.home, one.artifact_sha256))]
    if not record_store.is_own_folder:
        places.append(record_store.stores.state.place)
    return Problem(
        "state/archive-missing",
        f"the archive of `{ref.service}/{one.name}` no longer exists: "
        f"{one.artifact_sha256[:12]} is not in {' or '.join(places)}",
        hint="restore the archive file, or deploy from the sources of that version",
    )


def _find_moved_upstreams(
    scope: DeployScope, ref: RecordRef, functions: Iterable[FunctionRecord]
) -> Iterator[Problem]:
    """Find upstreams whose address changed. A rollback of one service uses their current
    addresses."""
    found = tuple(functions)
    upstream = dict.fromkeys(pair for one in found for pair in one.upstream)
    moved = {
        parse_release_ref(name, ref.stage).service: None
        for name, digest in upstream
        if is_kind(name, "release")
        and _has_moved(scope, parse_release_ref(name, ref.stage), digest)
    }
    had = dict.fromkeys(name for one in found for name, _ in one.environment)
    names = [name for name in had if name.startswith(_list_variable_prefixes(scope, ref, moved))]
    if names:
        listed = ", ".join(f"`{name}`" for name in names)
        message = f"`{ref.service}` receives the current URLs of its dependencies: {listed}"
        services = ", ".join(f"`{one}`" for one in moved)
        hint = f"roll back {services} first to restore the previous URLs"
        yield Problem("rollback/upstream-moved", message, hint, service=ref.service)


def _has_moved(scope: DeployScope, upstream: RecordRef, digest: str) -> bool:
    """Compare output hashes. Without the old deployment in the history, a new hash means a new
    address."""
    if upstream not in (*scope.placements, *scope.dependencies):
        return True
    record = scope.record(upstream)
    if record is None or release_output(record).digest == digest:
        return False
    then = (one.endpoint for one in record.history if _find_archive_hash(record, one) == digest)
    return next(then, "") != record.endpoint


def _find_archive_hash(record: Record, one: Deployment) -> str:
    return release_output(replace(record, endpoint=one.endpoint, outputs=one.outputs)).digest


def _list_variable_prefixes(
    scope: DeployScope, ref: RecordRef, services: Container[str]
) -> tuple[str, ...]:
    """List the variable prefixes of these upstreams, regardless of their previous provider."""
    unit = scope.work.units.get(ref)
    names = [
        name.removeprefix("SERVICE_").removesuffix("_URL")
        for name, release in (unit.needs.outputs if unit else ())
        if name.startswith("SERVICE_") and parse_release_ref(release, ref.stage).service in services
    ]
    return tuple(text for one in names for text in (f"SERVICE_{one}_URL", f"FABRIC_OUTPUT_{one}_"))
