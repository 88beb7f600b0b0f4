"""Nothing to do: the benchmark's graph beside the peers, every output checked."""

from collections.abc import Sequence

from benchmarks.copytree import idle, primed, same_outputs
from benchmarks.peers import DOIT, FABRIC, NINJA, TURBO, Tool
from benchmarks.rounds import alternate, peak_mb
from benchmarks.row import Options, Result, Row, beside, shown
from benchmarks.rows.startup import bare


def _seven_thousand(options: Options) -> Sequence[Result]:
    return _beside(options, 1000, {NINJA: 1.0, DOIT: 0.1, TURBO: 0.1})


def _thirty_five_thousand(options: Options) -> Sequence[Result]:
    return _beside(options, 5000, {NINJA: 0.7})


def _beside(options: Options, services: int, bounds: dict[Tool, float]) -> Sequence[Result]:
    shape = options.shape(services)
    tools = (FABRIC, *bounds)
    for tool in tools:
        primed(tool, shape)
    same_outputs(tools, shape)
    sides = [bare(), *(idle(tool, shape) for tool in tools)]
    _, ours, *theirs = shown(alternate(sides, options.rounds))
    claim = f"nothing to do, {shape.tasks} tasks"
    results = [
        beside(f"{claim} / {tool.name}", ours, timing, bound)
        for (tool, bound), timing in zip(bounds.items(), theirs, strict=True)
    ]
    own, floor = peak_mb(sides[1]), peak_mb(sides[0])
    memory = Result(
        f"{claim}, peak memory / bare python",
        f"{own:.1f} MB",
        f"{floor:.1f} MB",
        own / floor,
        2.5 if services == 5000 else None,
    )
    return [*results, memory]


ROWS = (
    Row("nothing", "nothing to do, 7,000 tasks, beside ninja, doit and turbo", _seven_thousand),
    Row("nothing-large", "nothing to do, 35,000 tasks, and memory", _thirty_five_thousand),
)
