"""Messages to and from a build process: a length, then that number of bytes of msgpack."""

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

Message = TypeVar("Message", bound=Struct)


class BuildQuestion(Struct, frozen=True):
    """A build request. With a `toolchain`, only a process with this identity builds it."""

    workspace: str
    inputs: BuildInputs
    toolchain: str = ""
    # That of the requesting machine, if another one.
    environment: Pairs = ()


class BuildAnswer(Struct, frozen=True):
    """A build result or a problem. With neither, the requesting process must build it to get the
    error."""

    built: Built | None = None
    problems: tuple[Problem, ...] = ()
    # The available toolchain if it differs from the requested one.
    other_toolchain: str = ""


def encode_message(said: Struct) -> bytes:
    """Encode a message. Raises ValueError if it is too large or not valid Unicode, as file names
    can be."""
    body = msgspec.msgpack.encode(said)
    if len(body) > _LONGEST:
        raise ValueError
    return len(body).to_bytes(_LENGTH) + body


def read_message(stream: IO[bytes], kind: type[Message]) -> Message | None:
    """Read a message. None at the end, or for a truncated or invalid message."""
    head = stream.read(_LENGTH)
    length = int.from_bytes(head)
    if len(head) < _LENGTH or length > _LONGEST:
        return None
    body = stream.read(length)
    return msgspec.msgpack.decode(body, type=kind) if len(body) == length else None
