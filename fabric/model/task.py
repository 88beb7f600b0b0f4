"""Tasks as data: kind, needs and inputs. The registry knows how to execute them."""

from enum import StrEnum
from typing import ClassVar, NamedTuple, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

from fabric.model.names import Digest
from fabric.model.task_id import TaskId

# Behind the digest of a file that may be run: its mode is in archives, so it is in keys.
EXECUTABLE = "+x"
# In the place of the digest of what cannot be read: a socket, or somebody else's file.
UNREADABLE = "unreadable"

Pairs: TypeAlias = tuple[tuple[str, str], ...]


class Lane(StrEnum):
    """The bottleneck of a task. CPU tasks are also limited to the number of cores."""

    CPU = "cpu"
    IO = "io"


class EntryKind(StrEnum):
    """The kind of an input, for reasons and `explain`."""

    FILE = "file"
    ENV = "env"
    OPTION = "option"
    UPSTREAM = "upstream"
    CODE = "code"
    # The digest of a base image.
    IMAGE = "image"
    # A package of a lock: its version and the hash of its lines.
    PACKAGE = "package"


class InputEntry(NamedTuple):
    """One named input of a task. The list is both hashed and explained."""

    kind: str
    name: str
    value: str


@runtime_checkable
class TaskInputs(Protocol):
    """Frozen, and only plain values inside (text, numbers, None, tuples): it is stored as it is."""

    kind: ClassVar[str]
    __struct_fields__: ClassVar[tuple[str, ...]]

    @property
    def lane(self) -> Lane: ...
    @property
    def shown_in(self) -> str:
        """Return the visible output directory relative to the workspace; empty for none."""

    @property
    def owns_folder(self) -> bool:
        """Return whether the output directory belongs to this task only."""

    @property
    def shares_folder(self) -> bool:
        """Return whether the output directory also contains files of the user."""

    @property
    def service(self) -> str: ...
    @property
    def function(self) -> str: ...
    def entries(self) -> tuple[InputEntry, ...]: ...


class Task(Struct, frozen=True):
    id: TaskId
    inputs: TaskInputs
    needs: tuple[TaskId, ...] = ()

    @property
    def kind(self) -> str:
        return self.inputs.kind


class OutputFile(Struct, frozen=True):
    """A file that a task made, by its path inside the output, and the content it has."""

    path: str
    digest: Digest
    size: int
    executable: bool = False

    @property
    def shown_as(self) -> str:
        """Return the hash of the visible file, including whether it is executable."""
        return self.digest + EXECUTABLE if self.executable else self.digest


class Output(Struct, frozen=True):
    """The output for dependents. Only `digest` affects keys; facts are informational.

    The task's inputs define the output directory, because a cached result must not control where to
    write.
    """

    digest: Digest
    files: tuple[OutputFile, ...] = ()
    facts: Pairs = ()

    def fact(self, name: str, default: str = "") -> str:
        return next((value for key, value in self.facts if key == name), default)
