"""Observe functions on AWS: log groups, metrics and traces."""

import datetime
import itertools
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fabric.model.observed import (
    SECOND,
    FunctionNumbers,
    LogLine,
    TimeWindow,
    TracedCall,
    convert_to_nanoseconds,
    find_level,
    normalize_level,
)
from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.core.client import (
    GONE,
    Cloud1Clients,
    convert_client_errors,
    ignore_codes,
)
from fabric.providers.cloud1.observing.call_numbers import fetch_metrics
from fabric.providers.cloud1.observing.traces import fetch_traces
from fabric.providers.core.contract import NO_CONTEXT, CallContext, LiveFunction
from fabric.providers.core.observing import MOST_LINES, LogQuestion, ObservedService
from fabric.providers.core.redaction import Redaction, redact_errors
from fabric.providers.core.retry import WAITING, RetryPolicy, poll_until, run_parallel

# Each group by itself up to so many; more are asked for by one query over all of them.
_FEW = 20


class Cloud1Observer(Struct, frozen=True):
    """The AWS observer."""

    # Returns the clients of a region.
    connect: Callable[[str], Cloud1Clients]
    hide: Redaction
    waiting: RetryPolicy = WAITING
    now: Callable[[], int] = time.time_ns

    def log_lines(
        self, service: ObservedService, asked: LogQuestion, watch: CallContext = NO_CONTEXT
    ) -> Iterable[LogLine]:
        with self._connect_service(service) as clients:
            if len(service.functions) <= _FEW:
                return fetch_log_lines(clients, service, asked, watch)
            return query_log_lines(clients, service, asked, _Patience(self.waiting, watch))

    def numbers(
        self, service: ObservedService, window: TimeWindow, watch: CallContext = NO_CONTEXT
    ) -> Iterable[FunctionNumbers]:
        del watch
        with self._connect_service(service) as clients:
            return fetch_metrics(clients, service, window, self.now())

    def traces(
        self, service: ObservedService, window: TimeWindow, watch: CallContext = NO_CONTEXT
    ) -> Iterable[TracedCall]:
        with self._connect_service(service) as clients:
            found = fetch_traces(clients, service, window)
        if not found:
            watch.hear("no traces: AWS records traces only for functions with active tracing")
        return found

    @contextmanager
    def _connect_service(self, service: ObservedService) -> Iterator[Cloud1Clients]:
        whose = f"`{service.address.service}`"
        with redact_errors(self.hide), convert_client_errors(whose, self.hide.quote):
            yield self.connect(service.address.region)


_GROUPS = 50
_PENDING = frozenset(("Scheduled", "Running", "Unknown"))


class _QueryField(Struct, frozen=True):
    field: str
    value: str = ""


class _QueryAnswer(Struct, frozen=True):
    status: str
    results: tuple[tuple[_QueryField, ...], ...] = ()


class _FoundGroup(Struct, frozen=True, rename="camel"):
    log_group_name: str


class _GroupPage(Struct, frozen=True, rename="camel"):
    log_groups: tuple[_FoundGroup, ...] = ()
    next_token: str = ""


class _Patience(Struct, frozen=True):
    """How long a query is waited for, and who hears of it."""

    policy: RetryPolicy
    watch: CallContext


def query_log_lines(
    clients: Cloud1Clients,
    service: ObservedService,
    asked: LogQuestion,
    patience: _Patience,
) -> list[LogLine]:
    groups = _list_existing_groups(clients, service)
    lines: list[LogLine] = []
    for begin in range(0, len(groups), _GROUPS):
        answer = _run_query(clients, groups[begin : begin + _GROUPS], asked, patience)
        most = asked.most_of(MOST_LINES)
        if len(answer.results) >= most > min(asked.most, MOST_LINES - 1):
            patience.watch.hear(
                f"only the newest {most:,} lines were searched; there might be more"
            )
        lines += _parse_rows(service, answer.results)
    return [line for line in lines if asked.window.has(line.at)]


def _list_existing_groups(clients: Cloud1Clients, service: ObservedService) -> list[str]:
    """List the existing groups: a query of a missing group is rejected, and an uncalled function
    has none."""
    wanted = {_group_of(one) for one in service.functions}
    begin, token = _find_common_prefix(sorted(wanted)), ""
    found: list[str] = []
    while True:
        more = {"nextToken": token} if token else {}
        answer = clients.of("logs").describe_log_groups(logGroupNamePrefix=begin, **more)
        page = msgspec.convert(answer, _GroupPage)
        found += [one.log_group_name for one in page.log_groups if one.log_group_name in wanted]
        token = page.next_token
        if not token:
            return found


def _find_common_prefix(names: Sequence[str]) -> str:
    first, last = names[0], names[-1]
    pairs = zip(first, last, strict=False)
    return "".join(one for one, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _run_query(
    clients: Cloud1Clients,
    groups: Sequence[str],
    asked: LogQuestion,
    patience: _Patience,
) -> _QueryAnswer:
    logs = clients.of("logs")
    query = logs.start_query(
        logGroupNames=list(groups),
        startTime=asked.window.since // SECOND,
        endTime=-(-asked.window.until // SECOND),
        queryString=_query(asked),
        limit=asked.most_of(MOST_LINES),
    )["queryId"]

    def poll_query() -> _QueryAnswer | None:
        answer = msgspec.convert(logs.get_query_results(queryId=query), _QueryAnswer)
        return None if answer.status in _PENDING else answer

    found = poll_until(poll_query, patience.policy, patience.watch)
    if found is None or found.status != "Complete":
        logs.stop_query(queryId=query)
        said = found.status if found else "timeout"
        message = f"a query over {len(groups)} log groups failed: {said}"
        raise FabricError(Problem("provider/failed", message, "choose a shorter time range"))
    return found


def _query(asked: LogQuestion) -> str:
    plain = asked.text and not set(asked.text) & set("\"'\\")
    like = f'| filter strcontains(@message, "{asked.text}") ' if plain else ""
    return f"fields @timestamp, @message, @log, @ptr {like}| sort @timestamp desc"


def _parse_rows(
    service: ObservedService, rows: Iterable[Sequence[_QueryField]]
) -> Iterable[LogLine]:
    for row in rows:
        texts = {one.field: one.value for one in row}
        function = _find_group_function(texts.get("@log", ""), service)
        if function:
            at, message = _time(texts["@timestamp"]), texts.get("@message", "")
            line = service.line(function, at, message)
            yield replace(_parse_log_message(line, message), id=texts.get("@ptr", ""))


def _time(text: str) -> int:
    """Parse a timestamp in UTC without a zone, with or without milliseconds."""
    if text.isdecimal():
        return int(text) * 1_000_000
    return convert_to_nanoseconds(
        datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)
    )


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
            for event in _fetch_events(clients, _group_of(function), asked, watch):
                line = service.line(function.name, event.timestamp * _MS, event.message)
                found.append(replace(_parse_log_message(line, event.message), id=event.event_id))
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


_BEGINS = "/aws/lambda/"
_PLATFORM = re.compile(
    r"(?:START|END|REPORT) RequestId: (?P<request>[0-9a-f-]{36})"
    r"|INIT_START |INIT_REPORT |XRAY TraceId: |EXTENSION\t|TELEMETRY\t"
)
_REQUEST = r"(?P<request>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
# `time\trequest\tLEVEL\ttext` of Node, `[LEVEL]\ttime\trequest\ttext` of Python.
_NODE = re.compile(rf"[\d:.TZ-]+\t{_REQUEST}\t(?P<level>[A-Z]+)\t")
_PYTHON = re.compile(rf"\[(?P<level>[A-Z]+)\]\t[\d:.TZ-]+\t{_REQUEST}\t")


def _group_of(function: LiveFunction) -> str:
    return f"{_BEGINS}{function.resource_name}"


def _find_group_function(group: str, service: ObservedService) -> str:
    """Return the function of a log group, empty for an unrelated group. The name can have an
    account prefix."""
    name = group.rpartition(":")[2].removeprefix(_BEGINS)
    return next((one.name for one in service.functions if one.resource_name == name), "")


def _parse_log_message(line: LogLine, message: str) -> LogLine:
    """Drop the prefix that the runtime adds; separate fields contain the same data."""
    text = message.rstrip("\n")
    platform = _PLATFORM.match(text)
    if platform:
        return replace(line, text=text, request=platform["request"] or "", is_platform=True)
    found = _NODE.match(text) or _PYTHON.match(text)
    if found:
        level = normalize_level(found["level"])
        return replace(line, text=text[found.end() :], request=found["request"], level=level)
    if text.startswith("{"):
        return _parse_json_line(line, text)
    return replace(line, text=text, level=find_level(text))


def _parse_json_line(line: LogLine, text: str) -> LogLine:
    """Parse a JSON log line, which contains more fields from AWS."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return replace(line, text=text)
    record = said.get("record")
    is_platform = str(said.get("type", "")).startswith("platform.") and isinstance(record, dict)
    request = (record if is_platform else said).get("requestId", "")
    return replace(
        line,
        text=text,
        level="" if is_platform else find_level(text),
        request=request if isinstance(request, str) else "",
        is_platform=is_platform,
    )
