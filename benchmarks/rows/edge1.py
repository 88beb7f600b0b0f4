"""Deploys to edge1: how often it is asked, and how long the whole command takes.

The server is that of the tests, in a process of its own beside the command: its time is in all
figures of time, and in none of the counts. A service has a gate and an address besides its
functions: they cost a few calls once, which are told by themselves.
"""

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.places import REPO, WORK
from benchmarks.row import Options, Result, Row
from tests.support.servers.edge1.client import Edge1Server, edge1_server

_FIRST, _CHANGED = 4.0, 3.0
_BACK = 2.0
_GATE = 5
_SCHEDULE = "{type: cron, schedule: rate(1 hour)}"
_HEAD = "service: shop\nprovider: {name: edge1-workers, runtime: nodejs20.x}\nfunctions:\n"
_SIX = """\
extensions:
  edge1-workers:
    bindings:
      kv_namespaces: [{binding: CACHE, create: true}, {binding: SESSIONS, create: true}]
      r2_buckets: [{binding: FILES, create: true}]
      d1_databases: [{binding: DB, create: true}]
      queues: {producers: [{binding: JOBS, queue: jobs, create: true}]}
      vars: {FEATURES: {beta: true}}
"""
_BOUND_CHANGED = 4.0


@dataclass(frozen=True)
class _Ran:
    seconds: float
    calls: int


@dataclass(frozen=True)
class _Shop:
    """A project of so many functions, each with a route and a schedule, and where it goes to."""

    folder: Path
    account: Edge1Server
    count: int
    found: dict[str, list[_Ran]] = field(default_factory=dict)
    head: str = _HEAD

    def begin(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "src").mkdir(parents=True)
        rows = "".join(
            f"  - {{name: f{one}, entry: src/f{one}.js, "
            f"triggers: [{{type: http, path: /f{one}}}, {_SCHEDULE}]}}\n"
            for one in range(self.count)
        )
        (self.folder / "fabric.yml").write_text(f"{self.head}{rows}")
        self.all_say("first")

    def all_say(self, word: str) -> None:
        for one in range(self.count):
            self.say(one, word)

    def say(self, number: int, word: str) -> None:
        text = f'exports.handler = async () => ({{statusCode: 200, body: "{word} {number}"}});\n'
        (self.folder / "src" / f"f{number}.js").write_text(text)

    def measure(self, row: str, *words: str) -> None:
        self.account.reset()
        begun = time.perf_counter()
        argv = (sys.executable, "-m", "fabric", *words)
        done = subprocess.run(
            argv, cwd=self.folder, env=self._env, capture_output=True, text=True, check=False
        )
        seconds = time.perf_counter() - begun
        if done.returncode:
            raise SystemExit(f"{' '.join(words)} failed:\n{done.stderr[-3000:]}")
        self.found.setdefault(row, []).append(_Ran(seconds, len(self.account.calls())))

    @property
    def _env(self) -> Mapping[str, str]:
        return {
            **os.environ,
            **self.account.environment,
            "PYTHONPATH": str(REPO),
            "FABRIC_EDGE1_REAL_DEPLOY": "1",
        }

    def calls(
        self, claim: str, row: str, share: int, bound: float | None, apart: int = 0
    ) -> Result:
        """Of a median run, without those `apart`."""
        calls = statistics.median(one.calls for one in self.found[row]) - apart
        return Result(claim, f"{calls:g}", f"{share}", calls / share, bound)

    def seconds(self, claim: str, row: str) -> Result:
        seconds = statistics.median(one.seconds for one in self.found[row])
        return Result(claim, f"{seconds:.2f} s", "-", seconds, None)


def _life(options: Options) -> Sequence[Result]:
    folder = WORK / "edge1"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with edge1_server(folder) as url:
        shop = _Shop(folder / "shop", Edge1Server(url), options.size(100))
        for _ in range(min(3, options.rounds)):
            _lived(shop)
    count = shop.count
    return [
        shop.calls(f"first deploy of {count}, calls a function", "first", count, _FIRST, _GATE),
        shop.seconds(f"first deploy of {count} (s)", "first"),
        shop.calls(f"nothing to do with {count} functions, calls", "nothing", 1, 0),
        shop.calls(f"one of {count} changed, calls", "changed", 1, _CHANGED),
        shop.seconds(f"one of {count} changed (s)", "changed"),
        shop.calls(f"all {count} changed, calls a function", "all", count, _CHANGED),
        shop.calls(f"rollback of {count}, calls a function", "back", count, _BACK),
        shop.seconds(f"rollback of {count} (s)", "back"),
        shop.calls(f"removal of {count}, calls a function", "gone", count, None),
    ]


def _lived(shop: _Shop) -> None:
    shop.begin()
    shop.measure("first", "deploy")
    shop.measure("nothing", "deploy")
    shop.say(shop.count // 2, "other")
    shop.measure("changed", "deploy")
    shop.all_say("more")
    shop.measure("all", "deploy")
    shop.measure("back", "rollback")
    shop.measure("gone", "remove", "--yes")
    if any((left := shop.account.left()).values()):
        raise SystemExit(f"something is left: {left}")
    shop.account.forget()


def _bound(options: Options) -> Sequence[Result]:
    folder = WORK / "edge1-bindings"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with edge1_server(folder) as url:
        server = Edge1Server(url)
        shop = _Shop(folder / "shop", server, options.size(25), head=_SIX + _HEAD)
        shop.begin()
        for number in range(min(3, options.rounds)):
            shop.measure("first" if not number else "nothing", "deploy")
            shop.say(0, f"other {number}")
            shop.measure("changed", "deploy")
        shop.measure("nothing", "deploy")
        server.forget()
    count = shop.count
    return [
        shop.calls(
            f"first deploy of {count} with 6 bindings, calls a function", "first", count, None
        ),
        shop.calls("nothing to do with 6 bindings, calls", "nothing", 1, None),
        shop.calls("one function changed with 6 bindings, calls", "changed", 1, _BOUND_CHANGED),
        shop.seconds("one function changed with 6 bindings (s)", "changed"),
    ]


ROWS = (
    Row(
        "edge1-bindings", "a service with six bindings at edge1, with one changed function", _bound
    ),
    Row("edge1-life", "a service of 100 functions at edge1, from first deploy to removal", _life),
)
