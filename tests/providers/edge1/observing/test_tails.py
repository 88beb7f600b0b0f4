"""Tails that end after a long time: what they had told is not told once more."""

import socket
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import pytest
from msgspec import field

from fabric.model.observed import SECOND, LogLine, TimeWindow
from fabric.model.secrets.secret import Secret
from fabric.providers.core.contract import CallContext, DeploymentAddress, LiveFunction
from fabric.providers.core.observing import ObservedService
from fabric.providers.core.retry import RetryPolicy
from fabric.providers.core.work import CallScope
from fabric.providers.edge1.client import Edge1Account, Edge1Api
from fabric.providers.edge1.observing.tails import TailedService, TailEndedError, TailPace
from fabric.providers.edge1.observing.telemetry import Edge1Asking, TelemetryQuestion

T = TypeVar("T")
_ADDRESS = DeploymentAddress("shop", "dev", "edge1-workers", "edge1-workers", "")
_SERVICE = ObservedService(_ADDRESS, (LiveFunction("hello", "shop-dev-hello", ""),))
_BEGIN = 1_800_000_000 * SECOND
_MINUTE = 60 * SECOND


class NotedAsking(Edge1Asking, frozen=True):
    """Keeps nothing; notes which times it is asked about."""

    windows: list[TimeWindow] = field(default_factory=list)

    def query(self, window: TimeWindow, question: TelemetryQuestion, kind: type[T]) -> T:
        assert question.view == "events"
        self.windows.append(window)
        return kind()


class SilentTail:
    """Says nothing until it ends."""

    def __init__(self) -> None:
        self._own, self.other = socket.socketpair()

    def fileno(self) -> int:
        return self._own.fileno()

    def receive(self) -> list[bytes]:
        raise TailEndedError("it ended")

    def keep(self) -> None:
        return

    def close(self) -> None:
        self._own.close()
        self.other.close()


@pytest.fixture
def api() -> Iterator[Edge1Api]:
    made = Edge1Api(Edge1Account("http://127.0.0.1:9", Secret("t"), "a"))
    yield made
    made.close()


def test_after_an_hour_of_listening_only_the_last_minutes_are_looked_up_again(
    api: Edge1Api,
) -> None:
    now = _BEGIN
    tails: list[SilentTail] = []

    def hear(lines: Iterable[LogLine]) -> None:
        """Minutes go by, and after an hour the first tail ends."""
        nonlocal now
        assert not list(lines)
        if tails[0].other.fileno() >= 0:
            now += 5 * _MINUTE
            if now - _BEGIN > 60 * _MINUTE:
                tails[0].other.close()

    def begin(worker: str) -> Any:
        assert worker == "shop-dev-hello"
        tails.append(SilentTail())
        return tails[-1]

    watch = CallContext(lambda _: None, lambda: len(asking.windows) > 2)
    scope = CallScope(_ADDRESS, watch, str, RetryPolicy(sleep=lambda _: None))
    asking = NotedAsking(api=api, scope=scope)
    followed = TailedService(asking, _SERVICE, begin, TailPace(lambda: now, 0.01))
    followed.follow(_BEGIN - _MINUTE, hear, watch)
    first, *_, last = asking.windows
    assert (first.since, len(tails)) == (_BEGIN - _MINUTE, 2)
    assert last.since >= now - 15 * _MINUTE
