"""SIGTERM at any instant: one JSON document, whatever the command was at."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fabric import interrupt_message
from fabric.model.problems import FabricError, Problem
from fabric.model.report import make_failure_report
from fabric.views.report_json import encode_report
from tests.support.project import SECONDS, Project, environment, project

pytestmark = pytest.mark.timeout(240)

# Counts the function calls of a command, and sends the signal at one of them. Not in the callback
# of a weak reference (`cb` of the import system): Python prints and drops an exception there.
PROGRAM = """
import os, sys
last = int(sys.argv.pop(1))
number = int(sys.argv.pop(1))
count = 0
def seen(frame, event, arg):
    global count, last
    count += 1
    if last and count >= last and frame.f_code.co_name != "cb":
        last = 0
        os.kill(os.getpid(), number)
end = os._exit
def told(code):
    sys.setprofile(None)
    os.write(2, b"\\ncalls %d" % count)
    end(code)
os._exit = told
sys.argv[0] = "fabric"
import fabric.__main__
sys.setprofile(seen)
fabric.__main__.main()
"""
_SHARES = (0.0, 0.15, 0.4, 0.7, 0.95, 1.0)
_FIRST = 40  # by then the signal has a meaning


def interrupted(
    made: Project, call: int, *words: str, number: int = signal.SIGTERM
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, str(call), str(number), *words],
        cwd=made.root,
        env=environment(made.home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@pytest.mark.parametrize("words", [("plan",), ("build",), ("state", "list"), ("deploy", "--force")])
def test_a_command_that_is_ended_answers_with_one_document(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    made = project(tmp_path)
    assert made.fabric("deploy").code == 0
    whole = interrupted(made, 0, *words, "--json")
    calls = int(whole.stderr.rpartition("calls ")[2])
    for share in _SHARES:
        done = interrupted(made, _FIRST + int(share * (calls - _FIRST)), *words, "--json")
        assert done.stdout, (share, done)
        document = json.loads(done.stdout)
        assert done.returncode == (0 if document["ok"] else 130), (share, done)
        if not document["ok"]:
            assert document["error"]["code"] == "run/interrupted"
        assert "Traceback" not in done.stderr
    assert made.fabric("deploy").code == 0


@pytest.mark.parametrize("argv", [(), ("plan",), ("compose", "deploy", "-f", "x"), ('a"\\ü\n',)])
def test_the_last_words_have_the_shape_of_every_failure(argv: tuple[str, ...]) -> None:
    problem = Problem("run/interrupted", "interrupted", hint="run the command again to continue")
    usual = encode_report(
        make_failure_report(interrupt_message.command_of(argv), FabricError(problem))
    )
    assert json.loads(interrupt_message.document(argv)) == usual


def test_a_stored_answer_is_given_once(tmp_path: Path) -> None:
    made = project(tmp_path)
    for _ in range(2):
        assert made.fabric("build", "--json").code == 0
    calls = int(interrupted(made, 0, "build", "--json").stderr.rpartition("calls ")[2])
    for call in range(_FIRST, calls + 1, max(1, calls // 12)):
        done = interrupted(made, call, "build", "--json")
        assert isinstance(json.loads(done.stdout)["ok"], bool)


def test_signals_ignored_by_the_shell_stay_ignored(tmp_path: Path) -> None:
    """As `nohup` does it."""
    made = project(tmp_path)
    line = f'trap "" HUP; exec {sys.executable} -c "$0" 2000 {int(signal.SIGHUP)} build --json'
    done = subprocess.run(
        ["/bin/sh", "-c", line, PROGRAM],
        cwd=made.root,
        env=environment(made.home),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["ok"] is True
