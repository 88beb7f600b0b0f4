"""What somebody who looks after deployed functions is asked, and what he answers."""

from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

from fabric.model.observed import FunctionNumbers, LogLine, TimeWindow, TracedCall
from fabric.providers.contract import UNWATCHED, CallWatch, DeploymentAddress, LiveFunction


class ObservedService(Struct, frozen=True):
    """The functions of one service at one provider that are asked about."""

    address: DeploymentAddress
    functions: tuple[LiveFunction, ...]

    def line(self, function: str, at: int, text: str) -> LogLine:
        return LogLine(at, self.address.service, function, self.address.label, text)


class LogQuestion(Struct, frozen=True):
    """Lines in this time that have `text` in them, the newest `most`: whoever cannot choose gives
    more, and they are chosen afterwards."""

    window: TimeWindow
    text: str = ""
    most: int = 1_000


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
