"""Who waits for the daemon while it deploys, or while others follow its runs."""

import contextlib
import datetime
import http.client
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from benchmarks.daemons import (
    SMALL,
    Caller,
    Daemon,
    calling,
    daemon_in,
    edit,
    empty_folder,
    small_project,
)
from benchmarks.row import Options, Result, Row, ms

_DEPLOYS = 50
_STREAMS = 32
_PAUSE = 0.005
# More lines than there are functions do no harm.
_FUNCTIONS = 8
_GATED = SMALL + 'build: {command: [sh, -c, "read word < gate; cp src/*.py $FABRIC_OUT_DIR"]}\n'


def _beside_deploys(options: Options) -> Sequence[Result]:
    count = options.size(_DEPLOYS * options.rounds)
    with daemon_in(small_project(empty_folder())) as daemon:
        alone = _asked_while(daemon, lambda: time.sleep(3.0), _validated)
        beside = _asked_while(daemon, lambda: _deploys(daemon, count), _validated)
    claim = f"`/validate` beside {count} deploys in a loop, p99"
    return [_bounded(claim, beside, 0.1, f"without them {ms(_p99(alone))}, n={len(beside)}")]


def _beside_streams(options: Options) -> Sequence[Result]:
    count = options.size(2000)
    with _gated_run() as (daemon, run), calling(daemon) as caller:
        alone = [_timed(lambda: caller.get("/healthz")) for _ in range(count)]
        with contextlib.ExitStack() as streams:
            for _ in range(_STREAMS):
                streams.enter_context(_stream(daemon, run))
            beside = [_timed(lambda: caller.get("/healthz")) for _ in range(count)]
    claim = f"`/healthz` beside {_STREAMS} open streams, p99"
    return [_bounded(claim, beside, 0.05, f"without them {ms(_p99(alone))}")]


def _events(options: Options) -> Sequence[Result]:
    late: list[float] = []
    with daemon_in(small_project(empty_folder())) as daemon, calling(daemon) as caller:
        for number in range(options.size(_DEPLOYS * options.rounds)):
            edit(daemon.folder, "api", f"event-{number}")
            run = str(caller.post("/deploy?wait=0")["run"])
            late += _followed(daemon, run)
    claim = "event from the engine to a client of the stream, p99"
    return [_bounded(claim, late, 0.05, f"n={len(late)}; the clocks tell milliseconds")]


def _followed(daemon: Daemon, run: str) -> list[float]:
    """How old each event was when its line was read. Those from before the stream was opened have
    been waiting for it, and are left out."""
    opened, late = time.time(), []
    with _stream(daemon, run) as answer:
        for line in answer:
            if line.startswith(b"data: "):
                said = datetime.datetime.fromisoformat(json.loads(line[6:])["time"]).timestamp()
                if said > opened:
                    late.append(time.time() - said)
    return late


def _asked_while(
    daemon: Daemon, work: Callable[[], None], ask: Callable[[Caller], object]
) -> list[float]:
    """What one client waited, again and again, until the work was done."""
    taken: list[float] = []
    thread = threading.Thread(target=work)
    with calling(daemon) as caller:
        ask(caller)
        thread.start()
        while thread.is_alive():
            taken.append(_timed(lambda: ask(caller)))
            time.sleep(_PAUSE)
    thread.join()
    return taken


def _validated(caller: Caller) -> object:
    return caller.post("/validate", SMALL)


def _deploys(daemon: Daemon, count: int) -> None:
    with calling(daemon) as caller:
        for number in range(count):
            edit(daemon.folder, "api", f"deploy-{number}")
            caller.post("/deploy")


@contextlib.contextmanager
def _gated_run() -> Iterator[tuple[Daemon, str]]:
    """A run whose builds wait until the block ends. The gate is open for late ones too."""
    folder = small_project(empty_folder(), _GATED)
    gate = folder / "gate"
    os.mkfifo(gate)
    with (
        gate.open("r+b", buffering=0) as opened,
        daemon_in(folder) as daemon,
        calling(daemon) as caller,
    ):
        run = str(caller.post("/deploy?wait=0")["run"])
        try:
            yield daemon, run
        finally:
            opened.write(b"go\n" * _FUNCTIONS)


@contextlib.contextmanager
def _stream(daemon: Daemon, run: str) -> Iterator[http.client.HTTPResponse]:
    client = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60)
    with contextlib.closing(client):
        client.request("GET", f"/runs/{run}/events")
        answer = client.getresponse()
        if answer.status != http.client.OK:
            raise SystemExit(f"the stream of {run}: {answer.status} {answer.read().decode()}")
        yield answer


def _timed(ask: Callable[[], object]) -> float:
    begun = time.perf_counter()
    ask()
    return time.perf_counter() - begun


def _p99(taken: Sequence[float]) -> float:
    return sorted(taken)[int(len(taken) * 0.99) - 1]


def _bounded(claim: str, taken: Sequence[float], bound: float, note: str) -> Result:
    late = _p99(taken)
    return Result(claim, ms(late), "-", late, bound, note=note)


ROWS = (
    Row("daemon-deploys", "/validate while the daemon deploys", _beside_deploys),
    Row("daemon-streams", "/healthz while others follow a run", _beside_streams),
    Row("daemon-events", "events, from the engine to clients that follow the run", _events),
)
