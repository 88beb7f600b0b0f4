"""Run a command of a config, such as `build.command`, a step or a hook: one way for all of them.

Output, messages and errors contain no credentials.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem, replace_problems
from fabric.model.secrets.secrecy import redact_credentials
from fabric.system.process.process import CannotStartError, run_child

# The last lines of each stream, in frames and of cached commands.
_LINES = 20
# In characters, like those of deploy commands.
_LONGEST_LINE = 300

# Turns output into text without secrets.
Show: TypeAlias = Callable[[bytes], str]


def show_output(raw: bytes) -> str:
    return redact_credentials(raw.decode(errors="replace"))


class CommandOutput(Struct, frozen=True):
    """The printed text of a command, without secrets."""

    stdout: str
    stderr: str

    def text(self) -> str:
        return "\n".join(filter(None, (self.stdout, self.stderr)))

    def last_lines(self) -> str:
        """Return the last lines of both streams. Compilers print errors to stdout, and package
        tools print warnings to stderr."""
        return "\n".join(_list_last_lines(self.stdout, self.stderr))


def _list_last_lines(*streams: str) -> Iterator[str]:
    for lines in map(str.splitlines, streams):
        if len(lines) > _LINES:
            yield f"… {len(lines) - _LINES} earlier lines"
        yield from (
            one if len(one) <= _LONGEST_LINE else f"{one[:_LONGEST_LINE]}…"
            for one in lines[-_LINES:]
        )


class ConfigCommand(Struct, frozen=True, kw_only=True):
    """A command of a config, and how problems describe it."""

    # A failure without its cause: the code, the owner of the command, and the hint.
    failed: Problem
    command: tuple[str, ...]
    timeout_hint: str
    # In seconds.
    timeout: int = 900
    noun: str = "the command"
    # Instead of the command line, for commands that are not of the user.
    title: str = ""
    show: Show = show_output

    def failure(self, what: str, *, hint: str = "", frame: str = "") -> FabricError:
        line = self.show(shlex.join(self.command).encode(errors="replace"))
        called = self.title or f"{self.noun} `{line}`"
        message = f"{self.failed.message}: {called} {what}"
        hint = hint or self.failed.hint
        return FabricError(replace(self.failed, message=message, hint=hint, frame=frame))


def run_config_command(one: ConfigCommand, cwd: Path, env: Mapping[str, str]) -> CommandOutput:
    """Run the command and return its output. Raises if it fails or exceeds its timeout."""
    try:
        done = run_child(one.command, cwd=cwd, env=env, timeout=one.timeout)
    except CannotStartError as error:
        raise replace_problems(error, [_name_command(one, error.first)]) from error
    except FabricError as error:
        if error.first.code != "process/timeout":
            raise
        what = f"did not end within {one.timeout} s"
        raise one.failure(what, hint=one.timeout_hint) from error
    output = CommandOutput(one.show(done.stdout).strip(), one.show(done.stderr).strip())
    if done.code:
        raise one.failure(f"exited with code {done.code}", frame=output.last_lines())
    return output


def _name_command(one: ConfigCommand, problem: Problem) -> Problem:
    message = f"{one.failed.message}: {problem.message}"
    return replace(problem, message=one.show(message.encode(errors="replace")))
