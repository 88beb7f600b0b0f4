"""`fabric init` without an install beside a bare python of the same venv."""

import shutil
from collections.abc import Sequence

from benchmarks.places import WORK, program
from benchmarks.rounds import Side, alternate
from benchmarks.row import Options, Result, Row, beside, shown
from benchmarks.rows.startup import bare

BOUND = 6.0
_FOLDER = WORK / "begun"
_WORDS = ("--template", "http", "--provider", "cloud1-lambda", "--skip-install")


def _clear() -> None:
    shutil.rmtree(_FOLDER, ignore_errors=True)


def _run(options: Options) -> Sequence[Result]:
    argv = (program("fabric"), "init", "--dir", _FOLDER.name, *_WORDS)
    ours = Side("fabric init", argv, WORK, prepare=_clear)
    base, init = shown(alternate([bare(), ours], options.rounds * 3))
    return [beside("`fabric init` / T1", init, base, BOUND)]


ROWS = (Row("init", "a new project without its install", _run),)
