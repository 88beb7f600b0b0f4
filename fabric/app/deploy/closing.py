"""The end of a run that changed the world: taken back if it has to be, then every record closed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

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


@dataclass(slots=True)
class Closing:
    """`caps` are for what has to be taken back. `rolled_back` are records that are as before."""

    world: DeployScope
    caps: Caps
    rollback: bool = False
    removing: bool = False
    targets: Mapping[RecordRef, Deployment] = field(default_factory=dict)
    rolled_back: set[RecordRef] = field(default_factory=set)
    finals: dict[RecordRef, Record | None] = field(default_factory=dict)

    def finish(self, room: Session, bus: Bus, result: RunResult) -> RunResult:
        if self.rollback and result.interrupted:
            result = replace(result, aftermath=tuple(self._all_left()))
        elif self.rollback and not result.ok:
            result = self._take_back(room, bus, result)
        outcomes = outcomes_of(result)
        for page in self.world.book.pages:
            ok = _is_good(outcomes.get(page.base.ref, ()))
            self.finals[page.base.ref] = self._final(page, ok=ok)
        self._keep_traces(room, result)
        return replace(result, aftermath=(*result.aftermath, *self._closed()))

    def _final(self, page: LockedRecord, *, ok: bool) -> Record | None:
        ref, record = page.base.ref, page.record
        now = self.world.desk.now()
        if ref in self.rolled_back:
            return taken_back(page.base, record) if page.base.deployment_id else None
        if not ok and not _moved(page) and not page.base.deployment_id and not page.base.functions:
            return None  # nothing was ever called
        if not ok:
            return failed(page.base, record, self.world.deployment_ids[ref], now)
        if ref in self.targets:
            return gone_back(record, self.targets[ref], self.world.deployment_ids[ref], now)
        if self.removing:
            return None
        return deployed(page.base, record, self.world.deployment_ids[ref], now)

    def _take_back(self, room: Session, bus: Bus, result: RunResult) -> RunResult:
        """Exactly what this run changed, the newest change first.

        What an earlier failure left unsure cannot be put back as it was: that is said.
        """
        ran = outcomes_of(result)
        pages = self.world.book.pages
        unsure = {page.base.ref for page in pages if _is_unsure(page.base)}
        known = [page for page in pages if page.base.ref not in unsure and _moved(page)]
        known.sort(key=lambda page: _ended(ran.get(page.base.ref, ())), reverse=True)
        undone = self._put_back(room, bus, known)
        left = [one.base for one in known if one.base.ref not in self.rolled_back]
        left += [one.base for one in pages if one.base.ref in unsure & _tried(ran)]
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
        if any(_moved(page) for page in self.world.book.pages):
            yield Problem(
                "rollback/interrupted",
                "the run was interrupted, so nothing was taken back",
                hint="run it again to go on; `fabric rollback` takes a service back by itself",
            )

    def _put_back(
        self, room: Session, bus: Bus, pages: Sequence[LockedRecord]
    ) -> Sequence[RunResult]:
        """One after the other, each a run of its own: who cannot go back holds up nobody else."""
        targets = {page.base.ref: snapshot(page.base) for page in pages}
        self.world.desk.go_back_to(targets)
        undone: list[RunResult] = []
        for page in pages:
            ref = page.base.ref
            graph = undoing(page.record, targets[ref] if page.base.deployment_id else None)
            job = Job(graph, self.caps, (1.0,) * len(graph))
            undone.append(carried_out(Run(job, room.stepper, bus, SystemClock())))
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
            hint=f"when the cause is gone: fabric {verb} {self.world.desk.options(ref)}",
        )

    def _closed(self) -> list[Problem]:
        """Receipts first: once the state says that all is done, nobody comes back for them."""
        pages = self.world.book.pages
        problems = [*for_each(pages, self._written)]
        problems += self.world.book.close(lambda page: self.finals[page.base.ref])
        if not problems:
            for page in pages:
                self._forget_archives(page)
        elif any(one.code == LOST for one in problems):
            problems += for_each(pages, self._unsure)
            problems += for_each(pages, self._true_receipts)
        return problems

    def _unsure(self, page: LockedRecord) -> None:
        if page.is_overtaken:
            tell_unsure(self.world.book.shelf(page.base.ref), page, self.world.book.around)

    def _true_receipts(self, page: LockedRecord) -> None:
        """Who lost a lock between its receipt and its last write has told of what is not so."""
        ref = page.base.ref
        record = peek(self.world.book.shelf(ref), ref)
        # Whoever is still at work on it writes them in the end.
        if record is not None and record.lifecycle in (Lifecycle.DEPLOYED, Lifecycle.FAILED):
            write_receipts(Path(self.world.posts[ref].home), record)

    def _written(self, page: LockedRecord) -> None:
        try:
            page.require_lock()
            self._receipts(page.base.ref)
        except FabricError:
            self._unfinished(page)
            raise

    def _keep_traces(self, room: Session, result: RunResult) -> None:
        """A help for other machines, no more: the deploy does not fail for it."""
        ledger, makers = room.stores.ledger, makers_of(result.graph)

        def keep(page: LockedRecord) -> None:
            ref, final = page.base.ref, self.finals[page.base.ref]
            if final is not None:
                page.require_lock()
                keep_traces(ledger, makers, self.world.book.shelf(ref), final)

        for_each(self.world.book.pages, keep)

    def _unfinished(self, page: LockedRecord) -> None:
        """Its receipt is not written: the record says so, and the next run comes back for it."""
        ref, desk = page.base.ref, self.world.desk
        record = self.finals[ref] or page.record
        ended = replace(record, pending=(), lifecycle=Lifecycle.FAILED, updated_at=desk.now())
        deployment_id = ended.deployment_id or self.world.deployment_ids[ref]
        self.finals[ref] = replace(ended, deployment_id=deployment_id)

    def _receipts(self, ref: RecordRef) -> None:
        home, final = Path(self.world.posts[ref].home), self.finals[ref]
        if final is None:
            drop_receipts(home, ref)
        elif final.functions or final.deployment_id:
            write_receipts(home, final)

    def _forget_archives(self, page: LockedRecord) -> None:
        ref = page.base.ref
        gone = archives_of(page.base) - archives_of(self.finals[ref])
        if gone:
            drop_archives(self.world.book.shelf(ref), ref, gone, self._named_here(ref))

    def _named_here(self, ref: RecordRef) -> frozenset[str]:
        """Archives that other records of this folder still name."""
        shelf = self.world.book.shelf(ref)
        refs = (ref_of_key(key) for key in shelf.stores.state.list(""))
        records = (peek(shelf, one) for one in refs if one)
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


def _moved(page: LockedRecord) -> bool:
    """Whether anything that the provider knows of is not as this run found it."""
    base, record = page.base, page.record
    names = ("functions", "endpoint", "outputs", "release_key")
    return any(getattr(base, name) != getattr(record, name) for name in names)
