"""What is said to a process that builds, and by it: a length, and so many bytes of msgpack."""

from typing import IO, TypeVar

import msgspec
from msgspec import Struct

from fabric.model.problems import Problem
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.contract import Built

_LENGTH = 8

Said = TypeVar("Said", bound=Struct)


class BuildQuestion(Struct, frozen=True):
    workspace: str
    inputs: BuildInputs


class BuildAnswer(Struct, frozen=True):
    """What was built, or why it cannot be; with neither, it has to be asked where that can be
    told."""

    built: Built | None = None
    problems: tuple[Problem, ...] = ()


def message(said: Struct) -> bytes:
    """Raises ValueError for text that is no Unicode: names of files can be that."""
    body = msgspec.msgpack.encode(said)
    return len(body).to_bytes(_LENGTH) + body


def read_message(stream: IO[bytes], kind: type[Said]) -> Said | None:
    """None where nothing more is said, or the end is missing."""
    head = stream.read(_LENGTH)
    length = int.from_bytes(head)
    body = stream.read(length) if len(head) == _LENGTH else b""
    if len(head) < _LENGTH or len(body) < length:
        return None
    return msgspec.msgpack.decode(body, type=kind)
