"""Which runs are at work and which wait for their turn: no threads, no time, no files."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from msgspec import Struct

from fabric.app.running.cancellable_run import CancellableRun
from fabric.daemon.runs import refusals
from fabric.daemon.runs.daemon_run import DaemonRun
from fabric.daemon.runs.run_events import RunEvents
from fabric.engine.bus import MakeListeners
from fabric.model.report import Report

# A use case with all that it wants but those who hear of it.
RunWork: TypeAlias = Callable[[MakeListeners], Report]


class RunLimits(Struct, frozen=True):
    at_once: int = 8
    waiting: int = 64


class QueuedRun(Struct, frozen=True):
    """A queued run with its work, its stop function and its events."""

    run: DaemonRun
    work: RunWork
    held: CancellableRun
    events: RunEvents


class RunQueue:
    """A FIFO queue with at most one run per service and stage."""

    def __init__(self, limits: RunLimits) -> None:
        self._limits = limits
        self._at_work: dict[str, QueuedRun] = {}
        self._waiting: dict[str, QueuedRun] = {}

    def __len__(self) -> int:
        return len(self._at_work) + len(self._waiting)

    def __iter__(self) -> Iterator[QueuedRun]:
        return iter((*self._at_work.values(), *self._waiting.values()))

    def find(self, run: str) -> QueuedRun | None:
        return self._at_work.get(run) or self._waiting.get(run)

    def waits(self, run: str) -> bool:
        return run in self._waiting

    def refuse(self, service: str, stage: str) -> None:
        """Raise if the queue is full. Stages that a file system cannot distinguish count as
        equal."""
        wanted = (service, stage.casefold())
        for one in self:
            if (one.run.service, one.run.stage.casefold()) == wanted:
                raise refusals.run_conflict_error(one.run)
        limits = self._limits
        if len(self) >= limits.at_once + limits.waiting:
            raise refusals.too_many_runs_error(limits.at_once, limits.waiting)

    def add(self, one: QueuedRun) -> None:
        self._waiting[one.run.id] = one

    def start(self) -> QueuedRun | None:
        """Start the next run if a slot is free."""
        if not self._waiting or len(self._at_work) >= self._limits.at_once:
            return None
        run = next(iter(self._waiting))
        self._at_work[run] = one = self._waiting.pop(run)
        return one

    def end(self, run: str) -> None:
        self._waiting.pop(run, None)
        self._at_work.pop(run, None)
