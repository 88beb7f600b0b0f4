"""What somebody who looks after deployed functions is asked, and what he answers."""

from collections.abc import Callable, Iterable
from typing import ClassVar, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

from fabric.model.log_levels import is_as_grave
from fabric.model.observed import FunctionNumbers, LogLine, TimeWindow, TracedCall
from fabric.providers.contract import UNWATCHED, CallWatch, DeploymentAddress, LiveFunction

# Of whoever chooses less than we do, so many lines are looked through.
MOST_LINES = 10_000


class ObservedService(Struct, frozen=True):
    """The functions of one service at one provider that are asked about."""

    address: DeploymentAddress
    functions: tuple[LiveFunction, ...]

    def line(self, function: str, at: int, text: str) -> LogLine:
        return LogLine(at, self.address.service, function, self.address.label, text)


class LogQuestion(Struct, frozen=True):
    """Lines in this time that have `text` in them and are as grave as `level`, the newest `most`:
    whoever cannot choose gives more, and they are chosen afterwards. Without `platform` what
    providers say themselves is not wanted."""

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
        """How many to ask of whoever chooses by text alone, and gives so many at the most: enough
        for those that are left of them."""
        is_chosen_there = self.platform and not self.level
        return min(self.most, largest) if is_chosen_there else largest


class Observer(Protocol):
    """One provider's. Raises a FabricError with the code `observe/none` for what nobody keeps."""

    def log_lines(
        self, service: ObservedService, asked: LogQuestion, watch: CallWatch = UNWATCHED
    ) -> Iterable[LogLine]: ...

    def numbers(
        self, service: ObservedService, window: TimeWindow, watch: CallWatch = UNWATCHED
    ) -> Iterable[FunctionNumbers]: ...

    def traces(
        self, service: ObservedService, window: TimeWindow, watch: CallWatch = UNWATCHED
    ) -> Iterable[TracedCall]: ...


@runtime_checkable
class PacedObserver(Protocol):
    """An observer who is followed by programs that begin anew for each look: the seconds between
    two."""

    every: ClassVar[float]


# Called several times a second, with no lines where there are none: others wait for their turn.
HearLines: TypeAlias = Callable[[Iterable[LogLine]], None]


@runtime_checkable
class LogFollower(Protocol):
    """An observer whose provider tells lines as they come; any other is asked again and again."""

    def follow(
        self,
        service: ObservedService,
        since: int,
        hear: HearLines,
        watch: CallWatch = UNWATCHED,
    ) -> None:
        """Until the watch says that it is to end."""
