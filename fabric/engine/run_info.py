"""What listeners know of a run before it begins."""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from fabric.engine.bus import Listener
from fabric.graph.taskgraph import TaskGraph


class RunInfo(Struct, frozen=True):
    """`home` is where the run's journal is kept; `seconds` is how long each task took last time.

    Tasks that are `known` already are not run and have no events. `width` is the cap on tasks.
    In an idle one nothing is to be done: only who was asked for by name hears of it.
    """

    run: str
    home: Path
    graph: TaskGraph
    seconds: tuple[float, ...]
    width: int = 1
    known: frozenset[int] = frozenset()
    is_idle: bool = False

    @property
    def many(self) -> bool:
        """Whether there is more than one service in it."""
        return len({task.inputs.service for task in self.graph.tasks}) > 1


MakeListeners = Callable[[RunInfo], Sequence[Listener]]
