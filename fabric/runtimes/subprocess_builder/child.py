"""Another interpreter as a child process of this run, which builds one function at a time."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import IO, TypeVar

import msgspec
from msgspec import Struct

from fabric.model.problems import Problem
from fabric.model.task import Pairs
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.contract import Built
from fabric.system.process.child_reaper import keep_child
from fabric.system.process.process import kill_child, start_child

# Messages to and from a build process: a length, then that number of bytes of msgpack.


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


_PROGRAM = "fabric.runtimes.subprocess_builder.program"
# How this interpreter finds its modules and reads names; no secret is among it.
_NEEDED = ("PATH", "PYTHON", "LANG", "LC_", "HOME", "LD_LIBRARY_PATH")


class LostChildError(Exception):
    """The child has ended or sent an invalid message; it is not used again."""


class BuildChild:
    """A build process for one thread at a time. It ends with this process, however that ends."""

    def __init__(self, environment: Mapping[str, str], program: str = _PROGRAM) -> None:
        """Start the child. Raises FabricError if no process can be started."""
        self._closing = contextlib.ExitStack()
        with contextlib.ExitStack() as stack:
            theirs, ours = os.pipe()
            self._questions = stack.enter_context(os.fdopen(ours, "wb"))
            started = partial(_start_process, theirs, environment, program)
            self._process = stack.enter_context(keep_child(theirs, started))
            stack.callback(kill_child, self._process)
            self._closing = stack.pop_all()

    @property
    def pid(self) -> int:
        return self._process.pid

    def answer(self, workspace: Path, inputs: BuildInputs) -> BuildAnswer:
        return self.answer_to(BuildQuestion(str(workspace), inputs))

    def answer_to(self, question: BuildQuestion) -> BuildAnswer:
        """Send a request and wait for the result without blocking other threads. Raises
        LostChildError."""
        try:
            asked = encode_message(question)
        except ValueError:
            return BuildAnswer()
        assert self._process.stdout is not None  # noqa: S101 - it is piped
        try:
            self._questions.write(asked)
            self._questions.flush()
            said = read_message(self._process.stdout, BuildAnswer)
        except (OSError, msgspec.DecodeError) as error:
            raise LostChildError from error
        if said is None:
            raise LostChildError
        return said

    def close(self) -> None:
        """End the child immediately: its results are no longer needed."""
        with contextlib.suppress(BrokenPipeError):
            self._closing.close()
        if self._process.stdout is not None:
            self._process.stdout.close()


def select_import_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Select the variables that locate an interpreter's modules, and no others."""
    return {name: value for name, value in environment.items() if name.startswith(_NEEDED)}


def _start_process(
    stdin: int, environment: Mapping[str, str], program: str
) -> subprocess.Popen[bytes]:
    try:
        return start_child(
            [sys.executable, "-P", "-m", program],
            cwd=Path(),
            env=environment,
            stdin=stdin,
            stderr=subprocess.DEVNULL,
        )
    finally:
        os.close(stdin)
