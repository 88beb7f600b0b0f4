"""Real projects through the real command line: JavaScript at rest, TypeScript from nothing."""

import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.peers import node_peers
from benchmarks.places import REPO
from benchmarks.project import build_argv, environment, javascript, typescript
from benchmarks.rounds import Side, alternate
from benchmarks.row import Options, Result, Row, beside, shown
from benchmarks.rows.startup import bare


def _at_rest(options: Options) -> Sequence[Result]:
    count = options.size(1000)
    side = _fabric(javascript(count), lambda: None, None)
    for _ in range(3):
        alternate([side], 1, warm_up=0)
        time.sleep(0.1)
    base, ours = shown(alternate([bare(), replace(side, check=ran(0))], options.rounds * 3))
    claim = f"nothing to do, `fabric build` of {count} functions / T1"
    return [beside(claim, ours, base, 3.0)]


def _from_nothing(options: Options) -> Sequence[Result]:
    count = options.size(500)
    root = typescript(count)

    def clear() -> None:
        shutil.rmtree(root / ".fabric", ignore_errors=True)
        shutil.rmtree(root / "out", ignore_errors=True)

    ours = _fabric(root, clear, count)
    many, one = (_esbuild(root, mode, count) for mode in ("each", "once"))
    durations = shown(alternate([ours, many, one], options.rounds))
    _same_bundles(root, (ours, many), count)
    claim = f"cold `fabric build` of {count} TypeScript functions"
    return [
        beside(f"{claim} / {count} builds on one warm esbuild", durations[0], durations[1], 1.2),
        beside(f"{claim} / one esbuild call with {count} entry points", durations[0], durations[2]),
    ]


def _fabric(root: Path, prepare: Callable[[], None], expect: int | None) -> Side:
    check = (lambda _: None) if expect is None else ran(expect)
    return Side("fabric build", build_argv(), root, environment(), prepare, check)


def ran(expect: int) -> Callable[[str], None]:
    def check(output: str) -> None:
        document = next(line for line in output.splitlines() if line.startswith("{"))
        ran = json.loads(document)["result"]["summary"]["ran"]
        if ran != expect:
            raise SystemExit(f"fabric ran {ran} tasks, not {expect}")

    return check


def _esbuild(root: Path, mode: str, count: int) -> Side:
    script = REPO / "benchmarks" / "bundle.mjs"
    argv = ("node", str(script), str(node_peers() / "esbuild"), mode, str(count))

    def prepare() -> None:
        shutil.rmtree(root / "out", ignore_errors=True)

    return Side(f"esbuild, {mode}", argv, root, prepare=prepare)


def _same_bundles(root: Path, sides: tuple[Side, Side], count: int) -> None:
    """Both sides once more from nothing, and every bundle compared byte by byte."""
    alternate(sides, 1, warm_up=0)
    for number in range(count):
        ours = root / ".fabric" / "build" / "many" / f"fn-{number}" / "src" / f"fn_{number}.js"
        theirs = root / "out" / f"fn_{number}.js"
        if ours.read_bytes() != theirs.read_bytes():
            raise SystemExit(f"the bundles differ: {ours} and {theirs}")
    print(f"  {count} bundles equal, byte by byte", flush=True)


ROWS = (
    Row("javascript", "nothing to do, `fabric build` of 1,000 JavaScript functions", _at_rest),
    Row("typescript", "cold `fabric build` of 500 TypeScript functions", _from_nothing),
)
