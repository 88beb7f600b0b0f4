"""The shared tools of a run's tasks: stop sign, compute slots and messages."""

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from fabric.engine.compute_slots import ComputeSlots
from fabric.engine.schedule import Urgency
from fabric.engine.task_runner import TaskRunner
from fabric.model.problems import Problem, StoppedError
from fabric.model.runs.events import TaskOutput
from fabric.model.task import OutputFile, Task
from fabric.model.task_id import TaskId

# One task computes, and another one may be at the disk: the interpreter runs one at a time.
_PLACES = 2


class StopSign:
    """Whether a run must start nothing new, and why. The first reason stays."""

    def __init__(self) -> None:
        self.reason = ""
        self.is_interrupted = False

    def stop(self, reason: str) -> str:
        self.reason = self.reason or reason
        return self.reason

    def interrupt(self) -> None:
        """Request that running tasks end, and that none starts."""
        self.is_interrupted = True

    def go_on(self) -> None:
        """Raise if the run was stopped. Call this before an API call or a wait."""
        if self.reason:
            raise StoppedError(Problem("run/cancelled", self.reason))


class RunTools:
    """The tools of all tasks of a run, whichever of them asks."""

    def __init__(
        self, runner: TaskRunner, stop: StopSign, tell: Callable[[TaskOutput], None]
    ) -> None:
        self._runner = runner
        self._stop = stop
        self._tell = tell
        self._turns = ComputeSlots(_PLACES)

    @property
    def workspace(self) -> Path:
        return self._runner.workspace

    def content(self, owner: TaskId, file: OutputFile) -> bytes:
        return self._runner.contents.content(owner, file, self)

    def go_on(self) -> None:
        self._stop.go_on()

    def is_interrupted(self) -> bool:
        return self._stop.is_interrupted

    def away(self) -> AbstractContextManager[None]:
        return self._turns.away()

    def say(self, owner: TaskId, text: str) -> None:
        if text:
            self._tell(TaskOutput(owner, text))

    def turn(self, task: Task, urgency: Urgency) -> AbstractContextManager[None]:
        """Hold a compute slot around a task.

        Tasks that change records report their waits; other tasks mostly wait and need no slot.
        """
        is_counted = self._runner.changes_records(task)
        return self._turns.turn(urgency) if is_counted else contextlib.nullcontext()
