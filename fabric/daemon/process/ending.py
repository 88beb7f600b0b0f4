"""The end of a server, step by step: what is under way may end, is asked to, is cut off."""

from collections.abc import Callable

from msgspec import Struct

from fabric.daemon.application import RunsUnderWay, ServerLife
from fabric.daemon.server.http_server import ApiServer

_LOOK = 0.05
# Whether another signal came within so many seconds.
Heard = Callable[[float], bool]


class EndingTimes(Struct, frozen=True):
    """Seconds: for runs to end, to end once they were asked, once their children were ended; and
    for answers that are on their way."""

    to_end: float = 30.0
    when_asked: float = 10.0
    when_cut: float = 5.0
    answers: float = 5.0


def wind_down(life: ServerLife, runs: RunsUnderWay, heard: Heard, times: EndingTimes) -> None:
    """Requests are served all the while. Each further signal goes on to the next step at once."""
    life.is_draining = True
    runs.drain()
    if _waited(lambda: not runs.under_way(), heard, times.to_end):
        return
    runs.ask_all_to_stop()
    if _waited(lambda: not runs.under_way(), heard, times.when_asked):
        return
    runs.cut_all()
    _waited(lambda: not runs.under_way(), heard, times.when_cut)


def close_server(server: ApiServer, heard: Heard, times: EndingTimes) -> None:
    """Nobody else is let in; who was let in reads the answer."""
    server.stop_listening()
    _waited(lambda: not server.in_flight, heard, times.answers)
    server.stop(1.0)


def _waited(is_over: Callable[[], bool], heard: Heard, seconds: float) -> bool:
    """Whether it was over before a signal came, or the time was up."""
    for _ in range(round(seconds / _LOOK)):
        if is_over():
            return True
        if heard(_LOOK):
            break
    return is_over()
