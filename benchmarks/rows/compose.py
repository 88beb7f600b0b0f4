"""Compose over a thousand services: plans, a deploy with nothing to do, first deploys."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.fleet import fleet, forget
from benchmarks.places import program, run
from benchmarks.rounds import Side, Timing, alternate, peak_mb
from benchmarks.row import Options, Result, Row, beside, shown
from benchmarks.rows.startup import bare

_COLD_SECONDS = 6.0
_PEAK_MB = 300.0


def _side(name: str, root: Path, *words: str, cold: bool = False) -> Side:
    prepare = partial(forget, root) if cold else lambda: None
    return Side(name, (program("fabric"), "compose", *words), root, prepare=prepare)


def _plan(options: Options) -> Sequence[Result]:
    root = fleet(options.size(1000))
    forget(root)
    cold = _side("cold plan", root, "plan", cold=True)
    (first,) = shown(alternate([cold], min(3, options.rounds)))
    memory = peak_mb(cold)
    run(program("fabric"), "compose", "deploy", cwd=root)
    floor, warm = shown(alternate([bare(), _side("warm plan", root, "plan")], options.rounds))
    count = options.size(1000) * 5
    return [
        beside(f"compose plan of {count} functions, warm / bare python", warm, floor, 10.0),
        Result(
            f"compose plan of {count} functions, cold / 6 s",
            f"{first.median:.2f} s", f"{_COLD_SECONDS} s", first.median / _COLD_SECONDS, 1.0,
        ),
        Result(
            f"compose plan of {count} functions, cold, peak memory / 300 MB",
            f"{memory:.0f} MB", f"{_PEAK_MB:.0f} MB", memory / _PEAK_MB, 1.0,
        ),
    ]  # fmt: skip


def _growth(options: Options) -> Sequence[Result]:
    sizes = [options.size(count) for count in (1000, 2000, 5000)]
    sides = [_side(f"{size} services", fleet(size), "plan", cold=True) for size in sizes]
    small, *larger = shown(alternate(sides, min(3, options.rounds), warm_up=0))
    return [
        Result(
            f"cold compose plan, {size} / {sizes[0]} services, per service",
            f"{timing.median:.2f} s", f"{small.median:.2f} s",
            timing.median / small.median / (size / sizes[0]), 1.1,
        )
        for size, timing in zip(sizes[1:], larger, strict=True)
    ]  # fmt: skip


def _nothing(options: Options) -> Sequence[Result]:
    root = fleet(options.size(1000))
    for words in (("deploy",), ("deploy",), ("build",), ("build",)):
        run(program("fabric"), "compose", *words, cwd=root)
    sides = [_side("nothing to deploy", root, "deploy"), _side("nothing to build", root, "build")]
    ours, build = shown(alternate(sides, options.rounds))
    claim = f"nothing to do, compose deploy / build of {options.size(1000)} services"
    return [beside(claim, ours, build, 2.0)]


def _first(options: Options) -> Sequence[Result]:
    """One run to the end over ten thousand functions, everything new; told, with no bound."""
    root, count = fleet(options.size(2000)), options.size(2000) * 5
    cold = _side("cold build", root, "build", "--json", cold=True)
    side = _side("first deploy", root, "deploy", "--json", cold=True)
    build, timing = shown(alternate([cold, side], 1, warm_up=0))
    memory = peak_mb(_side("again", root, "deploy", "--force", "--json"))
    claim = f"first compose deploy of {count} functions"
    return [
        _told(claim, timing, count),
        _told(f"cold compose build of {count} functions", build, count),
        Result(f"{claim}, again with --force, peak memory", f"{memory:.0f} MB", "-", memory),
    ]


def _told(claim: str, timing: Timing, count: int) -> Result:
    per = timing.median / count * 1e3
    return Result(claim, f"{timing.median:.1f} s", f"{per:.2f} ms a function", per)


ROWS = (
    Row("compose-plan", "compose plan of 1,000 services x 5 functions", _plan),
    Row("compose-growth", "cold compose plan, 1,000 to 5,000 services", _growth),
    Row("compose-nothing", "compose deploy with nothing to do, beside a build", _nothing),
    Row("compose-first", "first compose deploy of 10,000 functions", _first),
)
