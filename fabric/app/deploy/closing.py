"""The end of a run that changed records: write receipts, then records, then clean up."""

from pathlib import Path

from msgspec.structs import replace

from fabric.app.deploy.live_traces import keep_traces, makers_of, newest_of
from fabric.app.deploy.scope import DeployScope
from fabric.app.session import Session
from fabric.engine.result import RunResult
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Lifecycle, Record, RecordRef
from fabric.state.contract import ref_of as ref_of_key
from fabric.state.records.archives import archives_of, drop_archives
from fabric.state.records.locked_record import LockedRecord
from fabric.state.records.receipts import drop_receipts, write_receipts
from fabric.state.records.tell_unsure import tell_unsure
from fabric.state.records.transaction import peek
from fabric.system.parallel import for_each

Finals = dict[RecordRef, Record | None]


def closed(
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
        problems = [*for_each(self._locked, self._written)]
        problems += self._scope.transaction.close(lambda locked: self.finals[locked.base.ref])
        if not problems:
            for locked in self._locked:
                self._forget_archives(locked)
        elif any(locked.is_overtaken for locked in self._locked):
            problems += for_each(self._locked, self._unsure)
            problems += for_each(self._locked, self._true_receipts)
        return problems

    def _unsure(self, locked: LockedRecord) -> None:
        if locked.is_overtaken:
            transaction = self._scope.transaction
            tell_unsure(transaction.record_store(locked.base.ref), locked, transaction.around)

    def _true_receipts(self, locked: LockedRecord) -> None:
        """Correct receipts whose record was not written because the lock was lost in between."""
        ref = locked.base.ref
        record = peek(self._scope.transaction.record_store(ref), ref)
        # Whoever is still at work on it writes them in the end.
        if record is not None and record.lifecycle in (Lifecycle.DEPLOYED, Lifecycle.FAILED):
            write_receipts(self._home(ref), record)

    def _written(self, locked: LockedRecord) -> None:
        try:
            locked.require_lock()
            self._receipts(locked.base.ref)
        except FabricError:
            self._unfinished(locked)
            raise

    def keep_traces(self, session: Session, result: RunResult) -> None:
        """Store the build traces for other machines. A failure does not fail the deploy."""
        newest, makers = newest_of(result, session.stores.trace_store), makers_of(result.graph)

        def keep(locked: LockedRecord) -> None:
            ref, final = locked.base.ref, self.finals[locked.base.ref]
            if final is not None:
                locked.require_lock()
                record_store = self._scope.transaction.record_store(ref)
                keep_traces(newest, makers, record_store, final)

        for_each(self._locked, keep)

    def _unfinished(self, locked: LockedRecord) -> None:
        """Mark the record as unfinished if its receipt failed, so that the next run repairs it."""
        ref, now = locked.base.ref, self._scope.tools.records.now()
        record = self.finals[ref] or locked.record
        ended = replace(record, pending=(), lifecycle=Lifecycle.FAILED, updated_at=now)
        deployment_id = ended.deployment_id or self._scope.deployment_ids[ref]
        self.finals[ref] = replace(ended, deployment_id=deployment_id)

    def _receipts(self, ref: RecordRef) -> None:
        final = self.finals[ref]
        if final is None:
            drop_receipts(self._home(ref), ref)
        elif final.functions or final.deployment_id:
            write_receipts(self._home(ref), final)

    def _home(self, ref: RecordRef) -> Path:
        return Path(self._scope.placements[ref].home)

    def _forget_archives(self, locked: LockedRecord) -> None:
        ref = locked.base.ref
        gone = archives_of(locked.base) - archives_of(self.finals[ref])
        if gone:
            record_store = self._scope.transaction.record_store(ref)
            drop_archives(record_store, ref, gone, self._named_here(ref))

    def _named_here(self, ref: RecordRef) -> frozenset[str]:
        """List the archives that other records of this directory still reference."""
        record_store = self._scope.transaction.record_store(ref)
        refs = (ref_of_key(key) for key in record_store.stores.state.list(""))
        records = (peek(record_store, one) for one in refs if one)
        return frozenset().union(*(archives_of(record) for record in records))
