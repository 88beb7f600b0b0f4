"""Stream log lines of a service's Workers: stored lines first, then live tails."""

import itertools
import selectors
import time
from collections.abc import Callable

from msgspec import Struct

from fabric.model.observed import SECOND, TimeWindow
from fabric.providers.core.contract import CallContext
from fabric.providers.core.observing import MOST_LINES, HearLines, LogQuestion, ObservedService
from fabric.providers.edge1.observing.asking import Edge1Asking
from fabric.providers.edge1.observing.tails import BeginTail, TailEndedError, WorkerTail
from fabric.providers.edge1.observing.worker_lines import WorkerLines
from fabric.system.retry import TransientError

# What is kept is there later than it was said, and may be stamped by another clock.
_OVERLAP = 300 * SECOND
_TICK = 0.25
_PAUSE = 2.0
_LOOKED_UP = 2


class TailPace(Struct, frozen=True):
    """The clock, and the number of seconds between checks of the tails."""

    now: Callable[[], int] = time.time_ns
    kept_every: float = 10.0


_PACE = TailPace()


class TailedService:
    """The log stream of one service.

    Lines written while a tail starts or ends are read from storage. Lines received both ways have
    the same id.
    """

    def __init__(
        self,
        asking: Edge1Asking,
        service: ObservedService,
        begin: BeginTail,
        pace: TailPace = _PACE,
    ) -> None:
        self._asking, self._service, self._begin, self._pace = asking, service, begin, pace
        self._lines = WorkerLines(service)
        self._tails: dict[str, WorkerTail] = {}
        self._since = 0

    def follow(self, since: int, hear: HearLines, watch: CallContext) -> None:
        """Stream lines, and restart tails that end, until the watch stops the call."""
        self._since = since
        is_told = False
        try:
            while not watch.is_to_end():
                try:
                    self._follow_once(hear, watch)
                except (TransientError, TailEndedError) as error:
                    if not is_told:
                        watch.hear(f"{error}; retrying")
                    is_told = True
                    self._sleep_between(_PAUSE, hear, watch)
        finally:
            self._end_all()

    def _follow_once(self, hear: HearLines, watch: CallContext) -> None:
        """Stream until a tail ends. Stored lines are read twice: a tail that starts slowly misses
        lines."""
        for one in self._service.functions:
            if one.resource_name not in self._tails:
                self._tails[one.resource_name] = self._begin(one.resource_name)
        for round_ in itertools.count():
            if round_ < _LOOKED_UP:
                self._look_up(hear)
            self._receive_for(self._pace.kept_every, hear, watch)
            if round_ >= _LOOKED_UP:
                # The tails have told all until now: what was before is not looked up once more.
                self._since = max(self._since, self._pace.now() - _OVERLAP)
            if watch.is_to_end():
                return
            for tail in self._tails.values():
                tail.keep()

    def _receive_for(self, seconds: float, hear: HearLines, watch: CallContext) -> None:
        due = time.monotonic() + seconds
        with selectors.DefaultSelector() as chooser:
            for worker, tail in self._tails.items():
                chooser.register(tail, selectors.EVENT_READ, worker)
            while time.monotonic() < due and not watch.is_to_end():
                hear(())
                for key, _ in chooser.select(_TICK):
                    self._receive_lines(str(key.data), hear)

    def _receive_lines(self, worker: str, hear: HearLines) -> None:
        function = next(one.name for one in self._service.functions if one.resource_name == worker)
        try:
            found = self._tails[worker].receive()
        except TailEndedError:
            self._tails.pop(worker).close()
            raise
        for one in found:
            hear(self._lines.parse_invocation(function, one))

    def _look_up(self, hear: HearLines) -> None:
        until = self._pace.now() + SECOND
        question = LogQuestion(TimeWindow(self._since, until), most=MOST_LINES)
        hear(self._lines.fetch_stored(self._asking, question))
        self._since = max(self._since, until - _OVERLAP)

    def _sleep_between(self, seconds: float, hear: HearLines, watch: CallContext) -> None:
        while seconds > 0 and not watch.is_to_end():
            hear(())
            self._asking.waiting.sleep(min(seconds, _TICK))
            seconds -= _TICK

    def _end_all(self) -> None:
        while self._tails:
            self._tails.popitem()[1].close()
