"""Whole processes, timed from spawn to reap, the sides of a comparison taking turns.

Knows nothing of what it runs. Ratios are between medians of one set of rounds only.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.places import WORK


def _nothing() -> None:
    return


def _accept(output: str) -> None:
    del output


@dataclass(frozen=True, slots=True)
class Side:
    """A command; `prepare` runs before each round untimed, `check` reads its output after."""

    name: str
    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[], None] = _nothing
    check: Callable[[str], None] = _accept


@dataclass(frozen=True, slots=True)
class Sample:
    seconds: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Timing:
    """What the rounds of one side gave."""

    name: str
    samples: tuple[Sample, ...]

    @property
    def median(self) -> float:
        return statistics.median(one.seconds for one in self.samples)

    @property
    def spread(self) -> tuple[float, float]:
        times = [one.seconds for one in self.samples]
        return min(times), max(times)

    def __str__(self) -> str:
        low, high = self.spread
        cpu = statistics.median(one.cpu for one in self.samples)
        return (
            f"{self.name:28s} {self.median * 1e3:9.1f} ms ({low * 1e3:.1f}..{high * 1e3:.1f})"
            f"  cpu {cpu * 1e3:.1f} ms  n={len(self.samples)}"
        )


def alternate(sides: Sequence[Side], rounds: int, *, warm_up: int = 1) -> list[Timing]:
    """A B A B …: whatever else the machine does meets all sides alike."""
    samples: list[list[Sample]] = [[] for _ in sides]
    for number in range(-warm_up, rounds):
        for side, kept in zip(sides, samples, strict=True):
            side.prepare()
            sample = _once(side)
            if number >= 0:
                kept.append(sample)
    return [Timing(side.name, tuple(kept)) for side, kept in zip(sides, samples, strict=True)]


def _once(side: Side) -> Sample:
    log = WORK / f"output-{os.getpid()}.log"
    environment = {**os.environ, **side.env}
    out = os.open(log, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
    here = Path.cwd()
    os.chdir(side.cwd)
    try:
        sample, code = _spawned(side.argv, environment, out)
    finally:
        os.chdir(here)
        os.close(out)
    output = log.read_text(errors="replace")
    log.unlink()
    if code != 0:
        raise SystemExit(f"{side.name}: exit code {code}\n{output[-2000:]}")
    side.check(output)
    return sample


# A child's peak starts at its parent's: a bare python in between keeps this process out of it.
_LITTLE = """
import os, sys
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
print("peak", os.wait4(child, 0)[2].ru_maxrss)
"""


def peak_mb(side: Side) -> float:
    """The peak memory of one run of a side, in MB."""
    side.prepare()
    argv = [sys.executable, "-S", "-I", "-E", "-c", _LITTLE, *side.argv]
    env = {**os.environ, **side.env}
    done = subprocess.run(argv, cwd=side.cwd, env=env, capture_output=True, text=True, check=True)
    return int(done.stdout.rpartition("peak ")[2]) / 1024


def _spawned(argv: Sequence[str], environment: Mapping[str, str], out: int) -> tuple[Sample, int]:
    actions = [(os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_DUP2, out, 2)]
    begin = time.perf_counter()
    child = os.posix_spawnp(argv[0], list(argv), environment, file_actions=actions)
    _, status, used = os.wait4(child, 0)
    seconds = time.perf_counter() - begin
    sample = Sample(seconds, used.ru_utime + used.ru_stime)
    return sample, os.waitstatus_to_exitcode(status)
