"""Requests to the daemon, beside a bare route on the same kind of server."""

import contextlib
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

from benchmarks.daemons import SMALL, Daemon, calling, daemon_in, empty_folder, small_project
from benchmarks.places import REPO, WORK
from benchmarks.row import Options, Result, Row
from benchmarks.serving import ServerSide, running
from benchmarks.wrk import WrkAsk, WrkLoad, in_turns, middle_p99, middle_rate, require_wrk

_VALIDATE = "/validate"
_FEW, _MANY = 16, 64
_LATE_MS = 250
_PATIENCE = 10.0


def _validate(options: Options) -> Sequence[Result]:
    require_wrk()
    with _both_sides() as sides:
        few = in_turns(sides, _FEW, options.rounds, _seconds(options))
        many = in_turns(sides, _MANY, options.rounds, _seconds(options))
    return [
        _rate("`/validate` uncached, 16 connections / a bare route", few, 0.15),
        _rate("`/validate` uncached, 64 connections / a bare route", many, 0.15),
        _late("`/validate` uncached, 64 connections, p99 (ms)", many, _LATE_MS),
    ]


def _cached(options: Options) -> Sequence[Result]:
    require_wrk()
    with _redis() as url, _both_sides("--cache-url", url) as sides:
        found = in_turns(sides, _FEW, options.rounds, _seconds(options))
    return [_rate("an answer from Redis, 16 connections / a bare route", found, 0.4)]


def _plan(options: Options) -> Sequence[Result]:
    require_wrk()
    with daemon_in(small_project(empty_folder())) as daemon:
        alone = _one_client(daemon, options.size(1000))
        asked = WrkAsk(daemon.port, "/plan")
        (many,) = in_turns([asked], _FEW, options.rounds, _seconds(options))
    rate = middle_rate(many)
    told = f"{rate:.0f}"
    claim = "`/plan` of a small project, kept graph, 16 clients, requests a second"
    return [
        Result(
            "`/plan` of a small project, kept graph, one client, p50 (ms)",
            f"{alone:.1f} ms",
            "-",
            alone,
            10,
        ),
        Result(claim, told, "-", rate, 100, at_least=True),
    ]


def _one_client(daemon: Daemon, count: int) -> float:
    """The middle in milliseconds, once all is deployed and the graph is kept."""
    taken = []
    with calling(daemon) as caller:
        caller.post("/deploy")
        for _ in range(20):
            caller.post("/plan")
        for _ in range(count):
            begun = time.perf_counter()
            caller.post("/plan")
            taken.append(time.perf_counter() - begun)
    return statistics.median(taken) * 1e3


def _seconds(options: Options) -> int:
    return 1 if options.small else 4


@contextlib.contextmanager
def _both_sides(*words: str) -> Iterator[tuple[WrkAsk, WrkAsk]]:
    argv = (sys.executable, "-m", "benchmarks.bare_api")
    bare = ServerSide("bare route", argv, WORK, "port ", {"PYTHONPATH": str(REPO)})
    with daemon_in(small_project(empty_folder()), *words) as daemon, running(bare) as peer:
        yield WrkAsk(daemon.port, _VALIDATE, SMALL), WrkAsk(peer.port, _VALIDATE, SMALL)


@contextlib.contextmanager
def _redis() -> Iterator[str]:
    """A server of our own, which keeps nothing on disk."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    if shutil.which("redis-server") is None:
        raise SystemExit("redis-server is not there: `apt-get install redis-server`")
    words = ("--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no")
    child = subprocess.Popen(("redis-server", *words), cwd=WORK, stdout=subprocess.DEVNULL)
    try:
        _until_open(port)
        yield f"redis://127.0.0.1:{port}"
    finally:
        child.terminate()
        child.wait()


def _until_open(port: int) -> None:
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)
        else:
            return


def _rate(claim: str, found: Sequence[Sequence[WrkLoad]], bound: float) -> Result:
    ours, theirs = map(middle_rate, found)
    told = f"{ours:.0f} a second", f"{theirs:.0f} a second"
    return Result(claim, *told, ours / theirs, bound, at_least=True)


def _late(claim: str, found: Sequence[Sequence[WrkLoad]], bound: float) -> Result:
    ours, theirs = map(middle_p99, found)
    return Result(claim, f"{ours:.0f} ms", f"{theirs:.0f} ms", ours, bound)


ROWS = (
    Row("daemon-validate", "/validate without a cache, beside a bare route", _validate),
    Row("daemon-cached", "answers from Redis, beside a bare route", _cached),
    Row("daemon-plan", "/plan of a small project whose graph is kept", _plan),
)
