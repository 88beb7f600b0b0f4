"""A process that has imported fabric and becomes one command line after another, by fork.

A round costs what the command costs, not what the interpreter's start does. It reads one JSON job a
line and answers one JSON line for each that ended. It holds no threads, so that a fork is safe.
"""

import importlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from benchmarks.reliability import faulty


@dataclass(frozen=True, slots=True)
class Job:
    """`kill_after` are the seconds to SIGKILL; `fault` is an errno and the operation to fail."""

    number: int
    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    log: str
    kill_after: float | None = None
    fault: tuple[int, int, str] | None = None


@dataclass(slots=True)
class Child:
    job: Job
    pid: int
    fd: int
    begun: float

    @property
    def deadline(self) -> float:
        after = self.job.kill_after
        return float("inf") if after is None else self.begun + after


def main() -> None:
    for name in sys.argv[1:]:
        importlib.import_module(name)
    _answer({"ready": True})
    children: dict[int, Child] = {}
    rest = b""
    while True:
        ready = _waited(children)
        for fd in set(ready) & set(children):
            _reap(children.pop(fd))
        _kill_what_is_due(children.values())
        if 0 in ready:
            content = os.read(0, 1 << 20)
            if not content:
                return
            *lines, rest = (rest + content).split(b"\n")
            begun = [_begun(_job(json.loads(line))) for line in lines]
            children |= {child.fd: child for child in begun}


def _kill_what_is_due(children: Iterable[Child]) -> None:
    for child in children:
        if time.perf_counter() >= child.deadline:
            os.kill(child.pid, signal.SIGKILL)
            child.job = _without_deadline(child.job)


def _waited(children: dict[int, Child]) -> list[int]:
    nearest = min((child.deadline for child in children.values()), default=float("inf"))
    timeout = None if nearest == float("inf") else max(0.0, nearest - time.perf_counter())
    return select.select([0, *children], [], [], timeout)[0]


def _begun(job: Job) -> Child:
    begun = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        _become(job)
    return Child(job, pid, os.pidfd_open(pid), begun)


def _become(job: Job) -> None:
    """The command line itself, in its own session as a shell would start it; never returns."""
    try:
        os.setsid()
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"{job.log}.{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(job.cwd)
        os.environ.clear()
        os.environ.update(job.env)
        sys.argv = ["fabric", *job.argv]
        if job.fault:
            faulty.arm(job.cwd, *job.fault)
        importlib.import_module("fabric.__main__").main()
    except SystemExit as end:
        os._exit(end.code if isinstance(end.code, int) else 1)
    except BaseException:  # noqa: BLE001 - this is what an interpreter does at its end
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(70)


def _reap(child: Child) -> None:
    _, status = os.waitpid(child.pid, 0)
    seconds = time.perf_counter() - child.begun
    os.close(child.fd)
    code = os.waitstatus_to_exitcode(status)
    _answer({"number": child.job.number, "code": code, "seconds": seconds})


def _job(document: dict[str, Any]) -> Job:
    fault = document.pop("fault")
    argv = tuple(document.pop("argv"))
    return Job(argv=argv, fault=fault and tuple(fault), **document)


def _without_deadline(job: Job) -> Job:
    return Job(job.number, job.argv, job.cwd, job.env, job.log)


def _answer(document: dict[str, Any]) -> None:
    os.write(1, json.dumps(document).encode() + b"\n")


if __name__ == "__main__":
    faulty.install()
    main()
