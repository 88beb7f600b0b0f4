"""The interface of observers: questions and answers about deployed functions."""

from collections.abc import Callable, Iterable
from typing import ClassVar, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

from fabric.model.observed import FunctionNumbers, LogLine, TimeWindow, TracedCall, is_as_grave
from fabric.providers.core.contract import NO_CONTEXT, CallContext, DeploymentAddress, LiveFunction

# Of whoever chooses less than we do, so many lines are looked through.
MOST_LINES = 10_000


class ObservedService(Struct, frozen=True):
    """The functions of one service at one provider to observe."""

    address: DeploymentAddress
    functions: tuple[LiveFunction, ...]

    def line(self, function: str, at: int, text: str) -> LogLine:
        return LogLine(at, self.address.service, function, self.address.label, text)


class LogQuestion(Struct, frozen=True):
    """A log query: the newest `most` lines of a time window that contain `text` and have at least
    `level`.

    An observer that cannot filter returns more, and fabric filters afterwards. Without `platform`,
    messages of the provider itself are excluded.
    """

    window: TimeWindow
    text: str = ""
    most: int = 1_000
    level: str = ""
    platform: bool = True

    def takes(self, line: LogLine) -> bool:
        return (
            (self.platform or not line.is_platform)
            and self.text in line.text
            and is_as_grave(line.level, self.level)
        )

    def most_of(self, largest: int) -> int:
        """Compute the limit for an API that filters only by text. Enough lines must remain after
        local filtering."""
        is_chosen_there = self.platform and not self.level
        return min(self.most, largest) if is_chosen_there else largest


class Observer(Protocol):
    """The observer of one provider. Raises a FabricError with code `observe/none` for unavailable
    data."""

    def log_lines(
        self, service: ObservedService, asked: LogQuestion, watch: CallContext = NO_CONTEXT
    ) -> Iterable[LogLine]: ...

    def numbers(
        self, service: ObservedService, window: TimeWindow, watch: CallContext = NO_CONTEXT
    ) -> Iterable[FunctionNumbers]: ...

    def traces(
        self, service: ObservedService, window: TimeWindow, watch: CallContext = NO_CONTEXT
    ) -> Iterable[TracedCall]: ...


@runtime_checkable
class PacedObserver(Protocol):
    """An observer that starts a program for each poll, with the number of seconds between two
    polls."""

    every: ClassVar[float]


# Called several times a second, with no lines where there are none: others wait for their turn.
HearLines: TypeAlias = Callable[[Iterable[LogLine]], None]


@runtime_checkable
class LogFollower(Protocol):
    """An observer whose provider streams log lines; all others are polled."""

    def follow(
        self,
        service: ObservedService,
        since: int,
        hear: HearLines,
        watch: CallContext = NO_CONTEXT,
    ) -> None:
        """Stream lines until the watch stops the call."""
