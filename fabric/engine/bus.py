"""The event bus: it numbers and timestamps events for many listeners."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from fabric.graph.taskgraph import TaskGraph
from fabric.model.problems import FabricError, Problem
from fabric.model.runs.events import Event, ProblemFound, Stamped
from fabric.system.clock import Clock, stamp


class Listener(Protocol):
    def hear(self, event: Stamped) -> None: ...
    def close(self) -> None: ...


class Bus:
    """Sends events to every listener in order, one at a time.

    A failing listener never ends a run: it is removed, and the others receive the problem.
    """

    def __init__(self, run: str, clock: Clock, listeners: Sequence[Listener]) -> None:
        self.run = run
        self._clock = clock
        self._listeners = list(listeners)
        self._silent: list[Listener] = []
        self._untold: list[Problem] = []
        self._lock = threading.Lock()
        self._seq = 0
        self._begin = clock.monotonic()

    def emit(self, event: Event) -> None:
        with self._lock:
            self._pass_on(event)

    def close(self) -> None:
        """Close every listener. Raises failures that no remaining listener can report."""
        with self._lock:
            while self._listeners:
                self._close(self._listeners.pop(0))
            while self._silent:
                self._close(self._silent.pop(0), is_told=True)
        if self._untold:
            raise FabricError(*self._untold)

    def _pass_on(self, event: Event) -> None:
        if not self._listeners:
            return
        self._seq += 1
        elapsed = self._clock.monotonic() - self._begin
        stamped = Stamped(self.run, self._seq, stamp(self._clock), elapsed, event)
        for listener in tuple(self._listeners):
            try:
                listener.hear(stamped)
            except Exception as error:  # noqa: BLE001: the boundary of a listener
                self._drop(listener, error)

    def _drop(self, listener: Listener, error: Exception) -> None:
        if listener in self._listeners:  # it may have failed once more, over its own failure
            self._listeners.remove(listener)
            self._silent.append(listener)
            self._tell(_listener_problem(listener, error))

    def _tell(self, problem: Problem) -> None:
        if self._listeners:
            self._pass_on(ProblemFound("", "warning", problem))
        else:
            self._untold.append(problem)

    def _close(self, listener: Listener, *, is_told: bool = False) -> None:
        try:
            listener.close()
        except FabricError as error:  # a file that was asked for is not what it should be
            self._untold += error.problems
        except Exception as error:  # noqa: BLE001: the others are to be closed all the same
            if not is_told:
                self._tell(_listener_problem(listener, error))


def _listener_problem(listener: Listener, error: Exception) -> Problem:
    said = error.first.message if isinstance(error, FabricError) else f"{error!r}"
    return Problem(
        "run/listener-failed",
        f"ignoring {type(listener).__name__} for the rest of this run, because it failed: {said}",
        hint="report this bug; the run itself is not affected",
    )


class RunInfo(Struct, frozen=True):
    """`known` tasks do not run and have no events. In an idle run, only explicitly requested
    listeners get events."""

    run: str
    # The directory of the run log.
    home: Path
    graph: TaskGraph
    # Last durations by task.
    seconds: tuple[float, ...]
    # The concurrency limit.
    width: int = 1
    known: frozenset[int] = frozenset()
    is_idle: bool = False

    @property
    def many(self) -> bool:
        """Return whether the run has more than one service."""
        return len({task.inputs.service for task in self.graph.tasks} - {""}) > 1


MakeListeners = Callable[[RunInfo], Sequence[Listener]]
