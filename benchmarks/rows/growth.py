"""Ten times the tasks must cost about ten times as much, not more."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from benchmarks.copygraph import Shape
from benchmarks.copytree import from_nothing, idle, primed
from benchmarks.peers import FABRIC
from benchmarks.rounds import Side, alternate
from benchmarks.row import Options, Result, Row, beside, shown
from benchmarks.rows.plan import PLAN, planning, restore

_BOUND = 11.0
# A cold run of 70,000 tasks takes long: a few rounds must do.
_FEW = 3


def _cold(options: Options) -> Sequence[Result]:
    few = min(options.rounds, _FEW)
    return _grown("cold", partial(from_nothing, FABRIC), options, few)


def _nothing(options: Options) -> Sequence[Result]:
    for shape in _shapes(options):
        primed(FABRIC, shape)
    return _grown("nothing to do", partial(idle, FABRIC), options, options.rounds)


def _plan(options: Options) -> Sequence[Result]:
    shapes = _shapes(options)
    for shape in shapes:
        primed(FABRIC, shape)
    results = _grown("plan", partial(planning, PLAN), options, options.rounds)
    for shape in shapes:
        restore(planning(PLAN, shape).cwd)
    return results


def _grown(
    what: str, side_of: Callable[[Shape], Side], options: Options, rounds: int
) -> Sequence[Result]:
    small, large = _shapes(options)
    sides = [replace(side_of(shape), name=f"{what}, {shape.tasks}") for shape in (small, large)]
    base, grown = shown(alternate(sides, rounds, warm_up=0))
    claim = f"growth of {what}, {large.tasks} / {small.tasks} tasks"
    return [beside(claim, grown, base, _BOUND, f"n={rounds}")]


def _shapes(options: Options) -> tuple[Shape, Shape]:
    return options.shape(1000), options.shape(10_000)


ROWS = (
    Row("growth-cold", "cold, 70,000 tasks beside 7,000", _cold),
    Row("growth-nothing", "nothing to do, 70,000 tasks beside 7,000", _nothing),
    Row("growth-plan", "plan, 70,000 tasks beside 7,000", _plan),
)
