"""The interface of task kinds: a code version, further key inputs and execution."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol, TypeGuard, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from fabric.graph.decide import Decision
from fabric.graph.plan import Known
from fabric.graph.traces import ListingTrace
from fabric.model.hashing import hash_fields
from fabric.model.names import Digest
from fabric.model.problems import FabricError, Place, Problem, replace_problems
from fabric.model.task import InputEntry, Output, OutputFile, Pairs, Task, TaskInputs
from fabric.model.task_id import TaskId
from fabric.runtimes.contract import InputTrace

_InputsT = TypeVar("_InputsT", bound=TaskInputs)


class WrittenFile(Struct, frozen=True):
    """A file that a task made, with its content, by its path inside the output."""

    path: str
    content: bytes
    executable: bool = False


class TaskResult(Struct, frozen=True):
    """The result of a task. Downstream keys use `digest`; files are stored by content.

    Without `keep` the result is used in this run only.
    """

    digest: Digest
    files: tuple[WrittenFile, ...] = ()
    facts: Pairs = ()
    seen: InputTrace = InputTrace()
    warnings: tuple[Problem, ...] = ()
    keep: bool = True
    # Hashes of input files from before the task; for others timestamps are used.
    before: Pairs = ()
    # The duration without waits.
    took_ms: int = 0

    @property
    def read(self) -> tuple[str, ...]:
        """Return what was read. A look-up that ended at a directory holds as long as there is a
        directory."""
        return (*self.seen.files, *self.seen.folders)

    @property
    def listings(self) -> tuple[ListingTrace, ...]:
        """Return the listings as the task saw them, so that later files are still noticed."""
        return tuple(
            ListingTrace(one.folder, one.pattern, one.ignore, hash_fields(one.names))
            for one in self.seen.listings
        )


class TaskTools(Protocol):
    """The tools of a running task."""

    @property
    def workspace(self) -> Path: ...
    def content(self, owner: TaskId, file: OutputFile) -> bytes:
        """The bytes of an upstream's file, from the content store."""

    def go_on(self) -> None:
        """Raise if the run was stopped. Call this last before each API call."""

    def is_interrupted(self) -> bool:
        """Return whether running tasks are requested to end."""

    def away(self) -> AbstractContextManager[None]:
        """Release the compute slot while the task waits for a provider or a disk."""

    def say(self, owner: TaskId, text: str) -> None:
        """Print a message of a provider or tool. An empty text prints nothing."""


class TaskKind(Protocol):
    """One kind of task. Thread-safe, because many tasks of a kind run in parallel."""

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        """Versions that belong to the key: of this kind's code and of its tools."""

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult: ...


class RecordKind(TaskKind, Protocol):
    """A kind that changes deployed resources. A record, not the cache, decides whether it is up to
    date."""

    def judge(self, known: Known) -> Decision: ...
    def claim(self, task: Task) -> None:
        """Lock the record and all others of the run, so that decisions after the first claim stay
        valid."""


class WarningKind(TaskKind, Protocol):
    """A kind whose outputs can have further warnings, beside those from their build."""

    def warnings(
        self, task: Task, upstream: Mapping[TaskId, Output], output: Output
    ) -> tuple[Problem, ...]:
        """Return the warnings to report on each use of the output, cached or new."""


Registry = Mapping[str, TaskKind]


# By the methods that make it one: Python's own check of a protocol takes some 70 us each time.
def is_record_kind(kind: TaskKind) -> TypeGuard[RecordKind]:
    return hasattr(kind, "judge") and hasattr(kind, "claim")


def is_warning_kind(kind: TaskKind) -> TypeGuard[WarningKind]:
    return hasattr(kind, "warnings")


@contextmanager
def place_problems(place: Place) -> Iterator[None]:
    """Add a place of the config to the errors inside that have none."""
    try:
        yield
    except FabricError as error:
        if type(error) is not FabricError or not place.file:
            raise
        placed = [replace(one, where=one.where or place) for one in error.problems]
        raise replace_problems(error, placed) from error


def require_inputs(task: Task, inputs_type: type[_InputsT]) -> _InputsT:
    """Return the inputs of a task of one kind."""
    if not isinstance(task.inputs, inputs_type):
        raise TypeError(f"{task.id} is not a task of kind `{inputs_type.kind}`")
    return task.inputs
