"""Runs with work of a test's own: it waits to be let go, and ends when it is asked to."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fabric.app.running.cancellable_run import get_held_run
from fabric.app.settings import Settings
from fabric.daemon.runs.event_lines import Beat, EventLine
from fabric.daemon.runs.run_queue import RunLimits
from fabric.daemon.runs.runs import Runs
from fabric.engine.bus import Bus, MakeListeners, RunInfo
from fabric.graph.taskgraph import TaskGraph
from fabric.model.outcomes.deployed import RemoveOutcome
from fabric.model.problems import ExitCode, FabricError, Problem
from fabric.model.report import Report, make_failure_report
from fabric.model.runs.events import RunEnded, RunStarted, TaskEnded, TaskStarted
from fabric.system.clock import Clock, SystemClock
from tests.support.until import SECONDS

NOTHING = TaskGraph((), (), (), ())
INTERRUPTED = FabricError(Problem("run/interrupted", "interrupted"))


def settings(folder: Path, clock: Clock | None = None) -> Settings:
    return Settings(
        env={},
        cwd=folder,
        cores=2,
        stdout_is_terminal=False,
        stderr_is_terminal=False,
        clock=clock or SystemClock(),
    )


@dataclass
class GatedWork:
    """Tells of one task, and waits in it."""

    folder: Path
    report: Report = field(default_factory=lambda: Report("remove", RemoveOutcome("dev", (), ())))
    error: BaseException | None = None
    begun: threading.Event = field(default_factory=threading.Event)
    may_end: threading.Event = field(default_factory=threading.Event)

    def __call__(self, make_listeners: MakeListeners) -> Report:
        held = get_held_run()
        assert held is not None
        info = RunInfo(held.id, self.folder / ".fabric", NOTHING, ())
        bus = Bus(held.id, SystemClock(), make_listeners(info))
        bus.emit(RunStarted("remove", 1, 1, "dev"))
        bus.emit(TaskStarted("remove:shop", "to be removed"))
        self.begun.set()
        while not self.may_end.wait(0.002):
            if held.is_stopping:
                return self._stopped(bus)
        if self.error is not None:
            raise self.error
        self._told(bus, "succeeded" if self.report.exit_code is ExitCode.OK else "failed")
        return self.report

    def _told(self, bus: Bus, status: str) -> None:
        bus.emit(TaskEnded("remove:shop", "ran", "", 5))
        bus.emit(RunEnded(status, 1, 0, 0, 0, 5))
        bus.close()

    def _stopped(self, bus: Bus) -> Report:
        self._told(bus, "cancelled")
        return make_failure_report("remove", INTERRUPTED)


@dataclass
class Keeper:
    """Runs in a folder; `bugs` are those that it was told of, `lost` the stages of lost runs."""

    folder: Path
    limits: RunLimits = field(default_factory=RunLimits)
    bugs: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    clock: Clock = field(default_factory=SystemClock)

    def __post_init__(self) -> None:
        around = settings(self.folder, self.clock)
        hear = self.lost.extend
        self.runs = Runs(self.folder / "runs", around, self._tell, self.limits, hear)

    def _tell(self, run: str, error: BaseException) -> None:
        self.bugs.append(f"{run}: {error}")

    def begin(self, service: str = "shop", work: GatedWork | None = None) -> str:
        return self.runs.begin("remove", service, "dev", work or self.ready())

    def gated(self) -> GatedWork:
        return GatedWork(self.folder)

    def ready(self, report: Report | None = None, error: BaseException | None = None) -> GatedWork:
        work = GatedWork(self.folder, error=error)
        work.report = report or work.report
        work.may_end.set()
        return work

    def status(self, run: str) -> str:
        return self.runs.wait(run, SECONDS).status.value

    def code(self, run: str) -> object:
        error = self.runs.wait(run, SECONDS).error
        return error and error["code"]


def numbers(items: Sequence[EventLine | Beat]) -> list[int]:
    return [one.number for one in items if isinstance(one, EventLine)]


def kinds(items: Sequence[EventLine | Beat]) -> list[str]:
    return [one.kind for one in items if isinstance(one, EventLine)]
