"""The single way to change records: claim, run, roll back if requested, and close.

Deploy, remove and rollback use it. In every case each record is released exactly once.
"""

import contextlib
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import copy_context
from pathlib import Path

from msgspec import Struct

from fabric.app.deploy.auto_rollback import RolledBack, group_outcomes, is_good, take_back
from fabric.app.deploy.closing import close_run
from fabric.app.deploy.purpose import (
    Deploying,
    Purpose,
    RecordEnding,
    compute_final_record,
    get_operation,
)
from fabric.app.deploy.scope import DeployScope, claim_of
from fabric.app.executor import open_requested_executor
from fabric.app.request import Request
from fabric.app.run_graph import (
    GraphJob,
    add_cache_warnings,
    add_run_warnings,
    announce_run,
    build_job,
    list_write_homes,
    run_ended,
    run_tasks,
)
from fabric.app.session import Session, SessionOptions
from fabric.app.shared_cache import NO_ACCESS, SharedAccess, use_of
from fabric.engine.bus import Bus
from fabric.engine.result import RunResult
from fabric.engine.run_info import MakeListeners
from fabric.engine.run_tools import StopSign
from fabric.model.events import ProblemFound
from fabric.model.outcomes.remote_use import RemoteUse
from fabric.model.problems import FabricError, Problem
from fabric.model.project_info import ProjectInfo
from fabric.model.records.record import Mode, Record, RecordRef
from fabric.model.task import Task
from fabric.model.task_inputs import RECORD_KINDS
from fabric.providers.core.contract import Prepared
from fabric.state.records.transaction import Claim
from fabric.tasks.deploy import get_record_ref


class RecordsChange(Struct, frozen=True):
    """A change to make: the records, the purpose and the task graph.

    On a full disk a removal `keeps` nothing.
    """

    scope: DeployScope
    purpose: Purpose
    work: GraphJob
    # The tasks that can change something.
    claimed: tuple[Task, ...]
    # The start time of the command.
    started_ns: int
    keeps: bool = True
    shared: SharedAccess = NO_ACCESS


class Changed(Struct, frozen=True):
    """The result of a change."""

    scope: DeployScope
    info: ProjectInfo
    result: RunResult
    # The records as written, or None for deleted ones.
    finals: Mapping[RecordRef, Record | None]
    # The records that were restored.
    rolled_back: frozenset[RecordRef]
    remote: RemoteUse | None = None


def change_records(
    request: Request, change: RecordsChange, make_listeners: MakeListeners
) -> Changed:
    scope, workspace = change.scope, Path(change.work.info.workspace)
    scope.transaction.expect(_list_claims(change))
    try:
        with (
            open_requested_executor(
                request, scope.settings, _build_session_options(request, change)
            ) as opening,
            Session(workspace, scope.settings, opening) as session,
        ):
            return _run_change(request, session, change, make_listeners)
    except BaseException:
        scope.transaction.abandon()
        raise


def _run_change(
    request: Request, session: Session, change: RecordsChange, make_listeners: MakeListeners
) -> Changed:
    scope, work = change.scope, change.work
    job = build_job(request, session, work)
    with announce_run(request, session, work, job, make_listeners) as bus:
        stop = StopSign()
        _watch_locks(scope, bus, stop)
        refs = {get_record_ref(one.inputs) for one in _select_record_tasks(change.claimed)}
        with _prepare_deployers(scope, refs):
            result = run_tasks(session, job, bus, stop)
        back = RolledBack(result, frozenset())
        if _must_roll_back(change.purpose, result):
            back = take_back(session, scope, bus, job.caps, result)
        ended = _compute_final_records(change, back)
        result, finals = close_run(session, scope, back.result, ended)
        bus.emit(run_ended(result))
    info = add_cache_warnings(work.info, work.graph, session)
    session.share(result)
    info = add_run_warnings(info, session, result)
    return Changed(
        scope=scope,
        info=info,
        result=result,
        finals=finals,
        rolled_back=back.refs,
        remote=use_of(change.shared),
    )


def _must_roll_back(purpose: Purpose, result: RunResult) -> bool:
    return isinstance(purpose, Deploying) and purpose.rollback and not result.ok


def _compute_final_records(
    change: RecordsChange, back: RolledBack
) -> dict[RecordRef, Record | None]:
    """Compute the final content of every record."""
    scope, outcomes = change.scope, group_outcomes(back.result)
    finals: dict[RecordRef, Record | None] = {}
    for locked in scope.transaction.locked_records:
        ref = locked.base.ref
        ok = is_good(outcomes.get(ref, ()))
        ending = RecordEnding(
            ok, ref in back.refs, scope.deployment_ids[ref], scope.tools.records.now()
        )
        finals[ref] = compute_final_record(change.purpose, locked, ending)
    return finals


def _watch_locks(scope: DeployScope, bus: Bus, stop: StopSign) -> None:
    def tell(text: str) -> None:
        bus.emit(ProblemFound("", "warning", Problem("lock/waiting", text)))

    scope.transaction.tell(tell, stop.go_on)


def _build_session_options(request: Request, change: RecordsChange) -> SessionOptions:
    homes = {Path(one.home) for one in change.scope.placements.values()}
    return SessionOptions(
        change.started_ns,
        use_cache=request.use_cache,
        strict=request.strict,
        homes=list_write_homes(change.work.info, change.work.graph) | homes,
        tools=change.scope.tools,
        keeps=change.keeps,
        shared=change.shared,
    )


def _list_claims(change: RecordsChange) -> Iterator[Claim]:
    """List the records of all tasks that can change something, each with its operation."""
    claimed: dict[RecordRef, list[Task]] = {}
    for task in _select_record_tasks(change.claimed):
        claimed.setdefault(get_record_ref(task.inputs), []).append(task)
    operation = get_operation(change.purpose)
    placements = change.scope.placements
    clock = change.scope.settings.clock
    rows = sorted(claimed.items())
    return (claim_of(placements[ref], operation, tasks, clock) for ref, tasks in rows)


def _select_record_tasks(tasks: Iterable[Task]) -> Iterator[Task]:
    return (task for task in tasks if task.kind in RECORD_KINDS)


@contextlib.contextmanager
def _prepare_deployers(scope: DeployScope, refs: Iterable[RecordRef]) -> Iterator[None]:
    """Load the deployers' libraries in the background. A failure is raised again at their first
    use."""
    real = sorted(ref for ref in refs if scope.placements[ref].mode == Mode.REAL)
    if not real:
        yield
        return
    thread = threading.Thread(target=copy_context().run, args=(_prepare, scope, real), daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _prepare(scope: DeployScope, refs: Sequence[RecordRef]) -> None:
    for ref in refs:
        with contextlib.suppress(FabricError):
            deployer = scope.tools.deployers.deployer(ref, Mode.REAL)
            if isinstance(deployer, Prepared):
                deployer.prepare(scope.tools.deployers.address(ref))
