"""The command line in this process: surroundings handed in as values, both streams kept.

What only a process shows (its end by a signal, a real terminal, what it loads) is for `tests/flow`.
"""

import contextlib
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from click.testing import CliRunner

from fabric import stage_zero
from fabric.app.settings import Settings, separate_keys
from fabric.cli import version
from fabric.cli.main import run
from fabric.cli.start import CommandStart
from tests.support import project as projects
from tests.support.project import Done, Project
from tests.support.until import a_tick

_CORES = 2
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def in_process(words: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Done:
    """As the door does it: stage 0 first, and the command line only if it steps aside."""
    a_tick(cwd)  # a process of its own takes longer to start
    with contextlib.chdir(cwd):  # it looks at paths as they stand, from where it was called
        stored = _stored(words, cwd, env)
    if stored is not None:
        return Done(*stored)
    if version.is_version_request(list(words)):
        return Done(0, version.format_version(as_json="--json" in words) + "\n", "")
    rest, withheld = separate_keys(env)
    settings = Settings(
        env=rest,
        cwd=cwd,
        cores=_CORES,
        stdout_is_terminal=False,
        stderr_is_terminal=False,
        withheld=withheld,
    )
    with signals_as_before(), CliRunner().isolation() as (out, err, _):
        code = run(list(words), CommandStart(tuple(words), settings))
        sys.stdout.flush()
        sys.stderr.flush()
    return Done(code, out.getvalue().decode(), err.getvalue().decode())


def _stored(words: Sequence[str], cwd: Path, env: Mapping[str, str]) -> tuple[int, str, str] | None:
    try:
        return stage_zero.find_answer(words, str(cwd), env)
    except OSError:  # a folder of inputs is gone
        return None


@contextlib.contextmanager
def signals_as_before() -> Iterator[None]:
    """A command that speaks its last words holds signals back: the next test is to hear them."""
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def project(folder: Path, config: str = "", sources: Mapping[str, str] | None = None) -> Project:
    return replace(projects.project(folder, config, sources), runs=in_process)


def typescript(folder: Path) -> Project:
    return replace(projects.typescript(folder), runs=in_process)


def compose(folder: Path, **needs: tuple[str, ...]) -> Project:
    return replace(projects.compose(folder, **needs), runs=in_process)
