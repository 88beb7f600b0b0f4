"""`python -m benchmarks [name ...]`: run rows, print each ratio beside its bound."""

import argparse
import math
import random
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers import node_peers, python_peers
from benchmarks.places import WORK, venv
from benchmarks.reliability.catalog import CAMPAIGNS
from benchmarks.row import Options, Result, Row
from benchmarks.rows import (
    calls,
    cloud1,
    cloud1_beside,
    cluster,
    cold,
    compose,
    daemon,
    daemon_beside,
    daemon_memory,
    daemon_requests,
    edge1,
    edit,
    executor,
    fleet_size,
    functions,
    growth,
    handlers,
    local,
    logs,
    makespan,
    nothing,
    overhead,
    packages,
    plan,
    presets,
    router,
    scaffold,
    shared,
    startup,
)
from benchmarks.serving import offline_place

MODULES = (
    startup,
    functions,
    handlers,
    packages,
    nothing,
    edit,
    cold,
    shared,
    executor,
    plan,
    presets,
    makespan,
    overhead,
    growth,
    fleet_size,
    compose,
    calls,
    scaffold,
    local,
    daemon,
    daemon_requests,
    daemon_beside,
    daemon_memory,
    cloud1,
    cloud1_beside,
    cluster,
    edge1,
    logs,
    router,
)
# `--sample` runs one row of so many.
_SAMPLE = 8
ROWS: tuple[Row, ...] = tuple(row for module in MODULES for row in module.ROWS)


def main(argv: Sequence[str]) -> int:
    # A shell that starts this in the background ignores SIGINT, and measured commands would inherit
    # that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    asked = _parser().parse_args(argv)
    if asked.list:
        for row in ROWS:
            print(f"{row.name:16s} {row.about}")
        print("\npython -m benchmarks.reliability, for what breaks and not for how long it takes:")
        for name, about in CAMPAIGNS.items():
            print(f"{name:16s} {about}")
        return 0
    WORK.mkdir(exist_ok=True)
    if asked.set_up:
        set_up()
        return 0
    known = {row.name: row for row in ROWS}
    unknown = sorted(set(asked.names) - set(known))
    if unknown:
        print(f"no such benchmark: {', '.join(unknown)} (see --list)", file=sys.stderr)
        return 64
    options = Options(asked.rounds, asked.small, asked.before)
    rows = [known[name] for name in asked.names] or list(ROWS)
    if asked.sample:
        rows = random.sample(rows, math.ceil(len(rows) / _SAMPLE))
    results = [result for row in rows for result in _measured(row, options)]
    return 0 if options.small or all(result.held for result in results) else 1


def set_up() -> None:
    """Install all that rows compare with or run from: they download nothing then."""
    venv()
    python_peers()
    node_peers()
    offline_place()
    cloud1_beside.osls_program()


def _measured(row: Row, options: Options) -> Sequence[Result]:
    print(f"{row.name}: {row.about}", flush=True)
    results = row.run(options)
    with (WORK / "results.txt").open("a") as file:
        for result in results:
            print(result.line(), flush=True)
            file.write(f"{result.table_row()}\n")
    return results


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help="rows to run (default: all)")
    parser.add_argument("--list", action="store_true", help="list the rows and stop")
    parser.add_argument("-n", dest="rounds", type=int, default=7, help="rounds of each side")
    parser.add_argument(
        "--before", type=Path, metavar="CHECKOUT", help="rows that can set an older fabric beside"
    )
    parser.add_argument(
        "--small", action="store_true", help="a hundredth of the size; missed bounds do not fail"
    )
    parser.add_argument("--sample", action="store_true", help="run a random eighth of the rows")
    parser.add_argument(
        "--set-up", action="store_true", help="install the tools that are compared, and stop"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
