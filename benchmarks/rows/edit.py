"""One source file changed; and an edit whose output is byte-identical, which must stop the wave."""

from collections.abc import Sequence

from benchmarks.copytree import edited, idle, primed, same_outputs
from benchmarks.peers import FABRIC, NINJA, TURBO
from benchmarks.rounds import alternate
from benchmarks.row import Options, Result, Row, beside, shown

_CHANGE = "-- revision {number}\n"
# Copy, zip, publish: the publication comes out equal, so nothing above it runs.
_REACHED = 3


def _one_file(options: Options) -> Sequence[Result]:
    shape = options.shape(1000)
    tools = (FABRIC, NINJA, TURBO)
    for tool in tools:
        primed(tool, shape)
    sides = [edited(tool, shape, _CHANGE, _REACHED if tool is FABRIC else None) for tool in tools]
    ours, ninja, turbo = shown(alternate(sides, options.rounds))
    same_outputs(tools, shape)
    claim = f"one source file changed, {shape.tasks} tasks"
    note = f"fabric runs {_REACHED} tasks, the peers the whole closure"
    return [
        beside(f"{claim} / ninja", ours, ninja, 1.5, note),
        beside(f"{claim} / turbo", ours, turbo, 0.15, note),
    ]


def _same_output(options: Options) -> Sequence[Result]:
    shape = options.shape(1000)
    primed(FABRIC, shape)
    note = "\fa note: revision {number}\n"
    pair = [edited(FABRIC, shape, note, 1), idle(FABRIC, shape)]
    ours, nothing = shown(alternate(pair, options.rounds))
    claim = "an edit whose output is equal (exactly 1 task ran) / nothing to do"
    return [beside(claim, ours, nothing, 3.0)]


ROWS = (
    Row("edit", "one source file changed, 7,000 tasks, beside ninja and turbo", _one_file),
    Row("cutoff", "an edit with a byte-identical output: one task runs", _same_output),
)
