"""The engine on small text tasks: what runs, what is skipped, what survives damage."""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.engine.bus import Bus
from fabric.engine.memory.blobs import PREFIX, Blobs
from fabric.engine.memory.memo import NoMemo
from fabric.engine.result import Status
from fabric.engine.run import Job, Run
from fabric.engine.schedule import Caps
from fabric.engine.task_runner import TaskRunner
from fabric.graph.build_graph import build_graph
from fabric.graph.decide import Action, Decision
from fabric.graph.plan import Known
from fabric.model.hashing import hash_bytes
from fabric.model.problems import ExitCode, FabricError, Problem
from fabric.model.runs.events import Event, Stamped, TaskEnded, TaskStarted
from fabric.model.task import Output, Task
from fabric.model.task_id import TaskId
from fabric.tasks.contract import TaskResult, TaskTools
from tests.support.fakes import Bench, JoinInputs, JoinKind, LateClock, join


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path)
    made.write(a="one ", b="two ")
    return made


CHAIN = (join("left", "a"), join("right", "b"), join("both", needs=("left", "right")))


def test_the_second_run_runs_nothing(bench: Bench) -> None:
    assert bench.run(*CHAIN).count(Status.RAN) == 3
    again = bench.run(*CHAIN)
    assert bench.kind.ran == []
    assert again.count(Status.SKIPPED) == 3


def test_only_tasks_affected_by_an_edit_run(bench: Bench) -> None:
    bench.run(*CHAIN)
    bench.write(a="other ")
    bench.run(*CHAIN)
    assert bench.kind.ran == ["join:left", "join:both"]
    assert (bench.root / "out" / "both.txt").read_text() == "other two "


def test_an_equal_output_stops_the_wave(bench: Bench) -> None:
    bench.run(*CHAIN)
    bench.write(a="one # only a comment")
    bench.run(*CHAIN)
    assert bench.kind.ran == ["join:left"]


def test_the_reason_names_the_file_that_changed(bench: Bench) -> None:
    bench.run(*CHAIN)
    bench.write(a="other ")
    bench.run(*CHAIN)
    reasons = {e.task: e.reason for e in bench.heard.events if isinstance(e, TaskStarted)}
    assert reasons == {
        "join:left": "a changed (1 of 1 inputs)",
        "join:both": "join:left result changed",
    }


def test_going_back_to_an_older_state_restores_the_right_bytes(bench: Bench) -> None:
    bench.run(*CHAIN)
    bench.write(a="other ")
    bench.run(*CHAIN)
    bench.write(a="one ")
    bench.run(*CHAIN)
    assert bench.kind.ran == []
    assert (bench.root / "out" / "both.txt").read_text() == "one two "


@pytest.mark.parametrize("how", ["edited", "deleted"])
def test_modified_output_is_restored(bench: Bench, how: str) -> None:
    bench.run(*CHAIN)
    shown = bench.root / "out" / "both.txt"
    shown.unlink()
    if how == "edited":
        shown.write_text("something else")
    bench.run(*CHAIN)
    assert bench.kind.ran == []
    assert shown.read_text() == "one two "


def test_a_damaged_and_needed_blob_is_made_again(bench: Bench) -> None:
    bench.write(a="x" * 100_000)
    bench.run(*CHAIN)
    for blob in (bench.root / ".fabric" / "cache" / "blobs").glob("*/*"):
        blob.write_bytes(b"damage" + blob.read_bytes()[6:])
    bench.write(b="new ")
    result = bench.run(*CHAIN)
    assert result.ok
    assert (bench.root / "out" / "both.txt").read_text() == "x" * 100_000 + "new "


def test_a_lost_cache_only_costs_a_run(bench: Bench) -> None:
    bench.run(*CHAIN)
    (bench.root / ".fabric" / "cache" / "memo" / "cache.db").write_bytes(b"not a database" * 99)
    for name in ("cache.db-wal", "cache.db-shm"):
        (bench.root / ".fabric" / "cache" / "memo" / name).unlink(missing_ok=True)
    result = bench.run(*CHAIN)
    assert result.ok
    assert len(bench.kind.ran) == 3


def test_another_code_version_runs_everything(bench: Bench) -> None:
    bench.run(*CHAIN)
    bench.kind = JoinKind(version="2")
    bench.run(*CHAIN)
    reasons = {e.reason for e in bench.heard.events if isinstance(e, TaskStarted)}
    assert "join version changed" in reasons
    assert len(bench.kind.ran) == 3


def test_an_option_is_part_of_the_key(bench: Bench) -> None:
    bench.run(join("left", "a"))
    bench.run(join("left", "a", upper=True))
    started = [e for e in bench.heard.events if isinstance(e, TaskStarted)]
    assert started == [TaskStarted("join:left", "setting upper changed")]


def test_failure_blocks_only_dependent_tasks(bench: Bench) -> None:
    bench.write(a="fail")
    result = bench.run(*CHAIN)
    status = dict(zip(result.graph.ids, (one.status for one in result.outcomes), strict=True))
    assert status == {
        "join:left": Status.FAILED,
        "join:right": Status.RAN,
        "join:both": Status.BLOCKED,
    }
    assert result.exit_code is ExitCode.PARTIAL
    ended = {e.task: e.reason for e in bench.heard.events if isinstance(e, TaskEnded)}
    assert ended["join:both"] == "depends on join:left, which did not succeed"


def test_fail_fast_starts_nothing_more(bench: Bench) -> None:
    bench.write(a="fail")
    tasks = [join("left", "a"), *(join(f"n{number}", "b") for number in range(5))]
    result = bench.run(*tasks, width=1, fail_fast=True)
    assert bench.kind.ran == ["join:left"]
    assert result.count(Status.CANCELLED) == 5


def test_a_failed_task_is_tried_again(bench: Bench) -> None:
    bench.write(a="fail")
    bench.run(*CHAIN)
    bench.run(*CHAIN)
    assert bench.kind.ran == ["join:left"]


def test_without_the_cache_everything_runs(bench: Bench) -> None:
    bench.run(*CHAIN)
    bench.use_cache = False
    bench.run(*CHAIN)
    assert len(bench.kind.ran) == 3


def test_an_unexpected_error_fails_its_task_only(bench: Bench) -> None:
    result = bench.run(join("left", "missing"), join("right", "b"))
    assert [one.status for one in result.outcomes] == [Status.FAILED, Status.RAN]
    assert result.problems[0].code == "internal/error"


class HangingKind(JoinKind):
    """A task that does not end by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.may_end = threading.Event(), threading.Event()

    def run(self, task: Task, upstream: Mapping[TaskId, Output], shop: TaskTools) -> TaskResult:
        self.begun.set()
        self.may_end.wait()
        return super().run(task, upstream, shop)


class CutKind(HangingKind):
    """A task whose child is killed."""

    def run(self, task: Task, upstream: Mapping[TaskId, Output], shop: TaskTools) -> TaskResult:
        super().run(task, upstream, shop)
        raise FabricError(Problem("deploy/command-failed", "was terminated by signal 9"))


def hanging(bench: Bench, kind: HangingKind, grace: float) -> Run:
    bench.kind = kind
    graph, clock = build_graph([join("left", "a"), join("right", "b")]), LateClock()
    runner = TaskRunner(bench.stores(), {"join": kind}, clock)
    job = Job(graph, Caps(1, 1), (1.0, 1.0), grace=grace)
    return Run(job, runner, Bus("run", clock, []), clock)


def stopped(run: Run, kind: HangingKind, times: int) -> None:
    """Once the task hangs, ask this often; the run gives up waiting for it."""

    def ask() -> None:
        kind.begun.wait()
        for _ in range(times):
            run.ask_to_stop()

    asker = threading.Thread(target=ask)
    asker.start()
    with pytest.raises(KeyboardInterrupt):
        run.go()
    asker.join()


@pytest.mark.parametrize(("grace", "times"), [(0.05, 1), (1000, 2)], ids=["late", "asked twice"])
def test_stop_waits_for_a_running_task_only_for_the_grace_period(
    grace: float, times: int, bench: Bench
) -> None:
    kind = HangingKind()
    run = hanging(bench, kind, grace)
    stopped(run, kind, times)
    assert run.rest(0) is None
    kind.may_end.set()


def test_killed_run_ends_with_the_status_of_each_task(bench: Bench) -> None:
    kind = CutKind()
    run = hanging(bench, kind, 1000)
    stopped(run, kind, 2)
    kind.may_end.set()
    result = run.rest(20)
    assert result is not None
    assert result.exit_code is ExitCode.INTERRUPTED
    assert [one.status for one in result.outcomes] == [Status.FAILED, Status.CANCELLED]
    assert "stopped when" in result.outcomes[0].reason


class AskingKind(JoinKind):
    """Asks its run to stop while a task runs."""

    asked: Callable[[], None]

    def run(self, task: Task, upstream: Mapping[TaskId, Output], shop: TaskTools) -> TaskResult:
        self.asked()
        return super().run(task, upstream, shop)


def test_no_task_starts_after_a_stop_request(bench: Bench) -> None:
    bench.kind = kind = AskingKind()
    clock = LateClock()
    runner = TaskRunner(bench.stores(), {"join": kind}, clock)
    job = Job(
        build_graph([join("left", "a"), join("both", needs=("left",))]), Caps(1, 1), (1.0,) * 2
    )
    run = Run(job, runner, Bus("run", clock, []), clock)
    kind.asked = run.ask_to_stop
    result = run.go()
    assert kind.ran == ["join:left"]
    assert sorted(one.status for one in result.outcomes) == [Status.CANCELLED, Status.RAN]
    assert result.interrupted


class WorldJoin(JoinKind):
    """Changes the world, whatever is known; `right` gets its lock once the rest is cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.is_cancelled = threading.Event()

    def judge(self, known: Known) -> Decision:
        del known
        return Decision(Action.RUN, "to be done")

    def claim(self, task: Task) -> None:
        assert task.id != "join:right" or self.is_cancelled.wait(60)

    def hear(self, event: Stamped) -> None:
        if isinstance(event.event, TaskEnded) and event.event.status == Status.CANCELLED:
            self.is_cancelled.set()

    def close(self) -> None:
        """Nothing is open."""


def test_task_waiting_for_its_lock_does_not_start_after_another_failed(bench: Bench) -> None:
    bench.write(a="fail")
    kind, clock = WorldJoin(), LateClock()
    graph = build_graph([join("left", "a"), join("right", "b"), join("zone", "b")])
    runner = TaskRunner(bench.stores(), {"join": kind}, clock)
    job = Job(graph, Caps(2, 2), (1.0,) * 3, fail_fast=True)
    result = Run(job, runner, Bus("run", clock, [kind]), clock).go()
    assert kind.ran == ["join:left"]
    assert [one.status for one in result.outcomes] == [
        Status.FAILED,
        Status.CANCELLED,
        Status.CANCELLED,
    ]
    assert {one.reason for one in result.outcomes[1:]} == {
        "join:left failed, so no further tasks were started"
    }


class RecordedJoin(JoinKind):
    """Is up to date by its record, apart from `first` and `changed`."""

    def judge(self, known: Known) -> Decision:
        if known.task.inputs.function in ("first", "changed"):
            return Decision(Action.RUN, "to be done")
        return Decision(Action.SKIP, "up to date", known=Output(hash_bytes(b"recorded")))

    def claim(self, task: Task) -> None:
        """Nobody else has it."""


def test_tasks_that_only_wait_for_a_failed_one_stay_up_to_date(bench: Bench) -> None:
    bench.write(a="fail")
    bench.kind = RecordedJoin()
    first = Task(TaskId("hook:svc/first"), JoinInputs("svc", "first", ("a",)))
    waiting = [replace(join(name), needs=(first.id,)) for name in ("changed", "kept")]
    after = [join("after", needs=("kept",)), join("blocked", needs=("changed",))]
    result = bench.run(first, *waiting, *after)
    status = dict(zip(result.graph.ids, (one.status for one in result.outcomes), strict=True))
    assert status == {
        first.id: Status.FAILED,
        "join:changed": Status.BLOCKED,
        "join:kept": Status.SKIPPED,
        "join:after": Status.SKIPPED,
        "join:blocked": Status.BLOCKED,
    }
    reasons = {e.task: e.reason for e in bench.heard.events if isinstance(e, TaskEnded)}
    assert reasons["join:kept"] == "up to date"


class BrokenBus(Bus):
    """Falls over whatever it is given."""

    def emit(self, event: Event) -> None:
        raise RuntimeError(f"for the rest of this run {type(event).__name__}")


def test_a_worker_that_falls_ends_the_run_and_is_not_waited_for(bench: Bench) -> None:
    graph, clock = build_graph([join("left", "a"), join("right", "b")]), LateClock()
    runner = TaskRunner(bench.stores(), {"join": bench.kind}, clock)
    job = Job(graph, Caps(2, 2), (1.0, 1.0))
    with pytest.raises(RuntimeError, match="for the rest of this run"):
        Run(job, runner, BrokenBus("run", clock, []), clock).go()


def test_content_on_its_way_to_the_disk_is_not_lost_sight_of(tmp_path: Path) -> None:
    """Who misses it makes it once more, and for nothing."""
    seen: list[bytes | None] = []

    class Slow(NoMemo):
        def put_all(self, rows: Mapping[str, bytes]) -> bool:
            seen.extend(blobs.get(key.removeprefix(PREFIX)) for key in rows)
            return True

    blobs = Blobs(tmp_path, Slow())
    blobs.put(b"made")
    blobs.flush()
    assert seen == [b"made"]
    assert blobs.get(hash_bytes(b"made")) is None, "from now on the rows are asked"
