"""How a runtime turns a function's source into files; what it looked at comes back with them."""

from pathlib import Path
from typing import Protocol

from msgspec import Struct

from fabric.model.problems import Problem
from fabric.model.task import Pairs
from fabric.model.task_inputs import BuildInputs


class BuiltFile(Struct, frozen=True):
    """`path` is relative inside the archive, with forward slashes."""

    path: str
    content: bytes
    executable: bool = False


class Listing(Struct, frozen=True):
    """A folder that was searched: a new or removed match must be noticed.

    `names` are relative to `folder`; `ignore` are the rules (gitignore-like) that were left out.
    """

    folder: str
    pattern: str
    names: tuple[str, ...]
    ignore: tuple[str, ...] = ()


class Seen(Struct, frozen=True):
    """Everything a build looked at, as paths relative to the workspace (`../` allowed).

    `files` were read, `absent` were looked for and not there, `listings` were globbed, `links` are
    paths that led elsewhere through a symbolic link (path, real path), `folders` are paths where a
    file would have won but a folder was found. `fabric.runtimes.seen.look_ups_hold` checks them.
    """

    files: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    listings: tuple[Listing, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    folders: tuple[str, ...] = ()


class WantedModule(Struct, frozen=True):
    """A module that a source imports, as it is written there; `places` are the paths in the archive
    (without an ending) that would answer it."""

    module: str
    file: str
    line: int
    places: tuple[str, ...] = ()


class Built(Struct, frozen=True):
    """`handler` is `<module path in the archive>.<export>`, as providers want it.

    `toolchain` is the identity of what really built it. Where that is not the one that the key was
    made with (the bundler could not be installed after all), the result must not be stored.
    `before` are digests of files as they were before a tool ran that does not tell what it read.
    `wanted` are imports that something has to answer: the archive's files, or packages.
    `took_ms` is how long it took, where that is not as long as it was waited for.
    """

    files: tuple[BuiltFile, ...]
    seen: Seen
    warnings: tuple[Problem, ...] = ()
    handler: str = ""
    toolchain: str = ""
    before: Pairs = ()
    wanted: tuple[WantedModule, ...] = ()
    took_ms: int = 0


class Toolchain(Struct, frozen=True):
    """What builds a service: a part of every key. `watch` are the paths that decided it,
    `environment` the variables of this machine that it is given."""

    identity: str
    watch: tuple[str, ...] = ()
    environment: Pairs = ()


class Runtime(Protocol):
    """One language. Thread-safe: many functions are built at once through one instance."""

    def toolchain(self, workspace: Path, root: str) -> Toolchain:
        """Which tool would build this service; cheap, starts no process."""

    def build(self, workspace: Path, inputs: BuildInputs) -> Built:
        """Build one function. Raises FabricError with the tool's own message and place."""

    def close(self) -> None:
        """End any warm child."""


class Builder(Protocol):
    """All languages as one: what build tasks are given."""

    def toolchain(self, workspace: Path, inputs: BuildInputs) -> Toolchain: ...
    def entry(self, workspace: Path, inputs: BuildInputs) -> str: ...
    def seen(self, workspace: Path, inputs: BuildInputs) -> Seen: ...
    def build(self, workspace: Path, inputs: BuildInputs) -> Built: ...
