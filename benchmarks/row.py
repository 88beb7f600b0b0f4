"""What a row of the table is, and how its figures are shown."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.copygraph import Shape
from benchmarks.rounds import Timing

# With --small: large enough for every row to work, too small to judge a bound by.
_SMALLER = 100
_FEWEST = 2


@dataclass(frozen=True, slots=True)
class Options:
    """How long and how large; `before` is another checkout, to be measured beside this one."""

    rounds: int = 7
    small: bool = False
    before: Path | None = None

    def shape(self, services: int, functions: int = 5) -> Shape:
        return Shape(self.size(services), functions)

    def size(self, count: int) -> int:
        return max(_FEWEST, count // _SMALLER) if self.small else count


@dataclass(frozen=True, slots=True)
class Measured:
    """What a side says of itself, one JSON line a round."""

    values: list[dict[str, float]] = field(default_factory=list)

    def hear(self, output: str) -> None:
        self.values.append(json.loads(output.splitlines()[-1]))


@dataclass(frozen=True, slots=True)
class Result:
    """A figure beside another, and the ratio beside its bound. Without a bound it is told only."""

    claim: str
    ours: str
    theirs: str
    ratio: float
    bound: float | None = None
    at_least: bool = False
    note: str = ""

    @property
    def held(self) -> bool:
        if self.bound is None:
            return True
        return self.ratio >= self.bound if self.at_least else self.ratio <= self.bound

    @property
    def verdict(self) -> str:
        return "-" if self.bound is None else "held" if self.held else "MISSED"

    @property
    def bound_text(self) -> str:
        if self.bound is None:
            return "-"
        return f"{'>=' if self.at_least else '<='} {self.bound:g}"

    def line(self) -> str:
        tail = f"  ({self.note})" if self.note else ""
        return (
            f"{self.claim}: {self.ours} / {self.theirs} = {self.ratio:.3f}"
            f"  bound {self.bound_text}  {self.verdict}{tail}"
        )

    def table_row(self) -> str:
        cells = (
            self.claim, self.ours, self.theirs, f"{self.ratio:.3f}", self.bound_text,
            self.verdict, self.note,
        )  # fmt: skip
        return "| " + " | ".join(cells) + " |"


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    about: str
    run: Callable[[Options], Sequence[Result]]


def beside(
    claim: str, ours: Timing, theirs: Timing, bound: float | None = None, note: str = ""
) -> Result:
    """Two timings of one set of rounds."""
    ratio = ours.median / theirs.median
    return Result(claim, _told(ours), _told(theirs), ratio, bound, note=note)


def _told(timing: Timing) -> str:
    low, high = timing.spread
    return f"{ms(timing.median)} ({ms(low)}..{ms(high)})"


def ms(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"


def shown(durations: Sequence[Timing]) -> Sequence[Timing]:
    for timing in durations:
        print(f"  {timing}", flush=True)
    return durations
