"""The daemon's runs: started by id, parallel, followed, stopped and recorded."""

import contextlib
import threading
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec.structs import replace

from fabric.app.running.cancellable_run import CancellableRun
from fabric.app.running.run_graph import generate_run_id
from fabric.app.settings import Settings
from fabric.daemon.runs import refusals
from fabric.daemon.runs.daemon_run import (
    STOPPED,
    DaemonRun,
    RunStatus,
    end_event,
    end_run,
    mark_run_lost,
)
from fabric.daemon.runs.event_lines import StreamItem, encode_stamped_event, read_events
from fabric.daemon.runs.run_events import RunEvents
from fabric.daemon.runs.run_files import RunFiles
from fabric.daemon.runs.run_queue import QueuedRun, RunLimits, RunQueue, RunWork
from fabric.daemon.runs.streams import RunStream, StreamPlaces
from fabric.engine.bus import Listener, RunInfo
from fabric.engine.listeners.journal import RunJournal
from fabric.engine.memory.file_index import let_settle
from fabric.model.problems import FabricError, Problem
from fabric.model.report import make_failure_report
from fabric.system.clock import read_file_time_ns, stamp

# Who is told of a bug: the run, and what was raised.
TellBug: TypeAlias = Callable[[str, BaseException], None]


class Runs:
    """Thread-safe. `folder` contains the records; only one process uses it at a time.

    A started run continues when its client disconnects; each has its own thread. Unfinished runs of
    an earlier process are lost, with unknown changes. `tell_lost` receives their stages before they
    are recorded as lost.
    """

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        tell_bug: TellBug,
        limits: RunLimits = RunLimits(),  # noqa: B008 - a frozen value
        tell_lost: Callable[[frozenset[str]], None] = lambda _stages: None,
    ) -> None:
        self._settings = settings
        self._tell_bug = tell_bug
        self._files = RunFiles(folder)
        self._queue = RunQueue(limits)
        self._stories: dict[str, RunEvents] = {}
        self._changed = threading.Condition()
        self._is_draining = False
        self.places = StreamPlaces()
        self._files.sweep()
        gone = tuple(self._files.list_lost_runs())
        tell_lost(frozenset(run.stage for run in gone))
        for run in gone:
            self._files.save(mark_run_lost(run, self._format_now()))
        self._files.prune(settings.clock.now(), frozenset())

    def begin(self, command: str, service: str, stage: str, work: RunWork) -> str:
        """Return the id of a new run; its record is on disk before it begins.

        Raises if this service and stage has a run, the queue is full, or the server is draining.
        """
        with self._changed:
            if self._is_draining:
                raise refusals.draining_error()
            self._queue.refuse(service, stage)
            one = self._queue_run(command, service, stage, work)
            self._queue.add(one)
            self._start()
        return one.run.id

    def list(self) -> tuple[DaemonRun, ...]:
        """List the runs, newest first, without results."""
        return tuple(self._files.heads())

    def get(self, run: str) -> DaemonRun:
        found = self._files.find(run)
        if found is None:
            raise refusals.unknown_run_error(run)
        return found

    def wait(self, run: str, seconds: float) -> DaemonRun:
        """Its record once it has ended, or as it is after this time."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue.find(run) is None, seconds)
        return self.get(run)

    def stop(self, run: str) -> DaemonRun:
        """Stop a run: the first call lets running tasks end, the second aborts.

        A queued run does not start. An ended run stays unchanged.
        """
        self._stop(run, CancellableRun.stop)
        return self.get(run)

    def stream(self, run: str, number: int = 0) -> RunStream:
        """Its events behind this one. Raises where too many streams are open."""
        with self._changed:
            story = self._stories.get(run)
        found = self.get(run)
        items = story.follow(number) if story else self._replay_run(found, number)
        return RunStream(items, self.places)

    def under_way(self) -> int:
        """How many are at work, or wait for their turn."""
        with self._changed:
            return len(self._queue)

    @property
    def is_draining(self) -> bool:
        return self._is_draining

    def drain(self) -> None:
        """Start no more runs except queued ones."""
        with self._changed:
            self._is_draining = True

    def ask_all_to_stop(self) -> None:
        self._stop_all(CancellableRun.stop)

    def cut_all(self) -> None:
        self._stop_all(CancellableRun.cut)

    def wait_for_all(self, seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: not len(self._queue), seconds)

    def close(self, seconds: float = 5.0) -> None:
        """Abort active runs and stop waiting. Runs that do not end in time are lost; the next
        process reports them."""
        self.drain()
        self.cut_all()
        self.wait_for_all(seconds)
        with self._changed:
            for story in self._stories.values():
                story.leave()

    def _queue_run(self, command: str, service: str, stage: str, work: RunWork) -> QueuedRun:
        run_id = generate_run_id(self._settings.clock, self._settings.chance)
        run = DaemonRun(
            id=run_id,
            command=command,
            service=service,
            stage=stage,
            status=RunStatus.RUNNING,
            started_at=self._format_now(),
        )
        self._files.save(run)
        events = self._stories[run_id] = RunEvents(self._files.events_path(run_id))
        return QueuedRun(run, work, CancellableRun(run_id), events)

    def _start(self) -> None:
        while (one := self._queue.start()) is not None:
            name = f"run-{one.run.id}"
            try:
                threading.Thread(
                    target=self._carry_out, args=(one,), name=name, daemon=True
                ).start()
            except RuntimeError as error:  # no more threads here
                self._end(one, self._fail_run(one, _convert_error(one, error)))

    def _carry_out(self, one: QueuedRun) -> None:
        self._end(one, self._end_run(one))

    def _end_run(self, one: QueuedRun) -> DaemonRun:
        try:
            # What was written within the clock tick of its start would be built again next time.
            let_settle(lambda: read_file_time_ns(self._settings.cwd))
            with one.held.hold():
                report = one.work(lambda info: _build_listeners(one, info))
            return end_run(one.run, report, self._format_now(), was_stopped=one.held.is_stopping)
        except FabricError as error:
            return self._fail_run(one, error)
        except KeyboardInterrupt:  # it was cut off, and some of it does not end by itself
            return self._fail_run(one, FabricError(STOPPED))
        except BaseException as error:  # noqa: BLE001: the boundary of a run
            with contextlib.suppress(Exception):  # a run ends, whoever cannot be told of it
                self._tell_bug(one.run.id, error)
            return self._fail_run(one, _convert_error(one, error))

    def _fail_run(self, one: QueuedRun, error: FabricError) -> DaemonRun:
        report = make_failure_report(one.run.command, error)
        return end_run(one.run, report, self._format_now(), was_stopped=one.held.is_stopping)

    def _format_now(self) -> str:
        return stamp(self._settings.clock)

    def _end(self, one: QueuedRun, run: DaemonRun) -> None:
        """End a run: record it, free its slot, then notify its followers."""
        self._files.save(run)
        with self._changed:
            self._queue.end(run.id)
            self._changed.notify_all()
            self._start()
        one.events.end(end_event(run, one.events.told_end))
        with self._changed:
            self._stories.pop(run.id, None)
            kept = frozenset(other.run.id for other in self._queue)
        self._files.prune(self._settings.clock.now(), kept)

    def _stop(self, run: str, how: Callable[[CancellableRun], None]) -> None:
        with self._changed:
            one = self._queue.find(run)
            if one is not None and self._queue.waits(run):
                self._end(one, self._fail_run(one, FabricError(STOPPED)))
            elif one is not None:
                how(one.held)

    def _stop_all(self, how: Callable[[CancellableRun], None]) -> None:
        with self._changed:
            # Those that wait first: none of them is to begin in place of one that ends.
            for one in reversed(tuple(self._queue)):
                self._stop(one.run.id, how)

    def _replay_run(self, run: DaemonRun, number: int) -> Generator[StreamItem, None, None]:
        """Replay an ended run. A lost or unwritten one gets an end event too."""
        at = 0
        for line in read_events(self._files.events_path(run.id)):
            at = line.number
            if at > number:
                yield line
            if line.is_last:
                return
        if run.status is not RunStatus.RUNNING:
            event = end_event(run, None)
            yield encode_stamped_event(replace(event, seq=max(at, number) + 1))


def _build_listeners(one: QueuedRun, info: RunInfo) -> Sequence[Listener]:
    if info.is_idle:
        return [one.events]
    return [one.events, RunJournal(info.home / "runs", info.run)]


def _convert_error(one: QueuedRun, error: BaseException) -> FabricError:
    problem = Problem(
        "internal/error",
        f"unexpected error in the run ({type(error).__name__})",
        hint=f"report this bug: the log of the daemon has the details of {one.run.id}",
    )
    return FabricError(problem)
