"""SIGKILL at a random instant of a deploy, again and again, over one project."""

import random
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.reliability.field import Field, acknowledged, new_field
from benchmarks.reliability.tally import Tally
from benchmarks.reliability.warm import Ended, Warm, warmed

COUNT = 1000
_TOOL = '#!/bin/sh\necho \'{"endpoint": "https://live.example"}\'\n'
_MEASURED = 7


@dataclass(frozen=True, slots=True)
class _Bench:
    warm: Warm
    field: Field
    events: Path
    chance: random.Random

    def edit_some(self, version: str) -> None:
        names = sorted(self.field.versions)
        for name in self.chance.sample(names, self.chance.randint(1, 4)):
            self.field.edit(name, version)

    def deploy(self, kill_after: float | None = None) -> Ended:
        self.events.unlink(missing_ok=True)
        words = ("deploy", "--json", "--events", str(self.events))
        return self.warm.run(self.field.place, *words, kill_after=kill_after)


def run(count: int, folder: Path, seed: int = 1) -> Tally:
    """Simulated rounds and rounds with a deploy command take turns."""
    fields = [new_field(folder / "simulated"), _with_command(folder / "command")]
    lines = (("deploy", "--json", "--events", str(folder / "e")), ("plan", "--detailed-exitcode"))
    learn = [(one.place, words) for words in lines for one in fields]
    chance = random.Random(seed)
    with warmed(folder, learn) as warm:
        benches = [_Bench(warm, one, folder / "events", chance) for one in fields]
        lengths = [_length(bench) for bench in benches]
        wrong: list[str] = []
        tolls = {"killed": 0, "ended before": 0, "acknowledged deploys": 0, "open intents": 0}
        for number in range(count):
            which = number % len(benches)
            wrong += _round(benches[which], number, lengths[which], tolls)
    return Tally("kills", count, tuple(wrong), tolls)


def _with_command(folder: Path) -> Field:
    made = new_field(folder)
    tool = folder / "tool"
    tool.write_text(_TOOL)
    tool.chmod(0o755)
    made.env = {"FABRIC_CLOUD1_REAL_DEPLOY": "1", "FABRIC_CLOUD1_DEPLOY_CMD": str(tool)}
    return made


def _length(bench: _Bench) -> float:
    """How long such a deploy takes when it is left alone."""
    seconds = []
    for number in range(_MEASURED):
        bench.edit_some(f"measured {number}")
        seconds.append(bench.deploy().seconds)
    # The first finds nothing cached; later ones are what the rounds are like.
    return 1.2 * statistics.median(seconds[2:])


def _round(bench: _Bench, number: int, length: float, tolls: dict[str, int]) -> Iterator[str]:
    field, moment = bench.field, bench.chance.uniform(0, length)
    bench.edit_some(f"v{number}")
    killed = bench.deploy(kill_after=moment)
    known = acknowledged(bench.events)
    record = field.record()
    tolls["killed" if killed.code < 0 else "ended before"] += 1
    tolls["acknowledged deploys"] += len(known)
    tolls["open intents"] += len(record.pending) if record else 0
    found = [*field.unreadable(), *field.lost(known), *_healed(bench, known)]
    yield from (f"round {number}, killed after {moment * 1e3:.1f} ms: {one}" for one in found)


def _healed(bench: _Bench, known: tuple[str, ...]) -> Iterator[str]:
    """The next deploy settles everything, and does not do again what was acknowledged."""
    healing = bench.deploy()
    if healing.code != 0:
        yield f"the next deploy ended with {healing.code}: {healing.out}{healing.err}"
        return
    again = set(acknowledged(bench.events)) & set(known)
    if again:
        yield f"deployed again though it was acknowledged: {sorted(again)}"
    yield from bench.field.unsettled()
    plan = bench.warm.run(bench.field.place, "plan", "--detailed-exitcode")
    if plan.code != 0:
        yield f"a plan afterwards ends with {plan.code}: {plan.out}{plan.err}"
