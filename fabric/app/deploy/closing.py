"""The end of a run that changed the world: taken back if it has to be, then every record closed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from fabric.app.deploy.live_traces import keep_traces, makers_of
from fabric.app.deploy.scope import DeployScope
from fabric.app.session import Session
from fabric.app.signals import carried_out
from fabric.engine.bus import Bus
from fabric.engine.result import GOOD, Outcome, RunResult, Status
from fabric.engine.run import Job, Run
from fabric.engine.schedule import Caps
from fabric.graph.undo import undoing
from fabric.model.problems import FabricError, Problem
from fabric.model.records.endings import deployed, failed, gone_back, snapshot, taken_back
from fabric.model.records.record import Deployment, Lifecycle, Record, RecordRef
from fabric.model.task import RECORD_KINDS
from fabric.state.contract import ref_of as ref_of_key
from fabric.state.locks.leases import LOST
from fabric.state.records.archives import archives_of, drop_archives
from fabric.state.records.locked_record import LockedRecord
from fabric.state.records.receipts import drop_receipts, write_receipts
from fabric.state.records.tell_unsure import tell_unsure
from fabric.state.records.transaction import peek
from fabric.system.clock import SystemClock
from fabric.system.parallel import for_each
from fabric.tasks.deploy import ref_of


class Closing(Struct):
    """`caps` are for what has to be taken back. `rolled_back` are records that are as before."""

    scope: DeployScope
    caps: Caps
    rollback: bool = False
    removing: bool = False
    targets: Mapping[RecordRef, Deployment] = field(default_factory=dict)
    rolled_back: set[RecordRef] = field(default_factory=set)
    finals: dict[RecordRef, Record | None] = field(default_factory=dict)

    def finish(self, session: Session, bus: Bus, result: RunResult) -> RunResult:
        if self.rollback and result.interrupted:
            result = replace(result, aftermath=tuple(self._all_left()))
        elif self.rollback and not result.ok:
            result = self._take_back(session, bus, result)
        outcomes = outcomes_of(result)
        for locked_record in self.scope.transaction.locked_records:
            ok = _is_good(outcomes.get(locked_record.base.ref, ()))
            self.finals[locked_record.base.ref] = self._final(locked_record, ok=ok)
        self._keep_traces(session, result)
        return replace(result, aftermath=(*result.aftermath, *self._closed()))

    def _final(self, locked_record: LockedRecord, *, ok: bool) -> Record | None:
        ref, record = locked_record.base.ref, locked_record.record
        now = self.scope.tools.now()
        if ref in self.rolled_back:
            return (
                taken_back(locked_record.base, record) if locked_record.base.deployment_id else None
            )
        if (
            not ok
            and not _moved(locked_record)
            and not locked_record.base.deployment_id
            and not locked_record.base.functions
        ):
            return None  # nothing was ever called
        if not ok:
            return failed(locked_record.base, record, self.scope.deployment_ids[ref], now)
        if ref in self.targets:
            return gone_back(record, self.targets[ref], self.scope.deployment_ids[ref], now)
        if self.removing:
            return None
        return deployed(locked_record.base, record, self.scope.deployment_ids[ref], now)

    def _take_back(self, session: Session, bus: Bus, result: RunResult) -> RunResult:
        """Exactly what this run changed, the newest change first.

        What an earlier failure left unsure cannot be put back as it was: that is said.
        """
        ran = outcomes_of(result)
        locked_records = self.scope.transaction.locked_records
        unsure = {
            locked_record.base.ref
            for locked_record in locked_records
            if _is_unsure(locked_record.base)
        }
        known = [
            locked_record
            for locked_record in locked_records
            if locked_record.base.ref not in unsure and _moved(locked_record)
        ]
        known.sort(
            key=lambda locked_record: _ended(ran.get(locked_record.base.ref, ())), reverse=True
        )
        undone = self._put_back(session, bus, known)
        left = [one.base for one in known if one.base.ref not in self.rolled_back]
        left += [one.base for one in locked_records if one.base.ref in unsure & _tried(ran)]
        # What fails for the same reason once more is not told once more.
        found = dict.fromkeys(problem for one in undone for problem in one.problems)
        news = [problem for problem in found if problem not in result.problems]
        return replace(
            result,
            interrupted=any(one.interrupted for one in undone),
            aftermath=(*news, *map(self._not_taken_back, left)),
        )

    def _all_left(self) -> Iterator[Problem]:
        """Who interrupts wants an end, no way back: it is said, where there would be one."""
        if any(_moved(locked_record) for locked_record in self.scope.transaction.locked_records):
            yield Problem(
                "rollback/interrupted",
                "the run was interrupted, so nothing was taken back",
                hint="run it again to go on; `fabric rollback` takes a service back by itself",
            )

    def _put_back(
        self, session: Session, bus: Bus, locked_records: Sequence[LockedRecord]
    ) -> Sequence[RunResult]:
        """One after the other, each a run of its own: who cannot go back holds up nobody else."""
        targets = {
            locked_record.base.ref: snapshot(locked_record.base) for locked_record in locked_records
        }
        self.scope.tools.go_back_to(targets)
        undone: list[RunResult] = []
        for locked_record in locked_records:
            ref = locked_record.base.ref
            graph = undoing(
                locked_record.record, targets[ref] if locked_record.base.deployment_id else None
            )
            job = Job(graph, self.caps, (1.0,) * len(graph))
            undone.append(carried_out(Run(job, session.runner, bus, SystemClock())))
            if _is_good(undone[-1].outcomes):
                self.rolled_back.add(ref)
            if undone[-1].interrupted:
                break
        return undone

    def _not_taken_back(self, base: Record) -> Problem:
        ref = base.ref
        # A deployment that failed is in no history: the last good one can be gone back to.
        good = [one.deployment_id for one in base.history]
        target = base.deployment_id if base.deployment_id in good else next(iter(good), "")
        verb = f"rollback --to {target}" if target else "remove"
        return Problem(
            "rollback/incomplete",
            f"{ref.title} could not be put back as it was",
            hint=f"when the cause is gone: fabric {verb} {self.scope.tools.options(ref)}",
        )

    def _closed(self) -> list[Problem]:
        """Receipts first: once the state says that all is done, nobody comes back for them."""
        locked_records = self.scope.transaction.locked_records
        problems = [*for_each(locked_records, self._written)]
        problems += self.scope.transaction.close(
            lambda locked_record: self.finals[locked_record.base.ref]
        )
        if not problems:
            for locked_record in locked_records:
                self._forget_archives(locked_record)
        elif any(one.code == LOST for one in problems):
            problems += for_each(locked_records, self._unsure)
            problems += for_each(locked_records, self._true_receipts)
        return problems

    def _unsure(self, locked_record: LockedRecord) -> None:
        if locked_record.is_overtaken:
            tell_unsure(
                self.scope.transaction.record_store(locked_record.base.ref),
                locked_record,
                self.scope.transaction.around,
            )

    def _true_receipts(self, locked_record: LockedRecord) -> None:
        """Who lost a lock between its receipt and its last write has told of what is not so."""
        ref = locked_record.base.ref
        record = peek(self.scope.transaction.record_store(ref), ref)
        # Whoever is still at work on it writes them in the end.
        if record is not None and record.lifecycle in (Lifecycle.DEPLOYED, Lifecycle.FAILED):
            write_receipts(Path(self.scope.placements[ref].home), record)

    def _written(self, locked_record: LockedRecord) -> None:
        try:
            locked_record.require_lock()
            self._receipts(locked_record.base.ref)
        except FabricError:
            self._unfinished(locked_record)
            raise

    def _keep_traces(self, session: Session, result: RunResult) -> None:
        """A help for other machines, no more: the deploy does not fail for it."""
        trace_store, makers = session.stores.trace_store, makers_of(result.graph)

        def keep(locked_record: LockedRecord) -> None:
            ref, final = locked_record.base.ref, self.finals[locked_record.base.ref]
            if final is not None:
                locked_record.require_lock()
                keep_traces(trace_store, makers, self.scope.transaction.record_store(ref), final)

        for_each(self.scope.transaction.locked_records, keep)

    def _unfinished(self, locked_record: LockedRecord) -> None:
        """Its receipt is not written: the record says so, and the next run comes back for it."""
        ref, tools = locked_record.base.ref, self.scope.tools
        record = self.finals[ref] or locked_record.record
        ended = replace(record, pending=(), lifecycle=Lifecycle.FAILED, updated_at=tools.now())
        deployment_id = ended.deployment_id or self.scope.deployment_ids[ref]
        self.finals[ref] = replace(ended, deployment_id=deployment_id)

    def _receipts(self, ref: RecordRef) -> None:
        home, final = Path(self.scope.placements[ref].home), self.finals[ref]
        if final is None:
            drop_receipts(home, ref)
        elif final.functions or final.deployment_id:
            write_receipts(home, final)

    def _forget_archives(self, locked_record: LockedRecord) -> None:
        ref = locked_record.base.ref
        gone = archives_of(locked_record.base) - archives_of(self.finals[ref])
        if gone:
            drop_archives(
                self.scope.transaction.record_store(ref), ref, gone, self._named_here(ref)
            )

    def _named_here(self, ref: RecordRef) -> frozenset[str]:
        """Archives that other records of this folder still name."""
        record_store = self.scope.transaction.record_store(ref)
        refs = (ref_of_key(key) for key in record_store.stores.state.list(""))
        records = (peek(record_store, one) for one in refs if one)
        return frozenset().union(*(archives_of(record) for record in records))


def outcomes_of(result: RunResult) -> dict[RecordRef, list[Outcome]]:
    """How the tasks that change the world ended, record by record."""
    found: dict[RecordRef, list[Outcome]] = {}
    for task, outcome in zip(result.graph.tasks, result.outcomes, strict=True):
        if task.kind in RECORD_KINDS:
            found.setdefault(ref_of(task.inputs), []).append(outcome)
    return found


def _is_good(outcomes: Iterable[Outcome]) -> bool:
    return all(outcome.status in GOOD for outcome in outcomes)


def _ended(outcomes: Iterable[Outcome]) -> float:
    return max((one.started + one.ms / 1000 for one in outcomes), default=0.0)


def _is_unsure(record: Record) -> bool:
    return any(not one.key for one in record.functions)


def _tried(ran: Mapping[RecordRef, Iterable[Outcome]]) -> frozenset[RecordRef]:
    """One more failure moves nothing in a record that was unsure already."""
    begun = (Status.RAN, Status.FAILED)
    return frozenset(ref for ref, ends in ran.items() if any(one.status in begun for one in ends))


def _moved(locked_record: LockedRecord) -> bool:
    """Whether anything that the provider knows of is not as this run found it."""
    base, record = locked_record.base, locked_record.record
    names = ("functions", "endpoint", "outputs", "release_key")
    return any(getattr(base, name) != getattr(record, name) for name in names)
