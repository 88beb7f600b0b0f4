"""What every task kind is: a version of its code, what else decides it, and how it runs."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, TypeGuard

from msgspec import Struct

from fabric.graph.decide import Decision
from fabric.graph.plan import Known
from fabric.graph.traces import ListingTrace
from fabric.model.names import Digest
from fabric.model.problems import Problem
from fabric.model.task import InputEntry, Output, OutputFile, Pairs, Task
from fabric.model.task_id import TaskId


class MadeFile(Struct, frozen=True):
    """A file that a task made, with its content, by its path inside the output."""

    path: str
    content: bytes
    executable: bool = False


class Made(Struct, frozen=True):
    """What a task gave. `digest` is what downstream keys see; files are stored by content.

    Without `keep` the result is used in this run and not remembered. `before` are digests of files
    that were read, from before the task ran; for the others their times have to do. `took_ms` is
    how long it took, where it was waited for longer than that.
    """

    digest: Digest
    files: tuple[MadeFile, ...] = ()
    facts: Pairs = ()
    read: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    listings: tuple[ListingTrace, ...] = ()
    links: Pairs = ()
    warnings: tuple[Problem, ...] = ()
    keep: bool = True
    before: Pairs = ()
    took_ms: int = 0


class TaskTools(Protocol):
    """What a task may use while it runs."""

    @property
    def workspace(self) -> Path: ...
    def content(self, owner: TaskId, file: OutputFile) -> bytes:
        """The bytes of an upstream's file, from the content store."""

    def go_on(self) -> None:
        """Raises where the run was stopped: to be asked last before each call of a provider."""

    def is_interrupted(self) -> bool:
        """Whether what runs is asked to come to an end."""

    def away(self) -> AbstractContextManager[None]:
        """To be held while the task waits for a provider or a disk: others compute meanwhile."""

    def say(self, owner: TaskId, text: str) -> None:
        """What a provider or a tool had to say, for people; nothing for an empty text."""


class TaskKind(Protocol):
    """One kind of task. Thread-safe: many tasks of a kind run at once."""

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        """Versions that belong to the key: of this kind's code and of its tools."""

    def run(self, task: Task, upstream: Mapping[TaskId, Output], shop: TaskTools) -> Made: ...


class RecordKind(TaskKind, Protocol):
    """A kind that changes more than files: a record says whether it is up to date, no cache."""

    def judge(self, known: Known) -> Decision: ...
    def claim(self, task: Task) -> None:
        """Hold the record's lock from now on, and with it all that this run may need: what is
        judged after the first claim stays true."""


class WarningKind(TaskKind, Protocol):
    """A kind whose outputs may have to be warned of, beside what was told when they were made."""

    def warnings(
        self, task: Task, upstream: Mapping[TaskId, Output], output: Output
    ) -> tuple[Problem, ...]:
        """What to tell each time that the output is used, remembered or not."""


Registry = Mapping[str, TaskKind]


# By the methods that make it one: Python's own check of a protocol takes some 70 us each time.
def is_record_kind(kind: TaskKind) -> TypeGuard[RecordKind]:
    return hasattr(kind, "judge") and hasattr(kind, "claim")


def is_warning_kind(kind: TaskKind) -> TypeGuard[WarningKind]:
    return hasattr(kind, "warnings")
