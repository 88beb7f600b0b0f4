"""Log lines of a few groups, read separately for each group."""

from collections.abc import Iterator
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fabric.model.observed import LogLine
from fabric.providers.cloud1.answers import GONE, ignore_codes
from fabric.providers.cloud1.clients import Cloud1Clients
from fabric.providers.cloud1.observing.groups import group_of, parse_log_message
from fabric.providers.core.contract import CallContext, LiveFunction
from fabric.providers.core.observing import LogQuestion, ObservedService
from fabric.providers.core.retry import run_parallel

T = TypeVar("T")
_MS = 1_000_000
# An account may be asked for events only a few times a second.
_AT_ONCE = 5


class _LogEvent(Struct, frozen=True, rename="camel"):
    timestamp: int
    message: str
    event_id: str


class _EventPage(Struct, frozen=True, rename="camel"):
    """One page of events. An empty page can be followed by others."""

    events: tuple[_LogEvent, ...] = ()
    next_token: str = ""


def fetch_log_lines(
    clients: Cloud1Clients, service: ObservedService, asked: LogQuestion, watch: CallContext
) -> list[LogLine]:
    def fetch_function_lines(function: LiveFunction) -> list[LogLine]:
        found: list[LogLine] = []
        # One that was never called has no group.
        with ignore_codes(GONE):
            for event in _fetch_events(clients, group_of(function), asked, watch):
                line = service.line(function.name, event.timestamp * _MS, event.message)
                found.append(replace(parse_log_message(line, event.message), id=event.event_id))
        return found

    every = run_parallel(fetch_function_lines, service.functions, _AT_ONCE)
    return [line for one in every for line in one if asked.window.has(line.at)]


def _fetch_events(
    clients: Cloud1Clients, group: str, asked: LogQuestion, watch: CallContext
) -> Iterator[_LogEvent]:
    words: dict[str, object] = {
        "logGroupName": group,
        "startTime": asked.window.since // _MS,
        "endTime": -(-asked.window.until // _MS),
        **_build_filter_pattern(asked.text),
    }
    token = ""
    while True:
        more = {"nextToken": token} if token else {}
        answer = clients.of("logs").filter_log_events(**words, **more)
        page = msgspec.convert(answer, _EventPage)
        yield from page.events
        if not page.next_token or page.next_token == token or watch.is_to_end():
            return
        token = page.next_token


def _build_filter_pattern(text: str) -> dict[str, object]:
    """Build the filter: a quoted phrase matches literally. A text with quotes is filtered
    locally."""
    return {"filterPattern": f'"{text}"'} if text and '"' not in text else {}
