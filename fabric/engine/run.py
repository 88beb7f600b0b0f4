"""The run: worker threads around the schedule, each task once, every ending accounted for."""

import threading
from collections.abc import Mapping
from contextvars import copy_context

from msgspec import Struct, field

from fabric.engine.bus import Bus
from fabric.engine.output_contents import Upstream
from fabric.engine.result import GOOD, Outcome, RunResult, Status
from fabric.engine.run_tools import RunTools, StopSign
from fabric.engine.schedule import Agenda, Caps, Schedule
from fabric.engine.task_runner import TaskRunner
from fabric.graph.decide import mark_lost_result
from fabric.graph.gates import list_gates
from fabric.graph.taskgraph import TaskGraph
from fabric.model.problems import FabricError, Problem, StoppedError, WithheldError
from fabric.model.runs.events import ProblemFound, TaskEnded, TaskStarted
from fabric.model.task import Output
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import is_late_hook, uses_output
from fabric.system.clock import Clock

_LOOK = 0.1
_NEEDED = "depends on {}, which did not succeed"
_HELD_BACK = (
    "all of a service is built before any of it is deployed, and {} did not succeed (use "
    "--keep-going to deploy the rest)"
)
# So many running tasks are named when a run is interrupted.
_NAMED = 3
_CUT_OFF = "was stopped when the run was interrupted"


class Job(Struct, frozen=True):
    """A job to run: a graph, known outputs and the concurrency limit.

    With `keep_going` a function is deployed even if another one of its service failed to build.
    """

    graph: TaskGraph
    caps: Caps
    seconds: tuple[float, ...]
    known: Mapping[int, Outcome] = field(default_factory=dict)
    fail_fast: bool = False
    keep_going: bool = False
    # The time in seconds for running tasks after a stop request.
    grace: float = 30.0


class Run:
    """One execution of a job."""

    def __init__(
        self, job: Job, runner: TaskRunner, bus: Bus, clock: Clock, stop: StopSign | None = None
    ) -> None:
        graph = job.graph
        releases = frozenset(n for n, task in enumerate(graph.tasks) if task.kind == "release")
        self._lenient = releases.union(graph.numbers_of("hook")) if job.keep_going else frozenset()
        self._job = job
        self._runner = runner
        self._bus = bus
        self._clock = clock
        agenda = Agenda(
            needs=graph.needs,
            lanes=[task.inputs.lane for task in graph.tasks],
            seconds=job.seconds,
            closing=releases,
            gates=() if job.keep_going else list_gates(graph),
            tolerating=self._lenient,
        )
        self._schedule = Schedule(agenda, job.caps, frozenset(job.known))
        self._outcomes: dict[int, Outcome] = dict(job.known)
        # Two conditions on one lock: a wake-up meant for a worker must not end at the waiter.
        lock = threading.Lock()
        self._changed = threading.Condition(lock)
        self._ended = threading.Condition(lock)
        self._width = min(job.caps.total, max(1, self._schedule.left))
        self._workers: list[threading.Thread] = []
        self._running: set[int] = set()
        self._idle = 0
        self._wishes = 0
        self._interrupted = False
        self._cut = False
        self._stop = stop or StopSign()
        self._tools = RunTools(runner, self._stop, bus.emit)
        self._left = job.grace
        self._worker_error: BaseException | None = None
        self._begin = clock.monotonic()

    def go(self) -> RunResult:
        """Run to the end. After a stop request no task starts, and running ones finish.

        Raises KeyboardInterrupt if tasks exceed the grace time, or on a second request. The caller
        must abort them then and call `rest`.
        """
        with self._ended:
            if not self._schedule.over:
                self._call_worker()
            while not self._schedule.over:
                # Looked at before each wait: a wish that came earlier woke nobody.
                if not self._stop_if_asked():
                    self._wait()
                    self._raise_fallen()
        return self._build_result()

    def rest(self, seconds: float) -> RunResult | None:
        """Return the result after an abort; None if aborted tasks still run after this time."""
        with self._ended:
            self._ended.wait_for(lambda: self._schedule.over or self._worker_error, seconds)
            self._raise_fallen()
            if not self._schedule.over:
                return None
        return self._build_result()

    def _stop_if_asked(self) -> bool:
        """Cancel all tasks that have not started, once, after a stop request. Under the lock."""
        if not self._wishes or self._interrupted:
            return False
        self._interrupted = True
        self._stop.interrupt()
        self._cancel("the run was interrupted")
        self._tell_awaited()
        self._wake_all()
        return True

    def _tell_awaited(self) -> None:
        """Report the tasks that an interrupted run still waits for."""
        names = sorted(self._job.graph.ids[number] for number in tuple(self._running))
        if names:
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            message = f"interrupted: waiting for {', '.join(names[:_NAMED])}{more} to finish"
            problem = Problem("run/stopping", message, hint="press Ctrl-C again to stop it")
            self._bus.emit(ProblemFound("", "warning", problem))

    def _wait(self) -> None:
        """Wait for the end in short intervals.

        Python handles a signal only when this thread continues. After a stop request wait for the
        grace time only.
        """
        look = min(_LOOK, self._left) if self._interrupted else _LOOK
        if self._ended.wait(look) or not self._interrupted:
            return
        self._left -= look
        if self._wishes > 1 or self._left <= 0:
            self._cut = True
            raise KeyboardInterrupt

    def _raise_fallen(self) -> None:
        if self._worker_error:
            raise self._worker_error

    def _call_worker(self) -> None:
        """Wake an idle worker or start one. Small runs never start all workers."""
        if self._idle:
            self._idle -= 1
            self._changed.notify()
        elif len(self._workers) < self._width:
            number = len(self._workers)
            # It works for whom we work: its children are those of this run.
            worker = threading.Thread(
                target=copy_context().run, args=(self._run_worker,), daemon=True
            )
            try:
                worker.start()
            except RuntimeError:  # no more threads here: those that there are do it all
                if not self._workers:
                    raise
                self._width = number
                return
            self._workers.append(worker)

    def _wake_all(self) -> None:
        self._idle = 0
        self._changed.notify_all()

    def ask_to_stop(self, grace: float | None = None) -> None:
        """Start no new task. Running tasks have these seconds, unless another request follows.

        Safe in a signal handler, because it takes no lock.
        """
        if grace is not None:
            self._left = grace
        self._wishes += 1
        threading.Thread(target=self._wake, daemon=True).start()

    def _wake(self) -> None:
        with self._ended:
            self._ended.notify_all()

    def _build_result(self) -> RunResult:
        for worker in self._workers:
            worker.join()
        ms = round((self._clock.monotonic() - self._begin) * 1000)
        outcomes = tuple(self._outcomes[number] for number in range(len(self._job.graph)))
        return RunResult(self._job.graph, outcomes, ms, interrupted=self._interrupted)

    def _run_worker(self) -> None:
        """Run a worker: take tasks, run them and record outcomes until none is left."""
        try:
            number = self._take_next()
            while number is not None:
                outcome = self._run_task(number)
                number = self._take_next(number, outcome)
        except BaseException as error:  # noqa: BLE001: one that falls in silence is waited for
            with self._ended:
                self._worker_error = error
                self._ended.notify_all()

    def _take_next(self, ended: int = -1, outcome: Outcome | None = None) -> int | None:
        """Record an ended task and take the next one under a single lock."""
        with self._changed:
            if outcome is not None:
                self._record_outcome(ended, outcome)
            while not self._schedule.over:
                # The thread that waits for the run can be later than a task that ends now.
                if self._stop_if_asked():
                    continue
                number = self._schedule.start()
                if number is not None:
                    if self._schedule.startable():
                        self._call_worker()
                    return number
                self._idle += 1
                self._changed.wait()
            self._wake_all()
            self._ended.notify_all()
            return None

    def _record_outcome(self, number: int, outcome: Outcome) -> None:
        self._outcomes[number] = outcome
        if outcome.status in GOOD:
            self._schedule.complete(number)
            return
        ids = self._job.graph.ids
        for blocked in self._schedule.fail(number):
            words = _HELD_BACK if blocked in self._schedule.held_back else _NEEDED
            stopped = Outcome(Status.BLOCKED, words.format(ids[number]))
            self._end_unstarted(blocked, self._find_unchanged(blocked) or stopped)
        if self._stops_others(number):
            self._cancel(_stop_message(ids[number]))

    def _cancel(self, why: str) -> None:
        reason = self._stop.stop(why)
        for number in self._schedule.cancel_rest():
            self._end_unstarted(number, Outcome(Status.CANCELLED, reason))

    def _find_unchanged(self, number: int) -> Outcome | None:
        """Return the outcome of a blocked task that only waits for the failed one, and that is up
        to date according to the record."""
        task = self._job.graph.tasks[number]
        ended = [self._outcomes.get(need) for need in self._list_used_needs(number)]
        if number in self._schedule.held_back or not self._runner.changes_records(task):
            return None
        if any(one is None or one.output is None for one in ended):
            return None
        decision = self._runner.judge(task, self._collect_upstream(number))
        if decision.output is None:
            return None
        return Outcome(Status.SKIPPED, decision.reason, decision.output, decision)

    def _end_unstarted(self, number: int, outcome: Outcome) -> None:
        self._outcomes[number] = outcome
        self._bus.emit(TaskEnded(self._job.graph.ids[number], outcome.status, outcome.reason, 0))

    def _run_task(self, number: int) -> Outcome:
        graph = self._job.graph
        task_id = graph.ids[number]
        started = self._clock.monotonic() - self._begin
        try:
            with self._tools.turn(graph.tasks[number], self._schedule.urgency(number)):
                # To wait for a turn is no part of the work: how long that takes is remembered.
                started = self._clock.monotonic() - self._begin
                outcome = self._carry_out(number)
        except StoppedError as error:
            outcome = Outcome(Status.CANCELLED, error.first.message)
        except WithheldError as error:
            untold = () if error.is_told else error.problems
            outcome = Outcome(Status.BLOCKED, error.first.message, problems=untold)
        except FabricError as error:
            outcome = self._build_failure(number, error)
        except Exception as error:  # noqa: BLE001: the boundary of a task: nothing may end the run
            problem = Problem("internal/error", f"{type(error).__name__}: {error}")
            outcome = Outcome(Status.FAILED, problem.message, problems=(problem,))
        ms = round((self._clock.monotonic() - self._begin - started) * 1000)
        outcome = _add_times(outcome, started, ms)
        for warning in outcome.warnings:
            self._bus.emit(ProblemFound(task_id, "warning", warning))
        for problem in outcome.problems:
            self._bus.emit(ProblemFound(task_id, "error", problem))
        self._bus.emit(TaskEnded(task_id, outcome.status, outcome.reason, outcome.ms))
        return outcome

    def _stops_others(self, number: int) -> bool:
        return self._job.fail_fast and not is_late_hook(self._job.graph.tasks[number].inputs)

    def _build_failure(self, number: int, error: FabricError) -> Outcome:
        if self._stops_others(number):
            # Before anybody is told: every moment now, others may begin.
            self._stop.stop(_stop_message(self._job.graph.ids[number]))
        reason = _CUT_OFF if self._cut else error.first.message
        return Outcome(Status.FAILED, reason, problems=error.problems)

    def _carry_out(self, number: int) -> Outcome:
        task = self._job.graph.tasks[number]
        upstream = self._collect_upstream(number)
        decision = self._runner.decide(task, upstream, self._tools)
        outcome = self._runner.recall(task, upstream, decision)
        if outcome is None:
            if decision.output is not None:
                decision = mark_lost_result(decision)
            self._bus.emit(TaskStarted(task.id, decision.reason))
            self._running.add(number)
            try:
                outcome = self._runner.run(task, upstream, decision, self._tools)
            finally:
                self._running.discard(number)
        return self._runner.add_warnings(task, upstream, outcome)

    def _collect_upstream(self, number: int) -> Upstream:
        graph = self._job.graph
        needs = self._list_used_needs(number)
        if number in self._lenient:
            needs = [need for need in needs if self._outcomes[need].output is not None]
        return [(graph.tasks[need], _get_output(self._outcomes[need])) for need in needs]

    def _list_used_needs(self, number: int) -> list[int]:
        graph = self._job.graph
        inputs = graph.tasks[number].inputs
        return [need for need in graph.needs[number] if uses_output(graph.ids[need], inputs)]


def _stop_message(failed: TaskId) -> str:
    return f"{failed} failed, so no further tasks were started"


def _get_output(outcome: Outcome) -> Output:
    if outcome.output is None:
        raise FabricError(
            Problem("internal/error", "a task was started before its dependencies ended")
        )
    return outcome.output


def _add_times(outcome: Outcome, started: float, ms: int) -> Outcome:
    return Outcome(
        status=outcome.status,
        reason=outcome.reason,
        output=outcome.output,
        decision=outcome.decision,
        ms=ms,
        started=started,
        problems=outcome.problems,
        warnings=outcome.warnings,
        trace=outcome.trace,
    )
