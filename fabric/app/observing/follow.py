"""`logs --follow`: print log lines as they arrive, until stopped."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from fabric.app.observing.line_merge import LineMerge
from fabric.app.observing.local_calls import LONGEST_CALL
from fabric.app.observing.observe import Looks, Observing, choose_exit_code, run_looks
from fabric.app.observing.targets import ObservedTarget, ObservedTargets, open_observed_targets
from fabric.app.request import Request
from fabric.app.running.run_problems import list_run_problems
from fabric.app.settings import Settings
from fabric.engine.bus import MakeListeners
from fabric.model.observed import SECOND, LogLine, TimeWindow, convert_to_nanoseconds
from fabric.model.problems import ExitCode, FabricError, Problem, exit_code_of
from fabric.model.report import Report
from fabric.providers.core.contract import CallContext
from fabric.providers.core.observing import MOST_LINES, LogFollower, Observer, PacedObserver
from fabric.system.clock import Clock

# Choose the next time window of a followed source and detect its new lines.
# No side effects: the caller passes the current time.
# Where lines are stamped by a clock that is ahead of this one, they are there all the same.
_AHEAD = 900 * SECOND


class LookBack(Struct, frozen=True):
    """How far back late lines are searched, because ingestion and clocks can lag.

    `near` applies to each poll, `far` to every n-th poll, with n = `every`.
    """

    near: int
    far: int
    every: int


class FollowedTime:
    """Every line that becomes readable within `far` of its timestamp is reported exactly once.

    This holds for any timestamps of other lines and for any outage of the source.
    """

    def __init__(self, since: int, look_back: LookBack) -> None:
        self._since, self._look_back = since, look_back
        # When all that there was had been read last.
        self._read: int | None = None
        self._read_far = 0
        # How much older than the look before it the newest of each function was.
        self._behind: dict[str, int] = {}
        self._known: dict[tuple[str, str, str, str], int] = {}

    def window(self, now: int) -> TimeWindow:
        return TimeWindow(self._begin(now), now + _AHEAD)

    def new(self, lines: Sequence[LogLine], now: int) -> list[LogLine]:
        """Return the lines of a query at `now` that no earlier response contained."""
        found = []
        for line in lines:
            if line.key not in self._known:
                self._known[line.key] = line.at
                found.append(line)
        self._measure(found)
        if self._is_far(now):
            self._read_far = now
            self._forget(now - self._look_back.far)
        self._read = now
        return found

    def _is_far(self, now: int) -> bool:
        return self._read is None or now - self._read_far >= self._look_back.every

    def _begin(self, now: int) -> int:
        if self._read is None:
            return self._since
        if self._is_far(now):
            begin = min(self._read_far, now) - self._look_back.far
        else:
            slowest = max(self._behind.values(), default=0)
            begin = min(self._read, now) - self._look_back.near - slowest
        return max(self._since, begin)

    def _measure(self, lines: Sequence[LogLine]) -> None:
        """Search further back for a function whose lines arrive late. Each function is measured
        separately."""
        if self._read is None:
            return
        most = self._look_back.far - self._look_back.near
        newest: dict[str, int] = {}
        for line in lines:
            newest[line.function] = max(newest.get(line.function, line.at), line.at)
        for function, at in newest.items():
            self._behind[function] = min(max(self._read - at, 0), most)

    def _forget(self, before: int) -> None:
        """Forget lines that no window reaches anymore."""
        self._known = {key: at for key, at in self._known.items() if at >= before}


_HOLD = SECOND
_MEMORY = LONGEST_CALL
_NEAR = 30 * SECOND
# As late as lines may come: some stores take minutes until what was said can be read.
_LOOK_BACK = LookBack(_NEAR, 300 * SECOND, 10 * SECOND)
# Calls on this machine are noted when they end, with lines from when they began.
_LOOK_BACK_HERE = LookBack(LONGEST_CALL, LONGEST_CALL + _NEAR, 10 * SECOND)
_TICK = 0.1
# Of a source that does not answer: how long until it is asked again, at most.
_LONGEST_PAUSE = 10.0


class FollowListeners(Struct, frozen=True):
    """Callbacks for lines and source failures. The line callback returns whether to continue."""

    lines: Callable[[list[LogLine]], bool]
    note: Callable[[str], None]


def follow(
    request: Request,
    settings: Settings,
    make_listeners: MakeListeners,
    asked: Observing,
    hearers: FollowListeners,
) -> Report:
    """Follow the logs. Existing lines come first. A requested stop counts as success."""
    stream = LineStream(settings.clock, hearers.lines)
    with open_observed_targets(request, settings) as targets:
        look = _look(asked, targets, stream, hearers.note)
        result = run_looks(request, settings, Looks(asked.kind, targets, look), make_listeners)
    stream.end()
    if result.interrupted:
        return Report(request.command, problems=result.problems, exit_code=choose_exit_code(result))
    return Report(
        request.command, problems=list_run_problems(result), exit_code=choose_exit_code(result)
    )


class LineStream:
    """Merges lines of all sources and passes them on one at a time. Thread-safe."""

    def __init__(self, clock: Clock, hear: Callable[[list[LogLine]], bool]) -> None:
        self.is_read = True
        self._clock, self._hear = clock, hear
        self._merge = LineMerge(_HOLD, _MEMORY)
        self._guard = threading.Lock()

    def now(self) -> int:
        return convert_to_nanoseconds(self._clock.now())

    def take(self, lines: Iterable[LogLine] = ()) -> None:
        with self._guard:
            self._merge.take(lines, self.now())
            self._tell(self._merge.due(self.now()))

    def end(self) -> None:
        with self._guard:
            self._tell(self._merge.rest())

    def _tell(self, lines: list[LogLine]) -> None:
        if lines and self.is_read:
            self.is_read = self._hear(lines)


def _look(
    asked: Observing, targets: ObservedTargets, stream: LineStream, note: Callable[[str], None]
) -> Callable[[ObservedTarget, CallContext], None]:
    def look(target: ObservedTarget, watch: CallContext) -> None:
        def report_notice(text: str) -> None:
            note(f"{target.ref.service} at {target.ref.provider}: {text}")

        def is_to_end() -> bool:
            return watch.is_to_end() or not stream.is_read

        try:
            observer = targets.observer(target, asked.kind)
            own = CallContext(report_notice, is_to_end)
            FollowedSource(target, observer, asked, stream, own).follow()
        except FabricError as error:
            # Whatever was cut off by the end is no failure of the source.
            if is_to_end():
                return
            # The others go on, and their end may be far away: it is told at once.
            note(_describe_failure(target, error.first))
            raise

    return look


def _describe_failure(target: ObservedTarget, problem: Problem) -> str:
    whose = f"{target.ref.service} at {target.ref.provider}"
    hint = f" ({problem.hint})" if problem.hint else ""
    return f"cannot follow {whose}: {problem.message}{hint}"


class FollowedSource(Struct, frozen=True):
    """The followed logs of one service at one provider."""

    target: ObservedTarget
    observer: Observer
    asked: Observing
    stream: LineStream
    watch: CallContext
    sleep: Callable[[float], None] = time.sleep

    def follow(self) -> None:
        observer = self.observer
        if isinstance(observer, LogFollower):
            own, since = self.target.service, self.asked.window.since
            observer.follow(own, since, self._take, self.watch)
            return
        followed, pause = FollowedTime(self.asked.window.since, self._look_back), 0.0
        while not self.watch.is_to_end():
            begun = self.stream.now()
            try:
                self._ask_again(followed)
            except FabricError as error:
                if exit_code_of(error.first) is not ExitCode.UNREACHABLE:
                    raise
                if not pause:
                    self.watch.hear(f"{error.first.message}; retrying")
                pause = min(_LONGEST_PAUSE, pause * 2 or 1.0)
            else:
                if pause:
                    self.watch.hear("connection restored")
                pause = 0.0
            # What took long is a burden to whoever was asked: he has as long to himself.
            self._pause(max(pause, self._every, (self.stream.now() - begun) / SECOND))

    @property
    def _look_back(self) -> LookBack:
        return _LOOK_BACK_HERE if self.target.is_here else _LOOK_BACK

    @property
    def _every(self) -> float:
        """Return the poll interval. It grows with the number of functions, within the rate
        limit."""
        paced = self.observer.every if isinstance(self.observer, PacedObserver) else 0.5
        return max(paced, 0.1 * len(self.target.service.functions))

    def _ask_again(self, followed: FollowedTime) -> None:
        now = self.stream.now()
        question = self.asked.question(followed.window(now), MOST_LINES)
        lines = list(self.observer.log_lines(self.target.service, question, self.watch))
        self._take(followed.new(lines, now))

    def _take(self, lines: Iterable[LogLine]) -> None:
        takes = self.asked.question().takes
        self.stream.take([one for one in map(self.target.redact_line, lines) if takes(one)])

    def _pause(self, seconds: float) -> None:
        """Pause, and pass on waiting lines meanwhile."""
        while seconds > 0 and not self.watch.is_to_end():
            self.sleep(min(seconds, _TICK))
            seconds -= _TICK
            self.stream.take()
