"""Deploys to cloud1: how often it is asked, and how long the whole command takes.

The server is that of the tests, in a process of its own beside the command: its time is in all
figures of time, and in none of the counts.
"""

import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.places import REPO, WORK
from benchmarks.row import Options, Result, Row
from tests.support.servers.strict_cloud1.client import StrictCloud1, strict_server
from tests.support.servers.strict_cloud1.faults import is_in_the_rate

_CALLS, _FIRST_SECONDS = 8.1, 8.0
_CHANGED_CALLS, _CHANGED_SECONDS = 8, 0.6
_BACK_CALLS = 2.0
_RATE, _SLOWER, _REFUSED = 15.0, 1.5, 0.05
_TOO_MANY = 429


@dataclass(frozen=True)
class _Shop:
    """A project of so many functions, each with an address, and the account that it goes to."""

    folder: Path
    account: StrictCloud1
    role: str

    @classmethod
    def of(cls, folder: Path, url: str, count: int) -> "_Shop":
        account = StrictCloud1(url)
        made = cls(folder, account, account.role())
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "src").mkdir(parents=True)
        rows = "".join(
            f"  - {{name: f{one}, entry: src/f{one}.js, "
            f"triggers: [{{type: http, path: /f{one}}}]}}\n"
            for one in range(count)
        )
        head = "service: shop\nprovider: {name: cloud1-lambda, runtime: nodejs20.x}\n"
        (folder / "fabric.yml").write_text(f"{head}functions:\n{rows}")
        for one in range(count):
            made.write(one, "first")
        return made

    def write(self, number: int, word: str) -> None:
        text = f'exports.handler = async () => ({{statusCode: 200, body: "{word} {number}"}});\n'
        (self.folder / "src" / f"f{number}.js").write_text(text)

    def ran(self, *words: str) -> "_Ran":
        self.account.reset()
        return self.ran_on(*words)

    def ran_on(self, *words: str) -> "_Ran":
        """Faults and counts of before stay."""
        env = {
            **os.environ,
            "PYTHONPATH": str(REPO),
            **self.account.environment,
            "FABRIC_CLOUD1_REAL_DEPLOY": "1",
            "FABRIC_CLOUD1_LAMBDA_ROLE_ARN": self.role,
        }
        begun = time.perf_counter()
        argv = (sys.executable, "-m", "fabric", *words)
        done = subprocess.run(
            argv, cwd=self.folder, env=env, capture_output=True, text=True, check=False
        )
        seconds = time.perf_counter() - begun
        if done.returncode:
            raise SystemExit(f"{' '.join(words)} failed:\n{done.stderr[-3000:]}")
        return _Ran(seconds, sum(self.account.calls().values()))


@dataclass(frozen=True)
class _Ran:
    seconds: float
    calls: int


@contextlib.contextmanager
def _server() -> Iterator[str]:
    folder = WORK / "cloud1"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with strict_server(folder) as url:
        yield url


def _life(options: Options) -> Sequence[Result]:
    count = options.size(200)
    found: dict[str, list[_Ran]] = {}
    with _server() as url:
        for number in range(min(3, options.rounds)):
            shop = _Shop.of(WORK / "cloud1" / f"shop{number}", url, count)
            found.setdefault("first", []).append(shop.ran("deploy"))
            shop.ran("deploy")
            found.setdefault("nothing", []).append(shop.ran("deploy"))
            for edit in range(options.rounds):
                shop.write(count // 2, f"edit {edit}")
                found.setdefault("changed", []).append(shop.ran("deploy"))
            for one in range(count):
                shop.write(one, "other")
            found.setdefault("all", []).append(shop.ran("deploy"))
            found.setdefault("back", []).append(shop.ran("rollback"))
            found.setdefault("gone", []).append(shop.ran("remove", "--yes"))
            if left := shop.account.left():
                raise SystemExit(f"something is left: {left}")
            shop.account.forget()
    return [
        _calls(f"first deploy of {count}, calls a function", found["first"], count, _CALLS),
        _seconds(f"first deploy of {count} (s)", found["first"], _FIRST_SECONDS),
        _calls(f"one of {count} changed, calls", found["changed"], 1, _CHANGED_CALLS),
        _seconds(f"one of {count} changed (s)", found["changed"], _CHANGED_SECONDS),
        _calls(f"nothing to do with {count} functions, calls", found["nothing"], 1, 0),
        _seconds(f"nothing to do with {count} functions (s)", found["nothing"], None),
        _calls(f"all {count} changed, calls a function", found["all"], count, None),
        _seconds(f"all {count} changed (s)", found["all"], None),
        _calls(f"rollback of {count}, calls a function", found["back"], count, _BACK_CALLS),
        _seconds(f"rollback of {count} (s)", found["back"], None),
        _seconds(f"removal of {count} (s)", found["gone"], None),
    ]  # fmt: skip


def _throttled(options: Options) -> Sequence[Result]:
    count = options.size(100)
    with _server() as url:
        shop = _Shop.of(WORK / "cloud1" / "shop", url, count)
        shop.account.throttle(per_second=_RATE)
        ran = shop.ran_on("deploy")
        answers = [status for name, status in shop.account.answers() if is_in_the_rate(name)]
    refused = answers.count(_TOO_MANY)
    # A second's worth of calls is free at the start.
    least = (len(answers) - refused) / _RATE - 1
    return [
        Result(
            f"first deploy of {count} functions at {_RATE:g} requests a second / the least time",
            f"{ran.seconds:.1f} s",
            f"{least:.1f} s",
            ran.seconds / least,
            _SLOWER,
        ),
        Result(
            "… share of answers that said to come back later",
            str(refused),
            str(len(answers)),
            refused / len(answers),
            _REFUSED,
        ),
    ]


def _calls(claim: str, found: Sequence[_Ran], share: int, bound: float | None) -> Result:
    calls = statistics.median(one.calls for one in found)
    return Result(claim, f"{calls:g}", f"{share}", calls / share, bound)


def _seconds(claim: str, found: Sequence[_Ran], bound: float | None) -> Result:
    seconds = statistics.median(one.seconds for one in found)
    return Result(claim, f"{seconds:.2f} s", "-", seconds, bound)


ROWS = (
    Row("cloud1-life", "a service of 200 functions at cloud1, from first deploy to removal", _life),
    Row("cloud1-throttled", "a first deploy to an account that takes few requests", _throttled),
)
