"""Logs and numbers of calls at cloud1: how soon, how often it is asked, how long after they were
said lines are told.

The server is that of the tests. What it takes itself is told apart: the same questions by its
official client alone, in turns with the command.
"""

import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from benchmarks.cloud1_shop import Cloud1Shop, cloud1_server
from benchmarks.places import REPO, WORK
from benchmarks.rounds import Side, alternate
from benchmarks.row import Options, Result, Row, beside, shown
from benchmarks.rows.startup import bare

_PRINTED, _LAG, _METRIC_CALLS, _STARTS = 2.0, 1.5, 1, 6.0
_GROUPS, _LINES = 20, 500
_AT_ONCE = 16
_STREAM = "bench"


def _printed(options: Options) -> Sequence[Result]:
    groups, whole, theirs = _GROUPS, [], []
    with cloud1_server() as url:
        shop = _deployed(url, groups)
        _say_all(shop, groups, _LINES)
        for _ in range(options.rounds):
            begun = time.perf_counter()
            found = _asked_alone(shop, groups)
            theirs.append(time.perf_counter() - begun)
            if found != groups * _LINES:
                raise SystemExit(f"the client alone found {found} lines")
            words = ("logs", "--since", "1h", "--limit", "100000", "--json")
            whole.append(shop.ran(*words).seconds)
    ours, server = statistics.median(whole), statistics.median(theirs)
    return [
        Result(
            f"{groups * _LINES} lines of {groups} groups, the command beyond the client alone (s)",
            f"{ours:.2f}",
            f"{server:.2f}",
            ours - server,
            _PRINTED,
        )
    ]


def _deployed(url: str, count: int) -> Cloud1Shop:
    shop = Cloud1Shop.of(WORK / "cloud1" / "logs", url, count)
    shop.ran("deploy")
    return shop


def _say_all(shop: Cloud1Shop, groups: int, lines: int) -> None:
    now = time.time_ns() // 1_000_000
    for number in range(groups):
        logs = shop.account.client("logs")
        logs.create_log_group(logGroupName=_group(number))
        logs.create_log_stream(logGroupName=_group(number), logStreamName=_STREAM)
        _say(shop, number, [(now - lines + one, f"line {one}") for one in range(lines)])


def _group(number: int) -> str:
    return f"/aws/lambda/shop-dev-f{number}"


def _say(shop: Cloud1Shop, number: int, rows: Sequence[tuple[int, str]]) -> None:
    events = [{"timestamp": at, "message": text} for at, text in rows]
    shop.account.client("logs").put_log_events(
        logGroupName=_group(number), logStreamName=_STREAM, logEvents=events
    )


def _asked_alone(shop: Cloud1Shop, groups: int) -> int:
    logs = shop.account.client("logs")

    def count(number: int) -> int:
        return sum(_pages(logs, _group(number)))

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return sum(pool.map(count, range(groups)))


def _pages(logs: "object", group: str) -> Iterator[int]:
    pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group)  # type: ignore[attr-defined]
    return (len(page["events"]) for page in pages)


def _followed(options: Options) -> Sequence[Result]:
    lags = []
    with cloud1_server() as url:
        shop = _deployed(url, 5)
        _say_all(shop, 5, 1)
        argv = (sys.executable, "-m", "fabric", "logs", "--follow", "--ndjson", "--since", "1h")
        follower = subprocess.Popen(
            argv, cwd=shop.folder, env=shop.env, stdout=subprocess.PIPE, text=True
        )
        out = follower.stdout
        if out is None:
            raise SystemExit("the follower has no output")
        for _ in range(5):
            out.readline()
        for number in range(options.rounds * 3):
            begun = time.perf_counter()
            _say(shop, number % 5, [(time.time_ns() // 1_000_000, f"round {number}")])
            if json.loads(out.readline())["text"] != f"round {number}":
                raise SystemExit("another line came first")
            lags.append(time.perf_counter() - begun)
        follower.send_signal(signal.SIGINT)
        follower.communicate()
    lag = statistics.median(lags)
    return [Result("delay from log event to printed line (s)", f"{lag:.2f}", "-", lag, _LAG)]


def _metrics(options: Options) -> Sequence[Result]:
    count = options.size(200)
    with cloud1_server() as url:
        ran = _deployed(url, count).ran("metrics")
    calls = float(ran.calls)
    title = f"metrics of {count} functions, calls"
    return [Result(title, str(ran.calls), "-", calls, _METRIC_CALLS, note=f"{ran.seconds:.2f} s")]


def _starts(options: Options) -> Sequence[Result]:
    """From its beginning until somebody is asked: a door that answers nobody notes when it was
    knocked at. Without a provider nobody is asked, and it is the whole command."""
    bares, ours = [], []
    with cloud1_server() as url, socket.create_server(("127.0.0.1", 0)) as door:
        shop = _deployed(url, 1)
        place = f"http://127.0.0.1:{door.getsockname()[1]}"
        env = shop.env | {"AWS_ENDPOINT_URL": place}
        for number in range(-1, options.rounds * 3):
            (base,) = alternate([bare()], 1, warm_up=0)
            seconds = _until_asked(shop, env, door)
            if number >= 0:
                bares.append(base.median)
                ours.append(seconds)
    return [_beside_bare("until cloud1 is asked", bares, ours), _of_local_call(options)]


def _until_asked(shop: Cloud1Shop, env: dict[str, str], door: socket.socket) -> float:
    begun = time.perf_counter()
    argv = (sys.executable, "-m", "fabric", "logs", "--since", "1h")
    running = subprocess.Popen(
        argv, cwd=shop.folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    asked, _ = door.accept()
    seconds = time.perf_counter() - begun
    asked.close()
    running.kill()
    running.wait()
    return seconds


def _beside_bare(what: str, bares: Sequence[float], ours: Sequence[float]) -> Result:
    base, own = statistics.median(bares), statistics.median(ours)
    return Result(
        f"`fabric logs` {what} / T1 (ms)",
        f"{own * 1e3:.1f}",
        f"{base * 1e3:.1f}",
        own / base,
        _STARTS,
    )


def _of_local_call(options: Options) -> Result:
    folder = WORK / "logs-start"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "main.py").write_text("def handler(event, context):\n    return None\n")
    (folder / "fabric.yml").write_text(
        "service: shop\nprovider: {name: cloud1-lambda, runtime: python3.11}\n"
        "functions: [{name: hello, entry: main.py}]\n"
    )
    env = {**os.environ, "PYTHONPATH": str(REPO)}
    program = (sys.executable, "-m", "fabric")
    subprocess.run(
        (*program, "invoke", "local"), cwd=folder, env=env, input="{}", text=True, check=True
    )
    sides = [bare(), Side("fabric logs", (*program, "logs", "--since", "1h"), folder, env)]
    base, ours = shown(alternate(sides, options.rounds * 3))
    return beside("`fabric logs` of one local call, the whole command / T1", ours, base)


ROWS = (
    Row("logs-printed", "10,000 lines of 20 groups at cloud1", _printed),
    Row("logs-followed", "delay of a followed log line", _followed),
    Row("metrics-calls", "API calls for the metrics of 200 functions", _metrics),
    Row("logs-start", "`fabric logs` beside a bare python", _starts),
)
