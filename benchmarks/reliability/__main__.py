"""`python -m benchmarks.reliability [name ...]`: break deploys, and count what is wrong then."""

import argparse
import importlib
import shutil
import sys
import time
from collections.abc import Sequence

from benchmarks.places import WORK
from benchmarks.reliability.catalog import CAMPAIGNS
from benchmarks.reliability.tally import Tally


def main(argv: Sequence[str]) -> int:
    asked = _parser().parse_args(argv)
    unknown = sorted(set(asked.names) - set(CAMPAIGNS))
    if unknown:
        print(f"no such campaign: {', '.join(unknown)}", file=sys.stderr)
        return 64
    tallies = [_told(name, asked.count) for name in asked.names or CAMPAIGNS]
    return 1 if any(tally.wrong for tally in tallies) else 0


def _told(name: str, count: int | None) -> Tally:
    campaign = importlib.import_module(f"benchmarks.reliability.{name}")
    folder = WORK / "reliability" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    begun = time.perf_counter()
    tally: Tally = campaign.run(count or campaign.COUNT, folder)
    print(f"{tally.lines()}\n  in {time.perf_counter() - begun:.0f} s", flush=True)
    return tally


def _parser() -> argparse.ArgumentParser:
    rows = (f"  {name:10s} {about}" for name, about in CAMPAIGNS.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reliability",
        description="\n".join((__doc__, "", *rows)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="name", help="campaigns to run (default: all)")
    parser.add_argument("--count", type=int, help="rounds (default: those of the full campaign)")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
