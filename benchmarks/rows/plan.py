"""A plan of everything with reasons, after a library file changed, beside `turbo --dry=json`."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.copygraph import LIBS, Shape
from benchmarks.copytree import primed, revisions
from benchmarks.peers import FABRIC, TURBO, Tool, side
from benchmarks.places import program
from benchmarks.rounds import Side, alternate
from benchmarks.row import Options, Result, Row, beside, shown


def _stale_fabric(output: str) -> int:
    rows = json.loads(output)["tasks"]
    return sum(row["action"] != "skip" and bool(row["reason"]) for row in rows)


def _stale_turbo(output: str) -> int:
    rows = json.loads(output[output.index("{") :])["tasks"]
    return sum(row["cache"]["status"] == "MISS" for row in rows)


PLAN = replace(FABRIC, argv=lambda: (program("copytool"), "plan", "--json"), ran=_stale_fabric)
DRY = replace(TURBO, argv=lambda: (*TURBO.argv(), "--dry=json"), ran=_stale_turbo)


def planning(tool: Tool, shape: Shape) -> Side:
    """The side's library has another text in each round, so that every task is stale."""
    return side(tool, shape, _reviser(), shape.tasks)


def _reviser() -> Callable[[Path], None]:
    numbers = revisions()

    def revise(root: Path) -> None:
        restore(root, f"-- revision {next(numbers)}\n")
        time.sleep(0.05)

    return revise


def restore(root: Path, tail: str = "") -> None:
    path = root / LIBS[3]
    path.write_text(path.read_text().partition("--")[0] + tail)


def _run(options: Options) -> Sequence[Result]:
    shape = options.shape(1000)
    for tool in (FABRIC, TURBO):
        primed(tool, shape)
    sides = [planning(tool, shape) for tool in (PLAN, DRY)]
    ours, turbo = shown(alternate(sides, options.rounds))
    for one in sides:
        restore(one.cwd)
    claim = f"plan --json of {shape.tasks} stale tasks / turbo --dry=json"
    return [beside(claim, ours, turbo, 0.4)]


ROWS = (Row("plan", "plan --json of 7,000 stale tasks, beside turbo --dry=json", _run),)
