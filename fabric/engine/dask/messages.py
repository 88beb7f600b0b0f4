"""Messages between client and workers: msgpack, without executable content."""

from typing import Protocol

import msgspec
from msgspec import Struct

from fabric.model.problems import Problem
from fabric.model.task import Pairs
from fabric.model.task_inputs import BuildInputs
from fabric.remote.snapshots import StoredBytes
from fabric.runtimes.contract import Built

# Contents up to this size come with the answer.
INLINE_BYTES = 64 << 10


class SameSide(Struct, frozen=True):
    """Facts that must match on both sides: versions and the shared cache.

    Each side must know the other's first key, which seals.
    """

    fabric: str
    python: str
    cache: str
    keys: tuple[str, ...] = ()


class RemoteBuildRequest(Struct, frozen=True):
    """One build request."""

    side: SameSide
    snapshot: StoredBytes
    inputs: BuildInputs
    # The number of searched parent directories.
    depth: int
    # Identifies the build tools.
    toolchain: str
    # The client's environment for commands.
    environment: Pairs = ()


class RemoteBuildAnswer(Struct, frozen=True):
    """The result of a build, or the reason for its failure. `stored` contains contents omitted from
    `built`, concatenated with these `sizes`.

    `is_missing` means that an object is missing in the shared cache, `is_cut_off` that the cache is
    unreachable.
    """

    worker: str
    built: Built | None = None
    problems: tuple[Problem, ...] = ()
    stored: StoredBytes | None = None
    sizes: tuple[int, ...] = ()
    # Means that this worker cannot build it, but another can.
    lacks: str = ""
    # Means that it can build nothing for this client.
    is_unlike: bool = False
    is_missing: bool = False
    is_cut_off: bool = False
    # The build time.
    took_ms: int = 0


def encode(said: RemoteBuildRequest | RemoteBuildAnswer) -> bytes:
    """Encode a message. Raises ValueError for invalid Unicode."""
    return msgspec.msgpack.encode(said)


def decode_question(content: bytes) -> RemoteBuildRequest:
    return msgspec.msgpack.decode(content, type=RemoteBuildRequest)


def decode_answer(content: bytes) -> RemoteBuildAnswer:
    return msgspec.msgpack.decode(content, type=RemoteBuildAnswer)


class Workers(Protocol):
    """Thread-safe."""

    @property
    def place(self) -> str:
        """Return the location of the workers for messages."""

    @property
    def threads(self) -> int:
        """How many builds they carry out at once, as far as is known when the run begins."""

    @property
    def silent(self) -> tuple[str, ...]:
        """Return the workers that were excluded because they did not respond."""

    def leave_out(self, worker: str) -> None:
        """Exclude this worker from further questions."""

    def ask(self, question: bytes) -> bytes:
        """Waits for the answer of one of them. Raises GaveUpError or GoneError."""

    def close(self) -> None:
        """Close the connection and cancel running builds."""


class GaveUpError(Exception):
    """Workers died repeatedly during the build; `str` has the message."""


class GoneError(Exception):
    """The cluster is no longer reachable; `str` has the reason."""
