"""A holder that is stopped past its lease, and goes on after somebody else has deployed."""

import fcntl
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.reliability.field import Field, new_field
from benchmarks.reliability.paused_steps import rounds
from benchmarks.reliability.tally import Tally
from tests.support.project import Done, ended

COUNT = 100
LEASE = "0.5"
_SECONDS = 60
# Says that it runs, and waits in the middle of the deploy until it is told to go on.
_TOOL = """#!/bin/sh
if [ -e "{folder}/hold" ]; then
    touch "{folder}/inside"
    while [ -e "{folder}/hold" ]; do sleep 0.02; done
fi
echo '{{"endpoint": "https://live.example"}}'
"""


def run(count: int, folder: Path) -> Tally:
    field = _field(folder)
    field.made.json("deploy", env=field.env)
    wrong: list[str] = []
    for number in range(count):
        wrong += (f"round {number}: {one}" for one in _round(field, folder, number))
    (folder / "steps").mkdir()
    wrong += rounds(count, folder / "steps")
    told = {"inside of the call": count, "at a step before or after it": count}
    return Tally("paused", 2 * count, tuple(wrong), told)


def _field(folder: Path) -> Field:
    made, tool = new_field(folder / "field", 2), folder / "tool"
    tool.write_text(_TOOL.format(folder=folder))
    tool.chmod(0o755)
    made.env = {
        "FABRIC_CLOUD1_REAL_DEPLOY": "1",
        "FABRIC_CLOUD1_DEPLOY_CMD": str(tool),
        "FABRIC_LOCK_LEASE": LEASE,
    }
    return made


def _round(field: Field, folder: Path, number: int) -> Iterator[str]:
    """Stop one inside of its tool, let another deploy, and let the first go on."""
    hold, inside = folder / "hold", folder / "inside"
    hold.touch()
    field.edit("f00", f"paused {number}")
    first = field.made.start("deploy", "--json", env=field.env)
    _until(inside.exists, first)
    yield from _not_told(field.made.json("deploy", env=field.env), first.pid)
    _stop(first.pid, field)
    hold.unlink()
    inside.unlink()
    field.edit("f00", f"taken over {number}")
    second = field.made.json("deploy", "--lock-timeout", "30s", env=field.env)
    os.kill(first.pid, signal.SIGCONT)
    late = ended(first)
    if second.code != 0:
        yield f"the second deploy ended with {second.code}: {second.out}"
    if "state/lock-lost" not in _codes(late):
        yield f"the late one ended with {late.code}: {late.out}"
    yield from _wrongly_settled(field)
    yield from field.unsettled()


def _stop(pid: int, field: Field) -> None:
    """Between two beats: who is stopped in the middle of one holds the files of all others."""
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        os.kill(pid, signal.SIGSTOP)
        while not _is_stopped(pid):
            time.sleep(0.001)
        if _is_free(field.home / "state" / ".lock"):
            return
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.01)
    raise RuntimeError("it holds the file lock all the time")


def _is_stopped(pid: int) -> bool:
    """All threads of it: the signal takes a moment to reach them."""
    stats = Path(f"/proc/{pid}/task").glob("*/stat")
    return all(one.read_text().rpartition(")")[2].split()[0] == "T" for one in stats)


def _is_free(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _not_told(held: Done, pid: int) -> Iterator[str]:
    """Who does not wait is told who holds the lock."""
    if held.code != 75 or f"(pid {pid})" not in held.error["message"]:
        yield f"one that does not wait ended with {held.code}: {held.out}"


def _wrongly_settled(field: Field) -> Iterator[str]:
    """The late call may have reached the provider last: that is shown, and mended by a deploy."""
    plan = field.made.json("plan", "--detailed-exitcode", env=field.env)
    rows = [one for row in plan.document["result"]["services"] for one in row["functions"]]
    unknown = [one["name"] for one in rows if one["fields"].get("state")]
    if plan.code != 2 or "f00" not in unknown:
        yield f"the plan does not say what is unknown: {plan.out}"
    mending = field.made.json("deploy", env=field.env)
    if mending.code != 0 or not mending.result["summary"]["ran"]:
        yield f"the next deploy mends nothing: {mending.out}"


def _codes(done: Done) -> set[str]:
    return {problem["code"] for problem in json.loads(done.out)["error"]["problems"]}


def _until(is_so: Callable[[], bool], child: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + _SECONDS
    while not is_so():
        if child.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the first deploy did not reach its tool: {child.communicate()}")
        time.sleep(0.01)
