"""Loads by wrk: so many connections that ask without a pause, for a while."""

import json
import re
import shutil
import statistics
import subprocess
from collections.abc import Sequence

from msgspec import Struct

from benchmarks.places import WORK

_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0}
_HINT = "wrk is not there, and this row is asked by it: `apt-get install wrk`"


class WrkLoad(Struct, frozen=True):
    """What the connections saw; `p99` in milliseconds."""

    per_second: float
    p99: float
    count: int


def require_wrk() -> None:
    """Said before anything is started."""
    if shutil.which("wrk") is None:
        raise SystemExit(_HINT)


class WrkAsk(Struct, frozen=True):
    """Who is asked what: a POST of a body, which may be empty."""

    port: int
    path: str
    body: str = ""

    def load(self, connections: int, seconds: int) -> WrkLoad:
        script = WORK / "wrk.lua"
        script.write_text(f'wrk.method = "POST"\nwrk.body = {json.dumps(self.body)}\n')
        url = f"http://127.0.0.1:{self.port}{self.path}"
        words = (f"-c{connections}", f"-d{seconds}s", "--latency", "-s", str(script), url)
        argv = ("wrk", "-t1", *words)
        said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
        if "Non-2xx" in said or "Socket errors" in said:
            raise SystemExit(f"{self.path}: some were not answered well\n{said}")
        return _load(said)


def _load(said: str) -> WrkLoad:
    late = re.search(r"99%\s+([\d.]+)(us|ms|s|m)\b", said)
    rate = re.search(r"Requests/sec:\s+([\d.]+)", said)
    count = re.search(r"(\d+) requests in", said)
    if not (late and rate and count):
        raise SystemExit(f"wrk said something else\n{said}")
    return WrkLoad(float(rate[1]), float(late[1]) * _MS[late[2]], int(count[1]))


def in_turns(
    sides: Sequence[WrkAsk], connections: int, rounds: int, seconds: int
) -> list[list[WrkLoad]]:
    """A B A B …, after one round that does not count."""
    kept: list[list[WrkLoad]] = [[] for _ in sides]
    for number in range(-1, rounds):
        for side, loads in zip(sides, kept, strict=True):
            found = side.load(connections, seconds)
            if number >= 0:
                loads.append(found)
    return kept


def middle_rate(loads: Sequence[WrkLoad]) -> float:
    return statistics.median(one.per_second for one in loads)


def middle_p99(loads: Sequence[WrkLoad]) -> float:
    return statistics.median(one.p99 for one in loads)
