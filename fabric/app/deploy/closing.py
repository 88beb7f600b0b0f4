"""The end of a run that changed records: write receipts, then records, then clean up."""

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from fabric.app.records.live_traces import group_archive_tasks, keep_traces, prefer_run_traces
from fabric.app.records.scope import DeployScope
from fabric.app.session import Session
from fabric.engine.result import RunResult
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Lifecycle, Mode, Record, RecordRef
from fabric.state.contract import parse_record_key as ref_of_key
from fabric.state.records.archives import drop_archives, list_archives
from fabric.state.records.locked_record import LockedRecord
from fabric.state.records.receipts import drop_receipts, write_receipts
from fabric.state.records.replace import make_successor, put, read_before
from fabric.state.records.transaction import LockPolicy, lock_records, read_unlocked
from fabric.state.records.unsure import drop_note, keep_note, mark_unknown, read_unsure_names
from fabric.state.records.wal import build_wal_path, read_log, replay_log
from fabric.state.store import RecordStore
from fabric.system.parallel import run_for_each

Finals = dict[RecordRef, Record | None]


def close_run(
    session: Session, scope: DeployScope, result: RunResult, finals: Finals
) -> tuple[RunResult, Finals]:
    """Close the run. Returns its result with late problems, and the records as written."""
    closing = _Closing(scope, finals)
    closing.keep_traces(session, result)
    problems = closing.close()
    return replace(result, aftermath=(*result.aftermath, *problems)), closing.finals


class _Closing:
    def __init__(self, scope: DeployScope, finals: Finals) -> None:
        self.finals = finals
        self._scope = scope
        self._locked = scope.transaction.locked_records

    def close(self) -> list[Problem]:
        """Write receipts before records: once the state is final, no later run repairs receipts."""
        problems = [*run_for_each(self._locked, self._write_final_record)]
        problems += self._scope.transaction.close(lambda locked: self.finals[locked.base.ref])
        if not problems:
            for locked in self._locked:
                self._forget_archives(locked)
        elif any(locked.is_overtaken for locked in self._locked):
            problems += run_for_each(self._locked, self._record_uncertainty)
            problems += run_for_each(self._locked, self._correct_receipts)
        return problems

    def _record_uncertainty(self, locked: LockedRecord) -> None:
        if locked.is_overtaken:
            transaction = self._scope.transaction
            _record_unknown_functions(
                transaction.record_store(locked.base.ref), locked, transaction.around
            )

    def _correct_receipts(self, locked: LockedRecord) -> None:
        """Correct receipts whose record was not written because the lock was lost in between."""
        ref = locked.base.ref
        record = read_unlocked(self._scope.transaction.record_store(ref), ref)
        # Whoever is still at work on it writes them in the end.
        if record is not None and record.lifecycle in (Lifecycle.DEPLOYED, Lifecycle.FAILED):
            write_receipts(self._find_home(ref), record)

    def _write_final_record(self, locked: LockedRecord) -> None:
        try:
            locked.require_lock()
            self._write_receipts(locked.base.ref)
        except FabricError:
            self._mark_unfinished(locked)
            raise

    def keep_traces(self, session: Session, result: RunResult) -> None:
        """Store the build traces for other machines. A failure does not fail the deploy."""
        newest, makers = (
            prefer_run_traces(result, session.stores.trace_store),
            group_archive_tasks(result.graph),
        )

        def keep(locked: LockedRecord) -> None:
            ref, final = locked.base.ref, self.finals[locked.base.ref]
            if final is not None:
                locked.require_lock()
                record_store = self._scope.transaction.record_store(ref)
                keep_traces(newest, makers, record_store, final)

        run_for_each(self._locked, keep)

    def _mark_unfinished(self, locked: LockedRecord) -> None:
        """Mark the record as unfinished if its receipt failed, so that the next run repairs it."""
        ref, now = locked.base.ref, self._scope.tools.records.now()
        record = self.finals[ref] or locked.record
        ended = replace(record, pending=(), lifecycle=Lifecycle.FAILED, updated_at=now)
        deployment_id = ended.deployment_id or self._scope.deployment_ids[ref]
        self.finals[ref] = replace(ended, deployment_id=deployment_id)

    def _write_receipts(self, ref: RecordRef) -> None:
        final = self.finals[ref]
        if final is None:
            drop_receipts(self._find_home(ref), ref)
        elif final.functions or final.deployment_id:
            write_receipts(self._find_home(ref), final)

    def _find_home(self, ref: RecordRef) -> Path:
        return Path(self._scope.placements[ref].home)

    def _forget_archives(self, locked: LockedRecord) -> None:
        ref = locked.base.ref
        gone = list_archives(locked.base) - list_archives(self.finals[ref])
        if gone:
            record_store = self._scope.transaction.record_store(ref)
            drop_archives(record_store, ref, gone, self._list_referenced_archives(ref))

    def _list_referenced_archives(self, ref: RecordRef) -> frozenset[str]:
        """List the archives that other records of this directory still reference."""
        record_store = self._scope.transaction.record_store(ref)
        refs = (ref_of_key(key) for key in record_store.stores.state.list(""))
        records = (read_unlocked(record_store, one) for one in refs if one)
        return frozenset().union(*(list_archives(record) for record in records))


def _record_unknown_functions(
    record_store: RecordStore, locked_record: LockedRecord, around: LockPolicy
) -> None:
    """Write a local note first, then update the record under a new lock."""
    ref, names = locked_record.base.ref, locked_record.called
    if not names or locked_record.record.mode is Mode.SIMULATED:
        return
    keep_note(record_store.home, ref, names)
    # Whoever has taken the lock over is still at work, or done in a moment.
    patient = replace(around, terms=replace(around.terms, wait=around.terms.lease))
    try:
        with lock_records(record_store, {ref: 0}, "deploy", patient) as fences:
            _mark_called_functions(record_store, ref, fences[ref])
    except FabricError as error:
        raise FabricError(_local_only_problem(ref, names)) from error


def _mark_called_functions(record_store: RecordStore, ref: RecordRef, fence: int) -> None:
    before, names = read_before(record_store, ref), read_unsure_names(record_store.home, ref)
    if before.record is None:
        return
    # What a run on this machine had learned goes with it: its log is void under a new fence.
    known = replay_log(
        before.record, read_log(build_wal_path(record_store.home, ref, before.record.fence))
    )
    put(record_store, make_successor(mark_unknown(known, names), before, fence), before)
    drop_note(record_store.home, ref, names)


def _local_only_problem(ref: RecordRef, names: Sequence[str]) -> Problem:
    return Problem(
        "state/unknown-here",
        f"the deployed version of {', '.join(names)} of {ref.title} is unknown, and the "
        "state does not show this yet",
        hint="on this machine, run: fabric deploy",
    )
