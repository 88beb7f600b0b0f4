"""A task is data: its kind, its needs, its inputs. What to do with it is looked up elsewhere."""

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
    """What a task is bound by; CPU tasks are capped at the number of cores besides."""

    CPU = "cpu"
    IO = "io"


class EntryKind(StrEnum):
    """What kind of thing an input is, in reasons and in `explain`."""

    FILE = "file"
    ENV = "env"
    OPTION = "option"
    UPSTREAM = "upstream"
    CODE = "code"


class InputEntry(NamedTuple):
    """One named input of a task: the list of them is both hashed and explained."""

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
        """The folder, relative to the workspace, where people see its output; empty: nowhere."""

    @property
    def owns_folder(self) -> bool:
        """Whether nothing else belongs in that folder."""

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
        """The digest of the file where people see it: whether it may be run is part of it."""
        return self.digest + EXECUTABLE if self.executable else self.digest


class Output(Struct, frozen=True):
    """What downstream receives. Only `digest` counts for keys; facts are for reading. Where people
    see its files is said by the task's inputs: what is remembered must not say where to write."""

    digest: Digest
    files: tuple[OutputFile, ...] = ()
    facts: Pairs = ()

    def fact(self, name: str, default: str = "") -> str:
        return next((value for key, value in self.facts if key == name), default)
