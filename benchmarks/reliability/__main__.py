"""`python -m benchmarks.reliability [name ...]`: break deploys, and count what is wrong then."""

import argparse
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.places import WORK
from benchmarks.reliability import canaries, faults, kills, locks, paused, rollbacks, wal
from benchmarks.reliability.tally import Tally

Campaign = Callable[[int, Path], Tally]
CAMPAIGNS: dict[str, tuple[Campaign, int]] = {
    "faults": (faults.run, faults.COUNT),
    "kills": (kills.run, kills.COUNT),
    "locks": (locks.run, locks.COUNT),
    "paused": (paused.run, paused.COUNT),
    "rollbacks": (rollbacks.run, rollbacks.COUNT),
    "secrets": (canaries.run, canaries.COUNT),
    "wal": (wal.run, wal.COUNT),
}


def main(argv: Sequence[str]) -> int:
    asked = _parser().parse_args(argv)
    unknown = sorted(set(asked.names) - set(CAMPAIGNS))
    if unknown:
        print(f"no such campaign: {', '.join(unknown)}", file=sys.stderr)
        return 64
    tallies = [_told(name, asked.count) for name in asked.names or CAMPAIGNS]
    return 1 if any(tally.wrong for tally in tallies) else 0


def _told(name: str, count: int | None) -> Tally:
    campaign, usual = CAMPAIGNS[name]
    folder = WORK / "reliability" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    begun = time.perf_counter()
    tally = campaign(count or usual, folder)
    print(f"{tally.lines()}\n  in {time.perf_counter() - begun:.0f} s", flush=True)
    return tally


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reliability", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(CAMPAIGNS)}")
    parser.add_argument("--count", type=int, help="rounds (default: those of the full campaign)")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
