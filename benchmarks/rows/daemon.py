"""The daemon: start, stop, and latency beside half-open connections."""

import contextlib
import http.client
import resource
import socket
import statistics
import time
from collections.abc import Iterator, Sequence

from benchmarks.daemons import daemon_in, empty_folder
from benchmarks.row import Options, Result, Row, ms

_HALF = b"POST /validate HTTP/1.1\r\nHost: local"
_FILES = 8192
_PATIENCE = 60.0


@contextlib.contextmanager
def _serving() -> Iterator[int]:
    with daemon_in(empty_folder()) as daemon:
        yield daemon.port


def _life(options: Options) -> Sequence[Result]:
    started, stopped = [], []
    for _ in range(options.rounds):
        begun = time.perf_counter()
        with _serving():
            started.append(time.perf_counter() - begun)
            ending = time.perf_counter()
        stopped.append(time.perf_counter() - ending)
    return [
        _seconds("`fabricd start` until it answers", statistics.median(started), 1.0),
        _seconds("`fabricd stop` of an idle one until it is gone", statistics.median(stopped), 1.0),
    ]


def _half_open(options: Options) -> Sequence[Result]:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(_FILES, hard), hard))
    count = options.size(1000)
    with _serving() as port:
        plain = _asked(port, count)
        with _held(port, 500):
            beside = _asked(port, count)
        with _held(port, 2000) as others:
            begun = time.perf_counter()
            _until_gone(others)
            gone = time.perf_counter() - begun
    note = f"without them {ms(plain)}"
    return [
        _seconds("`/healthz` beside 500 half-open connections, p99", beside, 0.05, note),
        _seconds("2,000 half-open connections until all are gone", gone, 15.0),
    ]


def _seconds(claim: str, seconds: float, bound: float, note: str = "") -> Result:
    return Result(claim, ms(seconds), "-", seconds, bound, note=note)


def _asked(port: int, count: int) -> float:
    """The 99th of a hundred, each on a connection of its own."""
    taken = sorted(_once(port) for _ in range(count))
    return taken[int(len(taken) * 0.99) - 1]


def _once(port: int) -> float:
    begun = time.perf_counter()
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as client:
        client.request("GET", "/healthz")
        client.getresponse().read()
    return time.perf_counter() - begun


@contextlib.contextmanager
def _held(port: int, count: int) -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as stack:
        others = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(count)
        ]
        for one in others:
            one.sendall(_HALF)
        yield others


def _until_gone(others: Sequence[socket.socket]) -> None:
    """Each is answered that it was too slow, and closed."""
    for one in others:
        one.settimeout(_PATIENCE)
        with contextlib.suppress(ConnectionResetError):
            while one.recv(1 << 16):
                pass


ROWS = (
    Row("daemon-life", "fabricd, started and stopped", _life),
    Row("daemon-half-open", "requests beside half-open connections", _half_open),
)
