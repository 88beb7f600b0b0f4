"""Roll back a failed deploy: exactly its own changes.

First, previous versions are restored, each service after its dependencies, so that it receives
their current addresses. Then new resources are deleted, dependents first, so that no service has
the address of a deleted one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.deploy.purpose import has_moved
from fabric.app.records.scope import DeployScope
from fabric.app.running.signals import run_until_signaled
from fabric.app.session import Session
from fabric.engine.bus import Bus
from fabric.engine.result import GOOD, Outcome, RunResult, Status
from fabric.engine.run import Job, Run
from fabric.engine.schedule import Caps
from fabric.graph.undo import StackUndo, build_undo_graph
from fabric.model.problems import Problem
from fabric.model.records.endings import take_snapshot
from fabric.model.records.record import Record, RecordRef
from fabric.model.task_inputs import RECORD_KINDS, is_late_hook
from fabric.model.walks import sort_needs_first
from fabric.state.records.locked_record import LockedRecord
from fabric.tasks.deploy_tools import get_record_ref


class RolledBack(Struct, frozen=True):
    """The run result with rollback failures."""

    result: RunResult
    # The records that were restored.
    refs: frozenset[RecordRef]


def take_back(
    session: Session, scope: DeployScope, bus: Bus, caps: Caps, result: RunResult
) -> RolledBack:
    """Roll back. Functions left unknown by an earlier failure cannot be restored; this is
    reported."""
    locked = scope.transaction.locked_records
    if result.interrupted:
        aftermath = tuple(_warn_of_skipped_rollback(locked))
        return RolledBack(replace(result, aftermath=aftermath), frozenset())
    ran = group_outcomes(result)
    unsure = {one.base.ref for one in locked if _is_unsure(one.base)}
    known = [one for one in locked if one.base.ref not in unsure and has_moved(one)]
    undone = _put_back(session, scope, bus, caps, _sort_for_rollback(known, scope))
    refs = frozenset(ref for ref, one in undone.items() if is_good(one.outcomes))
    left = [one.base for one in known if one.base.ref not in refs]
    left += [one.base for one in locked if one.base.ref in unsure & _list_attempted_refs(ran)]
    # What fails for the same reason once more is not told once more.
    found = dict.fromkeys(problem for one in undone.values() for problem in one.problems)
    news = [problem for problem in found if problem not in result.problems]
    told = (_not_rolled_back_problem(base, scope) for base in left)
    interrupted = any(one.interrupted for one in undone.values())
    result = replace(result, interrupted=interrupted, aftermath=(*news, *told))
    return RolledBack(result, refs)


def has_failed_changes(result: RunResult) -> bool:
    """Return whether a run failed. Hooks after a deploy do not undo it."""
    rows = (outcome for task, outcome in result.rows if not is_late_hook(task.inputs))
    return result.interrupted or any(one.status not in GOOD for one in rows)


def _sort_for_rollback(locked: Sequence[LockedRecord], scope: DeployScope) -> list[LockedRecord]:
    services = dict.fromkeys(one.base.ref.service for one in locked)
    upstream = {unit.service: unit.needs.upstream for unit in scope.work.units.all()}
    order = tuple(sort_needs_first(services, upstream))
    upstream_first = sorted(locked, key=lambda one: order.index(one.base.ref.service))
    old = [one for one in upstream_first if one.base.deployment_id]
    new = [one for one in reversed(upstream_first) if not one.base.deployment_id]
    return [*old, *new]


def _put_back(
    session: Session, scope: DeployScope, bus: Bus, caps: Caps, locked: Sequence[LockedRecord]
) -> dict[RecordRef, RunResult]:
    """Restore one record after the other, each as its own run. A failure does not block the
    others."""
    targets = {one.base.ref: take_snapshot(one.base) for one in locked}
    scope.targets.go_back_to(targets)
    undone: dict[RecordRef, RunResult] = {}
    for one in locked:
        ref = one.base.ref
        target = targets[ref] if one.base.deployment_id else None
        graph = build_undo_graph(one.record, target, StackUndo.UNDO)
        job = Job(graph, caps, (1.0,) * len(graph))
        undone[ref] = run_until_signaled(Run(job, session.runner, bus, session.settings.clock))
        if undone[ref].interrupted:
            break
    return undone


def _warn_of_skipped_rollback(locked: Iterable[LockedRecord]) -> Iterator[Problem]:
    """Warn that an interrupted run is not rolled back."""
    if any(map(has_moved, locked)):
        yield Problem(
            "rollback/interrupted",
            "the run was interrupted, so nothing was rolled back",
            hint="run the command again to continue, or run: fabric rollback",
        )


def _not_rolled_back_problem(base: Record, scope: DeployScope) -> Problem:
    # A deployment that failed is in no history: the last good one can be gone back to.
    good = [one.deployment_id for one in base.history]
    target = base.deployment_id if base.deployment_id in good else next(iter(good), "")
    verb = f"rollback --to {target}" if target else "remove"
    return Problem(
        "rollback/incomplete",
        f"{base.ref.title} could not be rolled back",
        hint=f"fix the cause, then run: fabric {verb} {scope.work.options(base.ref)}",
    )


def group_outcomes(result: RunResult) -> dict[RecordRef, list[Outcome]]:
    """How the tasks that change the world ended, record by record."""
    found: dict[RecordRef, list[Outcome]] = {}
    for task, outcome in result.rows:
        if task.kind in RECORD_KINDS:
            found.setdefault(get_record_ref(task.inputs), []).append(outcome)
    return found


def is_good(outcomes: Iterable[Outcome]) -> bool:
    return all(outcome.status in GOOD for outcome in outcomes)


def _is_unsure(record: Record) -> bool:
    return any(not one.key for one in record.functions)


def _list_attempted_refs(ran: Mapping[RecordRef, Iterable[Outcome]]) -> frozenset[RecordRef]:
    """List the attempted records. A failure does not change records that were uncertain before."""
    begun = (Status.RAN, Status.FAILED)
    return frozenset(ref for ref, ends in ran.items() if any(one.status in begun for one in ends))
