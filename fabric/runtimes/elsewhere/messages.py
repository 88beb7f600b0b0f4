"""What is said to a process that builds, and by it: a length, and so many bytes of msgpack."""

from typing import IO, TypeVar

import msgspec
from msgspec import Struct

from fabric.model.problems import Problem
from fabric.model.task import Pairs
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.contract import Built

_LENGTH = 8
# Text that somebody else wrote would be read as a far greater length.
_LONGEST = 1 << 32

Said = TypeVar("Said", bound=Struct)


class BuildQuestion(Struct, frozen=True):
    """With a `toolchain` it is built only by one of this identity; `environment` is what a command
    is told of the machine that asks, where that is another one."""

    workspace: str
    inputs: BuildInputs
    toolchain: str = ""
    environment: Pairs = ()


class BuildAnswer(Struct, frozen=True):
    """What was built, or why it cannot be; with neither, it has to be asked where that can be
    told. `other_toolchain` is what there is in place of the one that was asked for."""

    built: Built | None = None
    problems: tuple[Problem, ...] = ()
    other_toolchain: str = ""


def message(said: Struct) -> bytes:
    """Raises ValueError for text that is no Unicode, as names of files can be, and for too much."""
    body = msgspec.msgpack.encode(said)
    if len(body) > _LONGEST:
        raise ValueError
    return len(body).to_bytes(_LENGTH) + body


def read_message(stream: IO[bytes], kind: type[Said]) -> Said | None:
    """None where nothing more is said, the end is missing, or it is no message at all."""
    head = stream.read(_LENGTH)
    length = int.from_bytes(head)
    if len(head) < _LENGTH or length > _LONGEST:
        return None
    body = stream.read(length)
    return msgspec.msgpack.decode(body, type=kind) if len(body) == length else None
