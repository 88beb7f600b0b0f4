"""The interface of runtimes: source code to archive files, with all recorded inputs."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol, TypeAlias

from msgspec import Struct

from fabric.model.problems import Problem
from fabric.model.task import Pairs
from fabric.model.task_inputs import BuildInputs, WheelInputs


class BuiltFile(Struct, frozen=True):
    """A file."""

    # Relative to the archive root, with forward slashes.
    path: str
    content: bytes
    executable: bool = False


class Listing(Struct, frozen=True):
    """A searched directory: added and deleted matches must be noticed.

    `names` are relative to `folder`; `ignore` contains the applied ignore rules.
    """

    folder: str
    pattern: str
    names: tuple[str, ...]
    ignore: tuple[str, ...] = ()


class FileRows(Struct, frozen=True):
    """The rows of a file that were used, such as those of a lock file, instead of the whole file.

    `fabric.runtimes.file_rows` reads them.
    """

    file: str
    # Selectors of rows.
    rows: tuple[str, ...]


class InputTrace(Struct, frozen=True):
    """The recorded inputs of a build, as paths relative to the workspace (`../` allowed).

    `absent` did not exist.

    `fabric.runtimes.recorded_inputs.look_ups_hold` checks them.
    """

    # Read.
    files: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    # Searched.
    listings: tuple[Listing, ...] = ()
    # Paths through a symbolic link (path, real path).
    links: tuple[tuple[str, str], ...] = ()
    # Directories at paths where a file would have been used.
    folders: tuple[str, ...] = ()
    # Files of which only some rows count.
    rows: tuple[FileRows, ...] = ()

    @property
    def all_files(self) -> tuple[str, ...]:
        """Return the files that count wholly or in part."""
        return (*self.files, *(one.file for one in self.rows))


class ImportedModule(Struct, frozen=True):
    """An imported module as the source names it."""

    module: str
    file: str
    line: int
    # The archive paths (without extension) that would satisfy it.
    places: tuple[str, ...] = ()


class Built(Struct, frozen=True):
    """The result of a build. `handler` is `<module path in the archive>.<export>`, the format of
    providers.

    If the cache key has another one, as after a failed bundler install, the result must not be
    stored.
    """

    files: tuple[BuiltFile, ...]
    seen: InputTrace
    warnings: tuple[Problem, ...] = ()
    handler: str = ""
    # Identifies the actual build tool.
    toolchain: str = ""
    # Hashes of files before a tool ran whose inputs are unknown.
    before: Pairs = ()
    # Imports that archive files or packages must satisfy.
    wanted: tuple[ImportedModule, ...] = ()
    # The build time, if it differs from the waiting time.
    took_ms: int = 0


class Toolchain(Struct, frozen=True):
    """The build tools of a service, a part of every cache key. `watch` are the paths that decided
    it; `environment` are the variables that it receives from this machine."""

    identity: str
    watch: tuple[str, ...] = ()
    environment: Pairs = ()
    # Whether it can change although `watch` did not. Results of commands are not stored then.
    can_change: bool = False


# The wheels of a run that are not cached.
ListMissing: TypeAlias = Callable[[], Iterable[WheelInputs]]


class Runtime(Protocol):
    """One language. Thread-safe: many functions are built in parallel through one instance."""

    def toolchain(self, workspace: Path, root: str) -> Toolchain:
        """Identify the tool that would build this service, quickly and without a process."""

    def build(self, workspace: Path, inputs: BuildInputs) -> Built:
        """Build one function. Raises FabricError with the tool's own message and location."""

    def close(self) -> None:
        """End any warm child."""


class Builder(Protocol):
    """All languages behind one interface, for build tasks."""

    def toolchain(self, workspace: Path, inputs: BuildInputs) -> Toolchain: ...
    def entry(self, workspace: Path, inputs: BuildInputs) -> str: ...
    def record_inputs(self, workspace: Path, inputs: BuildInputs) -> InputTrace: ...
    def build(self, workspace: Path, inputs: BuildInputs) -> Built: ...
