"""`fabric --help` and `--version` beside a bare python of the same venv."""

from collections.abc import Sequence

from benchmarks.places import WORK, program
from benchmarks.rounds import Side, alternate
from benchmarks.row import Options, Result, Row, beside, shown

BOUND = 3.5


def bare() -> Side:
    return Side("python -c pass", (program("python"), "-c", "pass"), WORK)


def _run(options: Options) -> Sequence[Result]:
    sides = [bare()] + [
        Side(f"fabric {flag}", (program("fabric"), flag), WORK) for flag in ("--help", "--version")
    ]
    base, *ours = shown(alternate(sides, options.rounds * 3))
    return [beside(f"`{one.name}` / T1", one, base, BOUND) for one in ours]


ROWS = (Row("startup", "--help and --version", _run),)
