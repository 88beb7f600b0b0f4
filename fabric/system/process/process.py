"""Child processes: a separate session, so that Ctrl-C reaches fabric first, and no inherited
descriptors."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.system.process.child_group import forget, get_child_group, send_signal
from fabric.system.process.child_reaper import keep_child


class CannotStartError(FabricError):
    """The program does not exist, or cannot be run here."""


class ChildResult(Struct, frozen=True):
    code: int
    stdout: bytes
    stderr: bytes

    def last_lines(self, count: int = 20) -> str:
        text = (self.stderr or self.stdout).decode(errors="replace")
        return "\n".join(text.strip().splitlines()[-count:])


def run_child(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    timeout: float = 900,
    stdin: bytes = b"",
) -> ChildResult:
    """Run to the end and collect both streams.

    A timeout ends the child's whole session. So does the end of this process, however it ends.
    """
    reader, writer = _open_pipe(argv[0])
    with (
        os.fdopen(writer, "wb") as ours,
        keep_child(reader, lambda: _start_reader(reader, argv, cwd, env)) as child,
    ):
        child.stdin = ours
        out, err = _collect_output(child, argv[0], stdin, timeout)
    forget(child)
    return ChildResult(child.returncode, out, err)


def _open_pipe(program: str) -> tuple[int, int]:
    try:
        return os.pipe()
    except OSError as error:
        raise _start_error(program, error) from error


def _start_reader(
    reader: int, argv: Sequence[str], cwd: Path, env: Mapping[str, str] | None
) -> subprocess.Popen[bytes]:
    try:
        return start_child(argv, cwd=cwd, env=env, stdin=reader)
    finally:
        os.close(reader)


def _collect_output(
    child: subprocess.Popen[bytes], program: str, stdin: bytes, timeout: float
) -> tuple[bytes, bytes]:
    try:
        return child.communicate(stdin, timeout)
    except subprocess.TimeoutExpired as error:
        end_child(child)
        for stream in (child.stdout, child.stderr):
            if stream is not None:
                stream.close()
        raise FabricError(
            Problem("process/timeout", f"timeout: `{program}` did not end within {timeout:.0f} s")
        ) from error
    except BaseException:
        end_child(child)
        raise


def start_child(  # noqa: PLR0913 - a child, and what joins it to us
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    stdin: int = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    group = get_child_group()
    group.refuse_if_closed()
    try:
        child = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=None if env is None else dict(env),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
            pass_fds=pass_fds,
        )
    except OSError as error:
        raise _start_error(argv[0], error, "check that it is installed and on PATH") from error
    group.add(child)
    return child


def _start_error(program: str, error: OSError, hint: str = "") -> CannotStartError:
    why = (error.strerror or str(error)).lower()
    return CannotStartError(
        Problem("process/cannot-start", f"cannot start `{program}`: {why}", hint)
    )


def ask_to_end(child: subprocess.Popen[bytes]) -> None:
    """Ask the child's whole session to end, and give it time."""
    send_signal(child, signal.SIGTERM)


def end_child(child: subprocess.Popen[bytes]) -> None:
    """Ask the child's whole session to end, then kill it, including processes that outlive the
    child."""
    if child.poll() is None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            send_signal(child, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(2)
    forget(child)


def kill_child(child: subprocess.Popen[bytes]) -> None:
    """Kill the child's whole session, which was asked to end before."""
    send_signal(child, signal.SIGKILL)
    child.wait()
    forget(child)
