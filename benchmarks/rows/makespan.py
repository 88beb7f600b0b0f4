"""How near a run comes to the best possible schedule, with a level barrier as the control."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from benchmarks.copygraph import upstream_of
from benchmarks.peers import python_peers
from benchmarks.places import WORK, made, program
from benchmarks.rounds import Side, alternate
from benchmarks.row import Measured, Options, Result, Row, beside, ms, shown

_WIDE = 64


def _even(options: Options) -> Sequence[Result]:
    count = options.size(1000)
    narrow, wide = Measured(), Measured()
    sides = [
        _side("engine, 8 workers", ("engine", "even", count, 8), narrow),
        _side("engine, 64 workers", ("engine", "even", count, _WIDE), wide),
        _side("engine, 64 workers, a file each", ("files", "even", count, _WIDE), Measured()),
        _ninja(count),
    ]
    _, _, ours, ninja = shown(alternate(sides, options.rounds, warm_up=0))
    claim = f"makespan, {count} tasks of 50 ms in 8 levels"
    return [
        _near(f"{claim}, 8 workers / bound", narrow, 1.02),
        _near(f"{claim}, 64 workers / bound", wide, 1.08),
        beside(f"{claim}, whole process / ninja -j64", ours, ninja, 0.8),
    ]


def _uneven(options: Options) -> Sequence[Result]:
    log, links = options.size(1000), options.size(400)
    cases = [("uneven", log, 8), ("uneven", log, _WIDE), ("chain", links, 16)]
    told = {(engine, case): Measured() for case in cases for engine in ("engine", "barrier")}
    sides = [
        _side(f"{engine} {case}", (engine, *case), one) for (engine, case), one in told.items()
    ]
    shown(alternate(sides, options.rounds, warm_up=0))
    return [_case(engine, case, one) for (engine, case), one in told.items()]


def _case(engine: str, case: tuple[str, int, int], told: Measured) -> Result:
    shape, count, workers = case
    what = f"{count} log-normal naps" if shape == "uneven" else f"30 in a chain, {count} free"
    claim = f"makespan, {what}, {workers} workers"
    if engine == "engine":
        return _near(f"{claim} / bound", told, 1.05)
    return _near(f"control with a level barrier, {what}, {workers} workers", told, 1.1, least=True)


def _near(claim: str, told: Measured, limit: float, *, least: bool = False) -> Result:
    times = [one["seconds"] for one in told.values]
    best = told.values[0]["bound"]
    ours = f"{ms(median(times))} ({ms(min(times))}..{ms(max(times))})"
    return Result(claim, ours, ms(best), median(times) / best, limit, at_least=least)


def _side(name: str, argv: Sequence[object], told: Measured) -> Side:
    root = made(WORK / "trees" / f"naps-{'-'.join(map(str, argv))}", lambda _: None)

    def prepare() -> None:
        # Outside of what is timed: a thousand folders take longer to remove than to make.
        for made_there in ("out", "cache"):
            shutil.rmtree(root / made_there, ignore_errors=True)

    argv = (program("sleepers"), *map(str, argv))
    return Side(name, argv, root, prepare=prepare, check=told.hear)


def _ninja(count: int) -> Side:
    root = made(WORK / "trees" / f"naps-{count}", _writer(count))

    def prepare() -> None:
        shutil.rmtree(root / "out", ignore_errors=True)
        (root / ".ninja_log").unlink(missing_ok=True)

    def check(output: str) -> None:
        if f"[{count}/{count}]" not in output:
            raise SystemExit(f"ninja did not run {count} tasks:\n{output[-500:]}")

    argv = (str(python_peers() / "bin/ninja"), f"-j{_WIDE}")
    return Side(f"ninja -j{_WIDE}", argv, root, prepare=prepare, check=check)


def _writer(count: int) -> Callable[[Path], None]:
    def write(root: Path) -> None:
        lines = ['rule nap\n command = sleep 0.05; printf \'{"service":"$name"}\' > $out']
        for number, needs in enumerate(upstream_of(count)):
            above = " ".join(f"out/{need:05d}/deploy.json" for need in needs)
            lines.append(f"build out/{number:05d}/deploy.json: nap | {above}")
            lines.append(f" name = {number:05d}")
        (root / "build.ninja").write_text("\n".join(lines) + "\n")

    return write


ROWS = (
    Row("makespan", "1,000 tasks of 50 ms in 8 levels, beside the bound and ninja", _even),
    Row("makespan-uneven", "unequal tasks and a chain, with a level barrier as control", _uneven),
)
