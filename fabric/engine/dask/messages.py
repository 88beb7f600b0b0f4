"""What is said to a worker of a cluster, and by it: msgpack, nothing that could run code."""

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
    """What has to be equal on both sides: versions, and the shared cache between them. Of its keys
    each has to know the first of the other, which seals."""

    fabric: str
    python: str
    cache: str
    keys: tuple[str, ...] = ()


class FarQuestion(Struct, frozen=True):
    """One build. `depth` is how many folders lie above the workspace, all of which are searched;
    `toolchain` is the identity of what it is to be built with, `environment` what a command is
    told of the machine that asks."""

    side: SameSide
    snapshot: StoredBytes
    inputs: BuildInputs
    depth: int
    toolchain: str
    environment: Pairs = ()


class FarAnswer(Struct, frozen=True):
    """What was built, or why it cannot be. Contents that are not in `built` lie in `stored`, one
    after the other, with these `sizes`.

    `lacks` is what keeps this worker from building it: somebody else may. With `is_unlike` it can
    build nothing for whoever asked; with `is_missing` what the question names is not in the shared
    cache any more, with `is_cut_off` that cannot be reached. `took_ms` is how long the build took.
    """

    worker: str
    built: Built | None = None
    problems: tuple[Problem, ...] = ()
    stored: StoredBytes | None = None
    sizes: tuple[int, ...] = ()
    lacks: str = ""
    is_unlike: bool = False
    is_missing: bool = False
    is_cut_off: bool = False
    took_ms: int = 0


def encode(said: FarQuestion | FarAnswer) -> bytes:
    """Raises ValueError for text that is no Unicode."""
    return msgspec.msgpack.encode(said)


def decode_question(content: bytes) -> FarQuestion:
    return msgspec.msgpack.decode(content, type=FarQuestion)


def decode_answer(content: bytes) -> FarAnswer:
    return msgspec.msgpack.decode(content, type=FarAnswer)
