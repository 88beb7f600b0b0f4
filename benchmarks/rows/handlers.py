"""Cold builds of Python functions, with an older fabric beside where one is named."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.handlers import forgetting, handlers
from benchmarks.places import program, program_of
from benchmarks.rounds import Side, alternate
from benchmarks.row import Options, Result, Row, beside, ms, shown
from benchmarks.rows.functions import ran

_BOUND = 0.35


def _run(options: Options) -> Sequence[Result]:
    count = options.size(1000)
    root = handlers(count)
    claim = f"cold `compose build` of {count} Python functions"
    ours = _cold("fabric", program("fabric"), root, count)
    if options.before is None:
        (timing,) = shown(alternate([ours], options.rounds))
        each = timing.median / count
        return [Result(claim, ms(timing.median), f"{ms(each)} a function", each * 1e3)]
    old = _cold("fabric, before", program_of(options.before.resolve()), root, count)
    now, before = shown(alternate([ours, old], options.rounds))
    _same_archives(root, ours, old)
    return [beside(f"{claim} / before", now, before, _BOUND)]


def _cold(name: str, fabric: str, root: Path, count: int) -> Side:
    argv = (fabric, "compose", "build", "--json")
    return Side(name, argv, root, prepare=forgetting(root), check=ran(count))


def _same_archives(root: Path, *sides: Side) -> None:
    """Each side once more, and all that people see compared byte by byte."""
    trees = []
    for side in sides:
        alternate([side], 1, warm_up=0)
        made = sorted(path for path in root.glob("*/.fabric/build/**/*") if path.is_file())
        trees.append({path: path.read_bytes() for path in made})
    if trees[0] != trees[1]:
        raise SystemExit("the outputs differ")
    print(f"  {len(trees[0])} files equal, byte by byte", flush=True)


ROWS = (Row("python", "cold `compose build` of 1,000 Python functions", _run),)
