"""A file system that fails once: the Nth operation of a deploy, for every N and every errno."""

import errno
import itertools
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.reliability.field import Field, acknowledged, new_field
from benchmarks.reliability.tally import Tally
from benchmarks.reliability.warm import Ended, Warm, warmed

COUNT = 100_000
NUMBERS = (errno.EIO, errno.ENOSPC, errno.EACCES)
# One build, one package, one deploy and its release meet every kind of operation.
_FUNCTIONS = 2


@dataclass(frozen=True, slots=True)
class _Bench:
    warm: Warm
    field: Field
    folder: Path

    @property
    def events(self) -> Path:
        return self.folder / "events"

    @property
    def report(self) -> Path:
        return self.folder / "fault"

    def deploy(self, fault: tuple[int, int] | None = None) -> Ended:
        for path in (self.events, self.report):
            path.unlink(missing_ok=True)
        words = ("deploy", "--json", "--events", str(self.events))
        armed = None if fault is None else (*fault, str(self.report))
        return self.warm.run(self.field.place, *words, fault=armed)

    @property
    def met(self) -> str:
        return self.report.read_text() if self.report.exists() else ""


def run(count: int, folder: Path) -> Tally:
    """At most `count` operations for each errno, spread over all that a deploy does."""
    field = new_field(folder / "field", _FUNCTIONS)
    learn = [(field.place, ("deploy", "--json", "--events", str(folder / "e")))]
    with warmed(folder, learn) as warm:
        bench = _Bench(warm, field, folder)
        rounds, wrong = 0, list[str]()
        codes: dict[str, int] = {}
        operations = _operations(bench)
        step = max(1, operations // count)
        for number in NUMBERS:
            for nth in itertools.count(1, step):
                bench.field.edit("f00", f"{errno.errorcode[number]} {nth}")
                found, code = _round(bench, number, nth)
                if not bench.met and nth > operations // 2:
                    break
                wrong += found
                rounds += 1
                codes[f"ended with {code}"] = codes.get(f"ended with {code}", 0) + 1
    return Tally("faults", rounds, tuple(wrong), {"operations in a deploy": operations, **codes})


def _operations(bench: _Bench) -> int:
    """How many operations a deploy does: none fails that comes after the last."""
    bench.deploy()
    bench.field.edit("f00", "counted")
    bench.deploy((errno.EIO, 0))
    return int(bench.met.split()[0])


def _round(bench: _Bench, number: int, nth: int) -> tuple[list[str], int]:
    ended = bench.deploy((number, nth))
    met = bench.met
    found = [
        *_badly_told(ended),
        *bench.field.unreadable(),
        *bench.field.lost(acknowledged(bench.events)),
    ]
    # What the back end did not take is in the log as well: nothing is lost by going on without it.
    shutil.rmtree(bench.field.home / "errored", ignore_errors=True)
    healing = bench.deploy()
    bench.report.write_text(met)
    if healing.code != 0:
        found.append(f"the next deploy ended with {healing.code}: {healing.out}{healing.err}")
    found += bench.field.unsettled()
    return [f"{errno.errorcode[number]} at {nth}, {met}: {one}" for one in found], ended.code


def _badly_told(ended: Ended) -> Iterator[str]:
    """A fault is survived, or told as a problem of its own in the one document on stdout."""
    if "Traceback" in ended.out + ended.err:
        yield f"a traceback: {ended.err[-600:]}"
    elif ended.code != 0 and not _is_clear(ended):
        yield f"it ended with {ended.code} and said {ended.out[-300:]}{ended.err[-300:]}"


def _is_clear(ended: Ended) -> bool:
    try:
        return not str(ended.done.error["code"]).startswith("internal/")
    except (ValueError, KeyError, AssertionError):
        return False
