"""A build that holds two processors: what it makes, and what is left of it, however it ends."""

import ast
import functools
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.in_process import project
from tests.support.project import Project, ended, service
from tests.support.until import is_alive, until

if TYPE_CHECKING:
    import subprocess

NAMES = tuple(f"f{number}" for number in range(10))
# Each is so long to parse, however fast this machine is just now.
SECONDS = 0.15
LOST = "a parallel build process exited early"
PROGRAM = b"fabric.runtimes.subprocess_builder.program"
NEEDS_TWO = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor")


def lines_of(name: str, count: int) -> str:
    return "".join(f"def {name}_{one}(x): return {{'a': [x, {one}]}}\n" for one in range(count))


@functools.cache
def long_count() -> int:
    """So many lines. Other threads of this process, such as servers, do not count."""
    some = 1000
    text = lines_of("some", some)
    return int(some * SECONDS / min(_parse_seconds(text) for _ in range(5))) + 1


def _parse_seconds(text: str) -> float:
    began = time.thread_time()
    ast.parse(text)
    return time.thread_time() - began


def long(folder: Path) -> Project:
    sources = {
        f"{name}.py": f"{lines_of(name, long_count())}def handler(event, context): return 1\n"
        for name in NAMES
    }
    return project(folder, service("shop", *NAMES), sources)


def children_of(pid: int) -> Iterator[int]:
    """The processes that build for this one."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and PROGRAM in (path / "cmdline").read_bytes():
                yield int(path.name)
        except OSError:
            continue


def building_in_two(made: Project) -> tuple["subprocess.Popen[str]", int]:
    """A build that has its child by now."""
    running = made.start("build", "--json")
    until(lambda: running.poll() is not None or any(children_of(running.pid)))
    [child] = children_of(running.pid)
    return running, child


@NEEDS_TWO
def test_killed_build_child_is_reported_once_and_its_builds_are_repeated(tmp_path: Path) -> None:
    calm = long(tmp_path / "calm")
    assert LOST not in calm.json("build", "--concurrency", "1").err
    made = long(tmp_path / "rough")
    running, child = building_in_two(made)
    os.kill(child, signal.SIGKILL)
    done = ended(running)
    assert done.code == 0
    assert done.err.count(LOST) == 1
    assert done.result["summary"]["ran"] == len(NAMES)
    assert made.outputs() == calm.outputs()
    assert LOST not in made.json("build").err, "it was so of that run alone"


@NEEDS_TWO
@pytest.mark.parametrize(
    "signals",
    [(signal.SIGINT,), (signal.SIGINT, signal.SIGTERM), (signal.SIGKILL,)],
    ids=["interrupted", "cut off", "killed"],
)
def test_a_build_that_is_ended_leaves_no_child(
    signals: tuple[signal.Signals, ...], tmp_path: Path
) -> None:
    made = long(tmp_path)
    running, child = building_in_two(made)
    for number in signals:
        running.send_signal(number)
    if signal.SIGKILL in signals:
        running.communicate()
    else:
        done = ended(running)
        assert (done.code, done.error["code"]) == (130, "run/interrupted")
        assert LOST not in done.err
    until(lambda: not is_alive(child))
