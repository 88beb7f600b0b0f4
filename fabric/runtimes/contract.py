"""How a runtime turns a function's source into files; what it looked at comes back with them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fabric.model.problems import Problem
from fabric.model.task import BuildInputs


@dataclass(frozen=True, slots=True)
class BuiltFile:
    """`path` is relative inside the archive, with forward slashes."""

    path: str
    content: bytes
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """A folder that was searched: a new or removed match must be noticed."""

    folder: str
    pattern: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything a build looked at, as paths relative to the workspace (`../` allowed).

    `files` were read, `absent` were looked for and not there, `listings` were globbed.
    """

    files: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    listings: tuple[Listing, ...] = ()


@dataclass(frozen=True, slots=True)
class Built:
    files: tuple[BuiltFile, ...]
    seen: Seen
    warnings: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Toolchain:
    """What builds a service: a part of every key. `watch` are the paths that decided it."""

    identity: str
    watch: tuple[str, ...] = ()


class Runtime(Protocol):
    """One language. Thread-safe: many functions are built at once through one instance."""

    def toolchain(self, workspace: Path, inputs: BuildInputs) -> Toolchain:
        """Which tool would build this service; cheap, starts no process."""

    def build(self, workspace: Path, inputs: BuildInputs) -> Built:
        """Build one function. Raises FabricError with the tool's own message and place."""

    def close(self) -> None:
        """End any warm child."""
