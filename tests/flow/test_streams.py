"""Streams as only a process has them: a terminal, a reader that leaves."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.project import Project, environment, project

ESCAPE = "\x1b["


@pytest.mark.parametrize(
    ("env", "wanted"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
    ids=["plain", "NO_COLOR", "dumb"],
)
def test_terminal_output_is_coloured_unless_disabled(
    env: Mapping[str, str], tmp_path: Path, *, wanted: bool
) -> None:
    made = project(tmp_path)
    assert (ESCAPE in on_a_terminal(made, ("plan",), {"TERM": "xterm", **env})) is wanted


def on_a_terminal(made: Project, words: tuple[str, ...], env: Mapping[str, str]) -> str:
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "fabric", *words],
        cwd=made.root,
        env=environment(made.home, env),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    said = b""
    while part := _read(ours):
        said += part
    os.close(ours)
    assert child.wait(30) == 0
    return said.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other side is closed: Linux says EIO, not end of file
        return b""


def test_early_closed_stdout_is_not_an_error(tmp_path: Path) -> None:
    made = project(tmp_path)
    child = made.start("plan", "--json")
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    said = child.stderr.read()
    child.stderr.close()
    assert child.wait(30) == 0
    assert "Traceback" not in said
    assert "BrokenPipe" not in said


def test_deploy_continues_when_stderr_is_closed(tmp_path: Path) -> None:
    made = project(tmp_path)
    child = made.start("deploy", "--json")
    assert child.stdout is not None
    assert child.stderr is not None
    child.stderr.close()
    assert json.loads(child.stdout.read())["ok"] is True
    child.stdout.close()
    assert child.wait(30) == 0
