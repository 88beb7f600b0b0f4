"""A fleet whose provider call only waits, and the equal graph of calls for make and for ninja.

The call is one script for all sides. It notes its own begin and end as the times of two empty
files, so that a makespan is what the calls themselves saw, whoever started them.
"""

import shutil
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.fleet import fleet, forget_state, name_of
from benchmarks.places import WORK, made

_SHORTEST, _LONGEST = 0.05, 0.4
_STRIDE = 8
# `sleep` is the only other process: the rest is done by the shell itself.
_SCRIPT = """\
service=${{1:-$FABRIC_SERVICE}}
read nap < {here}/naps/$service
: > {here}/calls/$service.begin
sleep $nap
: > {here}/calls/$service.end
echo "{{\\"endpoint\\": \\"https://$service.example\\"}}"
"""


def needs_of(number: int) -> tuple[int, ...]:
    """Every other service stands in one of four chains; nobody waits for the rest."""
    return (number - _STRIDE,) if number >= _STRIDE and number % 2 == 0 else ()


def nap_of(number: int) -> float:
    """Skewed: half of the calls take less than 0.1 s, one in eight more than 0.3 s."""
    evenly = zlib.crc32(name_of(number).encode()) / 2**32
    return round(_SHORTEST + (_LONGEST - _SHORTEST) * evenly**3, 3)


@dataclass(frozen=True, slots=True)
class Naps:
    """`fleet` are the services for fabric; in `peers` lie the script, the files of the peers, and
    what the calls of all sides leave behind."""

    services: int
    fleet: Path
    peers: Path

    @property
    def command(self) -> str:
        return f"sh {self.peers / 'call.sh'}"

    @property
    def total(self) -> float:
        return sum(map(nap_of, range(self.services)))

    @property
    def critical_path(self) -> float:
        ends: list[float] = []
        for number in range(self.services):
            above = (ends[need] for need in needs_of(number))
            ends.append(max(above, default=0.0) + nap_of(number))
        return max(ends)

    def bound(self, width: int) -> float:
        return max(self.critical_path, self.total / width)

    def forget(self) -> None:
        """Nothing is deployed, by anybody. What fabric built stays, and what it and ninja remember
        of how long a call took last time."""
        forget_state(self.fleet)
        for name in ("calls", "out"):
            shutil.rmtree(self.peers / name, ignore_errors=True)
            (self.peers / name).mkdir()

    def makespan(self) -> float:
        """From the first begin to the last end; fails unless each call came when it might."""
        begins, ends = self._times("begin"), self._times("end")
        for number in range(self.services):
            if any(begins[number] < ends[need] for need in needs_of(number)):
                raise SystemExit(f"the call of {name_of(number)} did not wait for its upstream")
        return (max(ends) - min(begins)) / 1e9

    def _times(self, what: str) -> list[int]:
        names = map(name_of, range(self.services))
        paths = [self.peers / "calls" / f"{name}.{what}" for name in names]
        return [path.stat().st_mtime_ns for path in paths]


def naps(services: int) -> Naps:
    def make(root: Path) -> None:
        (root / "naps").mkdir()
        for number in range(services):
            (root / "naps" / name_of(number)).write_text(f"{nap_of(number)}\n")
        (root / "call.sh").write_text(_SCRIPT.format(here=root))
        needs = {number: needs_of(number) for number in range(services)}
        (root / "Makefile").write_text(_makefile(needs))
        (root / "levels.mk").write_text(_makefile(_barred(needs)))
        (root / "build.ninja").write_text(_ninja(needs))

    root = made(WORK / "trees" / f"calls-{services}", make, "1")
    return Naps(services, fleet(services, 1, "naps", needs_of), root)


def _makefile(needs: Mapping[int, Iterable[int]]) -> str:
    rules = [
        f"{_out(number)}: {' '.join(map(_out, above))}\n\t@exec sh call.sh {name_of(number)} > $@\n"
        for number, above in needs.items()
    ]
    return f"all: {' '.join(map(_out, needs))}\n{''.join(rules)}"


def _ninja(needs: Mapping[int, Iterable[int]]) -> str:
    rules = [
        f"build {_out(number)}: call | {' '.join(map(_out, above))}\n name = {name_of(number)}\n"
        for number, above in needs.items()
    ]
    return f"rule call\n command = exec sh call.sh $name > $out\n{''.join(rules)}"


def _out(number: int) -> str:
    return f"out/{name_of(number)}.json"


def _barred(needs: Mapping[int, Iterable[int]]) -> Mapping[int, Iterable[int]]:
    """The control: each level waits for all of the one before."""
    depths: dict[int, int] = {}
    for number, above in needs.items():
        depths[number] = max((depths[need] + 1 for need in above), default=0)
    levels: dict[int, list[int]] = {}
    for number, depth in depths.items():
        levels.setdefault(depth, []).append(number)
    return {number: levels.get(depth - 1, ()) for number, depth in depths.items()}
