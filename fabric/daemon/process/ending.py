"""The shutdown of a server in steps: wait for runs, request their end, abort them."""

from collections.abc import Callable

from msgspec import Struct

from fabric.daemon.application import RunsUnderWay, ServerLife
from fabric.daemon.server.http_server import ApiServer

_LOOK = 0.05
# Whether another signal came within so many seconds.
Heard = Callable[[float], bool]


class EndingTimes(Struct, frozen=True):
    """Wait times in seconds: for runs, after the stop request, after killing children, and for
    answers."""

    to_end: float = 30.0
    when_asked: float = 10.0
    when_cut: float = 5.0
    answers: float = 5.0


def shut_down(life: ServerLife, runs: RunsUnderWay, heard: Heard, times: EndingTimes) -> None:
    """Shut down. Requests are served meanwhile. Each further signal skips to the next step."""
    life.is_draining = True
    runs.drain()
    if _wait_until_over(lambda: not runs.under_way(), heard, times.to_end):
        return
    runs.ask_all_to_stop()
    if _wait_until_over(lambda: not runs.under_way(), heard, times.when_asked):
        return
    runs.cut_all()
    _wait_until_over(lambda: not runs.under_way(), heard, times.when_cut)


def close_server(server: ApiServer, heard: Heard, times: EndingTimes) -> None:
    """Stop accepting connections and finish the current answers."""
    server.stop_listening()
    _wait_until_over(lambda: not server.in_flight, heard, times.answers)
    server.stop(1.0)


def _wait_until_over(is_over: Callable[[], bool], heard: Heard, seconds: float) -> bool:
    """Wait until it is over, a signal arrives or time is up. Returns whether it is over."""
    for _ in range(round(seconds / _LOOK)):
        if is_over():
            return True
        if heard(_LOOK):
            break
    return is_over()
