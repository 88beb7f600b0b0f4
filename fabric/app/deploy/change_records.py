"""The single way to change records: claim, run, roll back if requested, and close.

Deploy, remove and rollback use it. In every case each record is released exactly once.
"""

import contextlib
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import copy_context
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.caching.shared_cache import use_of
from fabric.app.deploy.auto_rollback import (
    RolledBack,
    group_outcomes,
    has_failed_changes,
    is_good,
    take_back,
)
from fabric.app.deploy.closing import close_run
from fabric.app.deploy.preview_stages import mark_preview
from fabric.app.deploy.purpose import (
    Deploying,
    Purpose,
    RecordEnding,
    Removing,
    compute_final_record,
    get_operation,
)
from fabric.app.records.scope import DeployScope, claim_of
from fabric.app.running.run_graph import (
    GraphJob,
    add_cache_warnings,
    add_run_warnings,
    announce_run,
    build_job,
    list_write_homes,
    run_ended,
    run_tasks,
)
from fabric.app.session import Session, finish_uploads, open_for_changes
from fabric.engine.bus import Bus, MakeListeners
from fabric.engine.result import RunResult
from fabric.engine.run_tools import StopSign
from fabric.model.outcomes.built import RemoteUse
from fabric.model.problems import FabricError, Problem
from fabric.model.project_info import ProjectInfo
from fabric.model.records.record import Mode, Origin, Record, RecordRef
from fabric.model.runs.events import ProblemFound
from fabric.model.task import Task
from fabric.model.task_inputs import RECORD_KINDS
from fabric.providers.core.contract import Prepared
from fabric.state.records.transaction import Claim
from fabric.tasks.deploy_tools import get_record_ref


class RecordsChange(Struct, frozen=True):
    """A change to make: the records, the purpose and the task graph."""

    scope: DeployScope
    purpose: Purpose
    work: GraphJob
    # The tasks that can change something.
    claimed: tuple[Task, ...]


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
    session: Session, change: RecordsChange, make_listeners: MakeListeners
) -> Changed:
    scope = change.scope
    scope.transaction.expect(_list_claims(change))
    try:
        with open_for_changes(session, _list_homes(change)) as writing:
            return _run_change(writing, change, make_listeners)
    except BaseException:
        scope.transaction.abandon()
        raise


def _run_change(session: Session, change: RecordsChange, make_listeners: MakeListeners) -> Changed:
    scope, work = change.scope, change.work
    job = build_job(session, work)
    if _is_rolled_back_on_failure(change.purpose):
        job = replace(job, fail_fast=True)
    with announce_run(session, work, job, make_listeners) as bus:
        stop = StopSign()
        _watch_locks(scope, bus, stop)
        refs = {get_record_ref(one.inputs) for one in _select_record_tasks(change.claimed)}
        with _prepare_deployers(scope, refs):
            result = run_tasks(session, job, bus, stop)
        back = RolledBack(result, frozenset())
        if has_failed_changes(result) and _is_rolled_back_on_failure(change.purpose):
            back = take_back(session, scope, bus, job.caps, result)
        ended = _compute_final_records(change, back)
        result, finals = close_run(session, scope, back.result, ended)
        bus.emit(run_ended(result))
    info = add_cache_warnings(work.info, work.graph, session)
    finish_uploads(session, result)
    info = add_run_warnings(info, session, result)
    return Changed(
        scope=scope,
        info=info,
        result=result,
        finals=finals,
        rolled_back=back.refs,
        remote=use_of(session.shared),
    )


def _is_rolled_back_on_failure(purpose: Purpose) -> bool:
    return isinstance(purpose, Deploying) and purpose.rollback


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


def _list_homes(change: RecordsChange) -> frozenset[Path]:
    """List the directories that a change writes to."""
    homes = {Path(one.home) for one in change.scope.placements.values()}
    return list_write_homes(change.work.info, change.work.graph) | homes


def _list_claims(change: RecordsChange) -> Iterator[Claim]:
    """List the records of all tasks that can change something, each with its operation."""
    claimed: dict[RecordRef, list[Task]] = {}
    for task in _select_record_tasks(change.claimed):
        claimed.setdefault(get_record_ref(task.inputs), []).append(task)
    operation = get_operation(change.purpose)
    placements = change.scope.placements
    clock = change.scope.settings.clock
    rows = sorted(claimed.items())
    claims = (claim_of(placements[ref], operation, tasks, clock) for ref, tasks in rows)
    match change.purpose:
        case Deploying() as purpose:
            return (_mark_claim(change.scope, purpose, one) for one in claims)
        case Removing(chosen=chosen):
            return (refuse_deployed_since(one, chosen.get(one.ref)) for one in claims)
        case _:
            return claims


def refuse_deployed_since(claim: Claim, chosen: Record | None) -> Claim:
    """Refuse a removal of what another run has deployed after it was chosen."""
    if chosen is None:
        return claim

    def refuse(record: Record | None) -> Problem | None:
        if record and (record.updated_at, record.preview) != (chosen.updated_at, chosen.preview):
            message = f"another command has changed {claim.ref.title} in the meantime"
            hint = "nothing was removed: run the command again"
            return Problem("state/changed", message, hint, service=claim.ref.service)
        return claim.refuse(record)

    return replace(claim, refuse=refuse)


def _mark_claim(scope: DeployScope, purpose: Deploying, claim: Claim) -> Claim:
    record = scope.record(claim.ref)
    preview = mark_preview(purpose.preview, record.preview if record else None)
    return replace(claim, origin=purpose.origins.get(claim.ref, Origin()), preview=preview)


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
