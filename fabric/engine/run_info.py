"""The facts of a run that listeners get before it begins."""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from fabric.engine.bus import Listener
from fabric.graph.taskgraph import TaskGraph


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
        return len({task.inputs.service for task in self.graph.tasks}) > 1


MakeListeners = Callable[[RunInfo], Sequence[Listener]]
