"""Fleets of 1,000 to 100,000 services: their graph, and the scheduler in virtual time."""

import json
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise

from benchmarks.row import Options, Result, Row, ms

_WORKERS = 64
_SIZES = (1_000, 10_000, 100_000)


def _sizes(options: Options) -> Sequence[Result]:
    told = [_measured(options.size(size)) for size in _SIZES]
    return [*map(_near, told), *(_grown(*pair) for pair in pairwise(told))]


def _measured(services: int) -> dict[str, float]:
    argv = (sys.executable, "-m", "benchmarks.fleet_size", str(services), str(_WORKERS))
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    print(f"  {done.stdout.strip()}", flush=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _near(one: dict[str, float]) -> Result:
    minutes = one["makespan_min"]
    ratio = one["makespan_to_bound"]
    return Result(
        f"{one['tasks']:,} tasks of {one['services']:,} services, {_WORKERS} workers / bound",
        f"{minutes} min",
        f"{minutes / ratio:.1f} min",
        ratio,
        1.1,
        note=f"virtual time; {one['schedule_us_a_task']} us a task",
    )


def _grown(small: dict[str, float], large: dict[str, float]) -> Result:
    ours, theirs = (one["tasks_s"] + one["graph_s"] for one in (large, small))
    claim = f"tasks and graph of {large['services']:,} / {small['services']:,} services"
    return Result(claim, ms(ours), ms(theirs), ours / theirs, note="one run")


ROWS = (Row("fleet-size", "1,000 to 100,000 services, without building one", _sizes),)
