"""A run on a real terminal."""

import os
import pty
import subprocess
import sys
from pathlib import Path

from tests.support.in_process import compose
from tests.support.project import Project, environment


def on_a_terminal(made: Project, *words: str) -> str:
    master, slave = pty.openpty()
    env = environment(made.home, {"TERM": "xterm", "NO_COLOR": "1"})
    child = subprocess.Popen(
        [sys.executable, "-m", "fabric", *words], cwd=made.root, env=env, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=slave,
    )  # fmt: skip
    os.close(slave)
    said = b""
    try:
        while chunk := os.read(master, 65536):
            said += chunk
    except OSError:  # the other end was closed
        pass
    os.close(master)
    assert child.wait(60) == 0
    return said.decode()


def test_terminal_prints_service_lines_above_a_transient_table(tmp_path: Path) -> None:
    said = on_a_terminal(compose(tmp_path, site=("api",), api=(), jobs=()), "compose", "build")
    assert "✓ api: 1 ran" in said
    assert "> build:" not in said
    assert said.endswith("\x1b[J")
