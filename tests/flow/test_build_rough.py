"""Rough treatment: kills, interrupts, crowds and full disks; the next build is right again."""

import contextlib
import json
import os
import random
import resource
import select
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from tests.support.in_process import compose, project, typescript
from tests.support.project import TYPESCRIPT, Done, Project, ended, environment, handler, service
from tests.support.tool import Tool

KILLS_A_CASE = 5


def many(folder: Path) -> Project:
    """Enough functions that a kill meets every part of a run."""
    names = [f"f{number}" for number in range(8)]
    rows = "".join(f"  - {{name: {name}, entry: src/{name}.ts}}\n" for name in names)
    made = project(folder, TYPESCRIPT.partition("  - name")[0] + rows, sources={})
    made.write({"src/word.ts": 'export const word: string = "word";\n'})
    for name in names:
        text = f'import {{ word }} from "./word";\nexport const handler = () => word + "{name}";\n'
        made.write({f"src/{name}.ts": text})
    return made


def left_behind(made: Project) -> list[int]:
    """Processes of this test that live on: they have its HOME, and get some time to end."""
    return [pid for pid in _own(made) if not _ends(pid)]


def _own(made: Project) -> list[int]:
    mark = f"HOME={made.home}\0".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark in path.read_bytes():
                found.append(int(path.parent.name))
    return found


def _ends(pid: int) -> bool:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 5)[0])
    finally:
        os.close(handle)


# Kills.


@pytest.mark.parametrize("seed", range(2))
def test_after_a_kill_at_any_moment_the_next_build_is_as_if_nothing_had_been(
    seed: int, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    calm = many(tmp_path / "calm")
    assert calm.fabric("package").code == 0
    wanted = calm.outputs()
    made = many(tmp_path / "rough")
    for _ in range(KILLS_A_CASE):
        lost = chance.choice([".fabric", ".fabric/cache", ".fabric/build"])
        shutil.rmtree(made.root / lost, ignore_errors=True)
        _kill_in_between(made, chance.uniform(0.2, 0.9))
        assert made.fabric("package").code == 0
        assert made.outputs() == wanted
        assert made.leftovers() == []
    assert made.json("cache", "verify").result["removed"] == 0
    assert left_behind(made) == []


_WRITES = """\
import os, sys
from pathlib import Path
from fabric.engine.leftovers import mark_writing
from fabric.system.files.disk import RUN
cache = Path(sys.argv[1])
with mark_writing(cache, [cache.parent]):
    (cache / f".files.bin.{os.getpid():x}-1-{RUN}.tmp").touch()
    os._exit(0)
"""


def test_leftovers_of_a_killed_run_are_deleted_even_if_nothing_runs(tmp_path: Path) -> None:
    made = many(tmp_path / "rough")
    for _ in range(2):
        assert made.fabric("package").code == 0
    cache = made.root / ".fabric/cache"
    subprocess.run([sys.executable, "-c", _WRITES, str(cache)], check=True)
    assert len(made.leftovers()) == 1
    assert made.fabric("package").code == 0
    assert made.leftovers() == []


def _kill_in_between(made: Project, seconds: float) -> None:
    child = made.start("package")
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.communicate(timeout=seconds)
    child.kill()
    child.communicate()


# Crowds.


@pytest.mark.parametrize("count", [2, 4])
def test_many_builds_at_once_all_succeed_and_agree(count: int, tmp_path: Path) -> None:
    calm, made = many(tmp_path / "calm"), many(tmp_path / "crowd")
    assert calm.fabric("package").code == 0
    crowd = [made.start("package", "--json") for _ in range(count)]
    for done in [ended(child) for child in crowd]:
        assert done.code == 0, done
        assert len(done.result["artifacts"]) == 8
    assert made.outputs() == calm.outputs()
    assert made.json("package").result["summary"]["ran"] == 0
    assert made.json("cache", "verify").result["removed"] == 0


# Interrupts.


def gated(folder: Path) -> Project:
    """Functions whose own build command waits until somebody opens the gate."""
    names = [f"f{number:02}" for number in range(40)]
    command = (
        'build: {command: [sh, -c, "read word < $HOME/gate; echo $word > $FABRIC_OUT_DIR/x"]}\n'
    )
    made = project(folder, service("slow", *names) + command, sources={})
    made.write({f"{name}.py": handler(name) for name in names})
    os.mkfifo(made.home / "gate")
    return made


@contextlib.contextmanager
def opened(made: Project) -> Iterator[None]:
    """Let every waiting command through until the block ends."""
    over = threading.Event()
    gate = os.open(made.home / "gate", os.O_RDWR)

    def let_through() -> None:
        while not over.wait(0.01):
            os.write(gate, b"go\n")

    keeper = threading.Thread(target=let_through)
    keeper.start()
    try:
        yield
    finally:
        over.set()
        keeper.join()
        os.close(gate)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_build_finishes_running_tasks_and_reports_it(
    number: signal.Signals, tmp_path: Path
) -> None:
    made = gated(tmp_path)
    child = made.start("build", "--concurrency", "1", "--json")
    assert child.stderr is not None
    assert child.stderr.readline().startswith("> build:slow/")
    child.send_signal(number)
    with opened(made):
        done = ended(child)
    assert (done.code, done.error["code"]) == (130, "run/interrupted")
    summary = done.document["result"]["summary"]
    assert summary["ran"] >= 1
    assert summary["ran"] + summary["cached"] < 40
    assert made.leftovers() == []
    assert left_behind(made) == []
    [row] = made.json("runs", "list").result["runs"]
    assert row["status"] == "cancelled"
    with opened(made):
        again = made.json("build").result["summary"]
    assert again["ran"] == 40 - summary["ran"]


def test_second_interrupt_kills_running_tasks(tmp_path: Path) -> None:
    made = gated(tmp_path)
    child = made.start("build", "--concurrency", "1", "--json")
    assert child.stderr is not None
    assert child.stderr.readline().startswith("> build:slow/")
    child.send_signal(signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(0.3)  # two equal signals in one instant count as one
    child.send_signal(signal.SIGINT)
    done = ended(child)
    assert (done.code, done.error["code"]) == (130, "run/interrupted")
    assert done.document["result"]["summary"]["failed"] == 1
    assert "Traceback" not in done.err
    assert left_behind(made) == []
    with opened(made):
        assert made.fabric("build").code == 0


def cut_off(made: Project, tool: Tool, *words: str) -> Done:
    """A deploy that is told twice to stop: one service is done, the call for another hangs."""
    tool.takes(60, "slow")
    child = made.start("compose", "deploy", "--json", *words, env=tool.env())
    assert child.stderr is not None
    awaited = {"> deploy:slow", "✓ release:quick"}
    while awaited:
        line = child.stderr.readline()
        assert line, awaited
        awaited -= {one for one in awaited if line.startswith(one)}
    child.send_signal(signal.SIGINT)
    child.send_signal(signal.SIGTERM)
    return ended(child)


def test_killed_deploy_reports_and_records_completed_services(tmp_path: Path) -> None:
    made, tool = compose(tmp_path, quick=(), slow=(), after=("slow",)), Tool(tmp_path / "tool")
    done = cut_off(made, tool)
    assert (done.code, done.error["code"]) == (130, "run/interrupted")
    assert statuses(done.document) == {"quick": "deployed", "slow": "failed", "after": "cancelled"}
    assert left_behind(made) == []
    [row] = made.json("compose", "runs").result["runs"]
    assert row["status"] == "cancelled"
    tool.takes(0, "slow")
    again = made.json("compose", "deploy", env=tool.env())
    assert statuses(again.document) == {
        "quick": "unchanged",
        "slow": "deployed",
        "after": "deployed",
    }


def test_killed_service_deploy_counts_as_unknown(tmp_path: Path) -> None:
    made, tool = compose(tmp_path, quick=(), slow=()), Tool(tmp_path / "tool")
    made.json("compose", "deploy", env=tool.env())
    made.write({"quick/main.py": handler("newer"), "slow/main.py": handler("newer")})
    cut_off(made, tool)
    tool.takes(0, "slow")
    made.write({"slow/main.py": handler("slow")})
    again = made.json("compose", "deploy", env=tool.env())
    assert statuses(again.document)["slow"] == "deployed", "though it is what it was before"


def test_interrupted_deploy_reports_that_nothing_was_rolled_back(tmp_path: Path) -> None:
    made, tool = compose(tmp_path, quick=(), slow=()), Tool(tmp_path / "tool")
    done = cut_off(made, tool, "--rollback-on-failure")
    assert done.code == 130
    assert "rollback/interrupted" in {one["code"] for one in done.error["problems"]}
    assert statuses(done.document)["quick"] == "deployed"


TIDY = """\
import os, signal, sys, time
def leave(*_):
    os.write(2, b"the half-made stack is gone\\n")  # print may be under way
    os._exit(3)
signal.signal(signal.SIGTERM, leave)
print("making a stack", file=sys.stderr, flush=True)
time.sleep(600)
"""


def test_a_deploy_command_tidies_up_when_the_run_is_interrupted(tmp_path: Path) -> None:
    made = compose(tmp_path, shop=())
    (tmp_path / "tidy.py").write_text(TIDY)
    line = shlex.join([sys.executable, str(tmp_path / "tidy.py")])
    env = {"FABRIC_REAL_DEPLOY": "1", "FABRIC_CLOUD1_DEPLOY_CMD": line}
    child = made.start("compose", "deploy", "--json", env=env)
    assert child.stderr is not None
    before = read_until(child.stderr, "making a stack")
    assert before[-1] == "deploy:shop@cloud1-lambda: making a stack\n"
    child.send_signal(signal.SIGINT)
    done = ended(child)
    assert (done.code, done.error["code"]) == (130, "run/interrupted")
    assert "interrupted: waiting for deploy:shop" in done.err
    assert "deploy:shop@cloud1-lambda: the half-made stack is gone" in done.err
    assert "was interrupted and exited with code 3" in done.out
    assert left_behind(made) == []


def read_until(stream: IO[str], words: str) -> list[str]:
    lines = [stream.readline()]
    while words not in lines[-1]:
        assert lines[-1], lines
        lines.append(stream.readline())
    return lines


def statuses(document: dict[str, Any]) -> dict[str, str]:
    return {row["service"]: row["status"] for row in document["result"]["deployments"]}


def test_an_interrupted_node_build_leaves_no_process(tmp_path: Path) -> None:
    made = many(tmp_path)
    child = made.start("package", "--json", "--concurrency", "1")
    assert child.stderr is not None
    assert child.stderr.readline().startswith("> build:")
    child.send_signal(signal.SIGINT)
    done = ended(child)
    assert done.code in (0, 130)
    assert json.loads(done.out)["ok"] is (done.code == 0)
    assert left_behind(made) == []
    assert made.fabric("package").code == 0


# Disks.


@pytest.mark.parametrize("blocks", [0, 8, 40, 120])
def test_on_a_full_disk_nothing_is_half_written(blocks: int, tmp_path: Path) -> None:
    calm = typescript(tmp_path / "calm")
    assert calm.fabric("package").code == 0
    made = typescript(tmp_path / "full")
    with room_for(made, blocks * 1024) as limit:
        done = ended(_limited(made, limit, "package", "--json"))
        told_or_done(made, calm, done)
        kept = {path: seen for path, seen in made.outputs().items() if seen != "folder"}
        assert kept.items() <= calm.outputs().items()
        assert made.leftovers() == []
    assert made.fabric("package").code == 0
    assert made.outputs() == calm.outputs()


def told_or_done(made: Project, calm: Project, done: Done) -> None:
    """What cannot be written is told; where that is only the cache, all outputs are there."""
    assert "Traceback" not in done.err
    if done.code:
        assert done.code == 73, done
        assert done.error["code"].startswith("disk/")
    else:
        assert "warning[" in done.err
        assert made.outputs() == calm.outputs()


@contextlib.contextmanager
def room_for(made: Project, count: int) -> Iterator[int]:
    """A tiny disk below `.fabric`; where nothing can be mounted, a limit on each file instead."""
    folder = made.root / ".fabric"
    folder.mkdir()
    size = max(count, 4096)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        yield count
        return
    try:
        yield resource.RLIM_INFINITY
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def _limited(made: Project, limit: int, *words: str) -> "subprocess.Popen[str]":
    """fabric, with a limit on the size of the files that it may write. Compiled modules would be
    cut off as well, and every other process would fall over them."""
    program = f"import os,resource,sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, -1)); "
    program += "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    return subprocess.Popen(
        [sys.executable, "-c", program, "-m", "fabric", *words],
        cwd=made.root,
        env={**environment(made.home), "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("limit", [0, 2_000, 60_000])
def test_files_that_may_not_grow_are_a_clear_error(limit: int, tmp_path: Path) -> None:
    made = typescript(tmp_path)
    calm = typescript(tmp_path / "calm")
    assert calm.fabric("package").code == 0
    told_or_done(made, calm, ended(_limited(made, limit, "package", "--json")))
    assert made.leftovers() == []
    assert made.fabric("package").code == 0


def test_file_in_place_of_a_folder_is_a_clear_error(tmp_path: Path) -> None:
    made = project(tmp_path)
    made.write({".fabric": "in the way"})
    done = made.json("build")
    assert (done.code, done.error["code"]) == (73, "disk/cannot-write")
    assert ".fabric" in done.error["message"]
    assert made.json("plan", "--for", "build").code == 0
    done = made.json("plan")
    assert (done.code, done.error["code"]) == (69, "backend/unreachable")


# Tools.


def test_without_node_the_error_names_it(tmp_path: Path) -> None:
    made = typescript(tmp_path)
    done = made.json("build", env={"PATH": str(tmp_path)})
    assert done.code == 1
    assert done.error["code"] == "runtime/node-missing"
    (only,) = done.error["problems"]
    assert "Node" in only["message"]
    assert "(functions `" in only["message"]
    assert "Traceback" not in done.err
