"""Runs that somebody holds: side by side in this process, each stopped without the others."""

import datetime
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from fabric.app.build import build
from fabric.app.deploy.deploy import DeployOptions, deploy
from fabric.app.request import Execution, Request
from fabric.app.running.cancellable_run import CancellableRun
from fabric.app.running.run_graph import generate_run_id
from fabric.engine.bus import Listener, RunInfo
from fabric.engine.listeners.journal import RunJournal
from fabric.model.names import Verb
from fabric.model.outcomes.built import BuildOutcome
from fabric.model.problems import ExitCode, StoppedError
from fabric.model.report import Report
from fabric.model.runs.events import ProblemFound, RunEnded, Stamped
from fabric.system.clock import SystemClock
from fabric.system.crypto.randomness import generate_token
from fabric.system.process.child_group import ChildGroup, forget
from fabric.system.process.process import run_child, start_child
from tests.support.until import until
from tests.support.use_cases import Workplace, workplace

CONFIG = """\
service: slow
provider: {name: cloud1-lambda, runtime: python3.11}
functions:
  - {name: one, entry: src/one.handler}
  - {name: two, entry: src/two.handler}
build: {command: [sh, -c, 'touch $HOME/begun; read word < $HOME/gate; cp src/*.py $FABRIC_OUT_DIR']}
"""
ONCE, TWICE = 1, 2


class StampedEvents:
    def __init__(self) -> None:
        self.heard: list[Stamped] = []

    def hear(self, event: Stamped) -> None:
        self.heard.append(event)

    def close(self) -> None:
        return


class GatedRun:
    """A build in a thread of its own; its first command waits at a gate."""

    def __init__(self, folder: Path, name: str, grace: float = 600.0) -> None:
        self.place = workplace(folder / name)
        self.place.write({"fabric.yml": CONFIG})
        self.events = StampedEvents()
        self.held = CancellableRun(name, grace)
        self.reports: list[Report] = []
        os.mkfifo(self.place.root / "gate")
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        with self.held.hold():
            request = Request(Verb.BUILD, "build", execution=Execution(concurrency="1"))
            self.reports.append(build(request, self.place.settings, self._listeners))

    def _listeners(self, info: RunInfo) -> Sequence[Listener]:
        return [self.events, RunJournal(info.home / "runs", info.run)]

    def starts(self) -> None:
        self._thread.start()

    def begins(self) -> None:
        self.starts()
        until((self.place.root / "begun").exists)

    def let_through(self) -> None:
        gate = os.open(self.place.root / "gate", os.O_RDWR)
        while self._thread.is_alive():
            os.write(gate, b"go\n")
            self._thread.join(0.02)
        os.close(gate)

    def reported(self) -> list[str]:
        """The codes of the problems in its events so far."""
        events = [one.event for one in tuple(self.events.heard)]
        return [one.problem.code for one in events if isinstance(one, ProblemFound)]

    def report(self) -> Report:
        self._thread.join(60)
        (report,) = self.reports
        return report


@pytest.fixture
def gated(tmp_path: Path) -> Callable[..., GatedRun]:
    return lambda name, grace=600.0: GatedRun(tmp_path, name, grace)


def codes(report: Report) -> list[str]:
    return [one.code for one in report.problems]


def counts(report: Report) -> tuple[int, int]:
    assert isinstance(report.outcome, BuildOutcome)
    return report.outcome.ran, report.outcome.failed


def test_a_run_has_the_id_that_it_was_given(gated: Callable[..., GatedRun]) -> None:
    run = gated("chosen")
    run.starts()
    run.let_through()
    assert run.report().exit_code is ExitCode.OK
    assert {one.run for one in run.events.heard} == {"chosen"}
    assert [one.seq for one in run.events.heard] == list(range(1, len(run.events.heard) + 1))
    assert (run.place.root / ".fabric/runs/chosen.jsonl").is_file()


def test_stopped_run_finishes_started_tasks(gated: Callable[..., GatedRun]) -> None:
    run = gated("asked")
    run.begins()
    run.held.stop()
    # The thread of the run reads the request, and reports what it waits for.
    until(lambda: "run/stopping" in run.reported())
    run.let_through()
    report = run.report()
    assert (report.exit_code, codes(report)[0]) == (ExitCode.INTERRUPTED, "run/interrupted")
    assert counts(report) == (1, 0)
    (end,) = (one.event for one in run.events.heard if isinstance(one.event, RunEnded))
    assert (end.status, run.events.heard[-1].event) == ("cancelled", end)


@pytest.mark.parametrize(("grace", "times"), [(600.0, TWICE), (0.0, ONCE)], ids=["again", "late"])
def test_killed_run_does_not_kill_children_of_other_runs(
    grace: float, times: int, gated: Callable[..., GatedRun]
) -> None:
    cut, other = gated("cut", grace), gated("other")
    for run in (cut, other):
        run.begins()
    for _ in range(times):
        cut.held.stop()
    report = cut.report()
    assert (report.exit_code, codes(report)[0]) == (ExitCode.INTERRUPTED, "run/interrupted")
    assert counts(report) == (0, 1)
    other.let_through()
    assert other.report().exit_code is ExitCode.OK
    assert counts(other.report()) == (2, 0)


@pytest.mark.parametrize("times", [ONCE, TWICE])
def test_a_wish_that_came_before_the_run_counts(times: int, gated: Callable[..., GatedRun]) -> None:
    run = gated("early")
    for _ in range(times):
        run.held.stop()
    run.starts()
    report = run.report()
    assert report.exit_code is ExitCode.INTERRUPTED
    assert counts(report) == (0, 0)
    assert not (run.place.root / "begun").exists()


def test_a_deploy_that_is_stopped_before_it_began_changes_nothing(tmp_path: Path) -> None:
    place, held = workplace(tmp_path), CancellableRun("stopped")
    held.stop()
    with held.hold():
        request = Request(Verb.DEPLOY, "deploy")
        report = deploy(request, place.settings, DeployOptions(), lambda _: [])
    assert (report.exit_code, codes(report)[0]) == (ExitCode.INTERRUPTED, "run/interrupted")
    assert deployed(place) == []


def deployed(place: Workplace) -> list[str]:
    return [one.service for one in place.releases().releases]


def test_cancel_after_the_run_ended_has_no_effect(tmp_path: Path) -> None:
    place, held = workplace(tmp_path), CancellableRun("over")
    with held.hold():
        place.build()
    held.cut()
    assert place.build(Verb.PACKAGE).ran == 2


def test_closed_group_accepts_no_children(tmp_path: Path) -> None:
    group = ChildGroup()
    group.close()
    with group.join(), pytest.raises(StoppedError):
        run_child(["true"], cwd=tmp_path)
    assert run_child(["true"], cwd=tmp_path).code == 0


def test_a_child_that_was_being_started_when_its_group_was_closed_ends(tmp_path: Path) -> None:
    child, group = start_child(["sleep", "600"], cwd=tmp_path), ChildGroup()
    group.close()
    group.add(child)
    assert child.wait(60) == -9
    forget(child)
    for stream in (child.stdin, child.stdout, child.stderr):
        assert stream is not None
        stream.close()


def test_runs_started_at_the_same_time_have_unique_ids() -> None:
    now = SystemClock().now()

    class StandingClock(SystemClock, frozen=True):
        def now(self) -> datetime.datetime:
            return now

    ids = {generate_run_id(StandingClock(), generate_token) for _ in range(100)}
    assert len(ids) == 100
