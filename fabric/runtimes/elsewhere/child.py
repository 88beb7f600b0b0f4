"""Another interpreter, as a process of this run: it builds what it is asked to, one at a time."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import msgspec

from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.elsewhere.messages import BuildAnswer, BuildQuestion, message, read_message
from fabric.system.child_keeper import kept
from fabric.system.process import kill_child, start_child

_PROGRAM = "fabric.runtimes.elsewhere.program"
# How this interpreter finds its modules and reads names; no secret is among it.
_NEEDED = ("PATH", "PYTHON", "LANG", "LC_", "HOME", "LD_LIBRARY_PATH")


class LostChildError(Exception):
    """The process has ended, or says what nobody understands: it is asked nothing more."""


class BuildChild:
    """For one thread at a time. It ends with this process, however that ends."""

    def __init__(self, environment: Mapping[str, str], program: str = _PROGRAM) -> None:
        """Raises FabricError where no process can be started."""
        self._closing = contextlib.ExitStack()
        with contextlib.ExitStack() as stack:
            theirs, ours = os.pipe()
            self._questions = stack.enter_context(os.fdopen(ours, "wb"))
            started = partial(_started, theirs, environment, program)
            self._process = stack.enter_context(kept(theirs, started))
            stack.callback(kill_child, self._process)
            self._closing = stack.pop_all()

    @property
    def pid(self) -> int:
        return self._process.pid

    def answer(self, workspace: Path, inputs: BuildInputs) -> BuildAnswer:
        return self.answer_to(BuildQuestion(str(workspace), inputs))

    def answer_to(self, question: BuildQuestion) -> BuildAnswer:
        """Raises LostChildError; waits with the interpreter free for others."""
        try:
            asked = message(question)
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
        """At once: what it has been asked for is not wanted any more."""
        with contextlib.suppress(BrokenPipeError):
            self._closing.close()
        if self._process.stdout is not None:
            self._process.stdout.close()


def needed_of(environment: Mapping[str, str]) -> dict[str, str]:
    """What leads an interpreter to its modules, and no more."""
    return {name: value for name, value in environment.items() if name.startswith(_NEEDED)}


def _started(stdin: int, environment: Mapping[str, str], program: str) -> subprocess.Popen[bytes]:
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
