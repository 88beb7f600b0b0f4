"""What the scheduler costs for each task that does nothing, beside dask's threaded scheduler."""

from collections.abc import Sequence
from statistics import median

from benchmarks.peers import python_peers
from benchmarks.places import REPO, WORK, program
from benchmarks.rounds import Side, alternate
from benchmarks.row import Measured, Options, Result, Row
from benchmarks.trivialgraph import COUNT


def _run(options: Options) -> Sequence[Result]:
    bare, whole, dask = Measured(), Measured(), Measured()
    peer = (str(python_peers() / "bin/python"), str(REPO / "benchmarks" / "dasktool.py"))
    sides = [
        Side("scheduler", (program("trivial"), "scheduler"), WORK, check=bare.hear),
        Side("whole step", (program("trivial"), "whole"), WORK, check=whole.hear),
        Side("dask", peer, WORK, check=dask.hear),
    ]
    alternate(sides, options.rounds)
    return [
        _result("scheduler overhead per trivial task / dask.threaded", bare, dask, 0.5),
        _result("the same with deciding and remembering / dask.threaded", whole, dask, None),
    ]


def _result(claim: str, ours: Measured, theirs: Measured, bound: float | None) -> Result:
    for one in (*ours.values, *theirs.values):
        if one["tasks"] != COUNT:
            raise SystemExit(f"{claim}: {one['tasks']} tasks ran, not {COUNT}")
    own, other = (median(one["seconds"] for one in told.values) for told in (ours, theirs))
    return Result(claim, f"{own * 1e6:.1f} us", f"{other * 1e6:.1f} us", own / other, bound)


ROWS = (Row("overhead", "scheduler overhead per trivial task, beside dask.threaded", _run),)
