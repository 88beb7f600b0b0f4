"""Everything from nothing: no output, no cache, no log."""

from collections.abc import Sequence

from benchmarks.copytree import from_nothing, same_outputs
from benchmarks.peers import DOIT, FABRIC, NINJA
from benchmarks.rounds import alternate
from benchmarks.row import Options, Result, Row, beside, shown


def _run(options: Options) -> Sequence[Result]:
    shape = options.shape(1000)
    tools = (FABRIC, NINJA, DOIT)
    sides = [from_nothing(tool, shape) for tool in tools]
    ours, ninja, doit = shown(alternate(sides, options.rounds))
    same_outputs(tools, shape)
    claim = f"cold, {shape.tasks} tasks"
    return [
        beside(f"{claim} / ninja", ours, ninja, 1.0),
        beside(f"{claim} / doit", ours, doit, 1.3),
    ]


ROWS = (Row("cold", "cold, 7,000 tasks, beside ninja and doit", _run),)
