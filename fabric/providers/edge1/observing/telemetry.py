"""Cloudflare telemetry: queries, and the events and traces of Workers."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from fabric.model.observed import (
    LogLine,
    TimeWindow,
    TracedCall,
    TracedStep,
    find_level,
    normalize_level,
)
from fabric.model.outcomes.json_struct import JsonObject
from fabric.providers.core.contract import LiveFunction
from fabric.providers.core.http_calls import build_json_call
from fabric.providers.core.observing import LogQuestion, ObservedService
from fabric.providers.edge1.client import Edge1Settings
from fabric.providers.edge1.work import Edge1Work

T = TypeVar("T")
MS = 1_000_000
_DATASETS = ("cloudflare-workers",)
# In one filter: its value is a list with commas, and no query is endless.
_NAMES = 100


class TelemetryQuestion(Struct, frozen=True):
    """A query. `view` is the shape of the response; `paging` limits its size."""

    view: str
    parameters: JsonObject
    paging: JsonObject = {}


class Edge1Asking(Edge1Work, frozen=True, kw_only=True):
    """Read-only queries: each can be repeated."""

    own: Edge1Settings = Edge1Settings()

    def query(self, window: TimeWindow, question: TelemetryQuestion, kind: type[T]) -> T:
        document = {
            **question.paging,
            "view": question.view,
            "queryId": "fabric",
            "dry": True,
            "timeframe": {"from": window.since // MS, "to": -(-window.until // MS)},
            "parameters": {"datasets": list(_DATASETS), **question.parameters},
        }
        path = f"{self.workers}/observability/telemetry/query"
        return self.ask(build_json_call("POST", path, document), kind)


def batch_functions(functions: Sequence[LiveFunction]) -> list[dict[str, str]]:
    """Map Worker names to function names, in batches of the maximum query size."""
    rows = [(one.resource_name, one.name) for one in functions]
    return [dict(rows[begin : begin + _NAMES]) for begin in range(0, len(rows), _NAMES)]


def build_worker_filter(names: Sequence[str] | dict[str, str]) -> JsonObject:
    return build_condition("$metadata.service", "in", ",".join(names))


def build_condition(key: str, operation: str, value: str | int) -> JsonObject:
    kind = "string" if isinstance(value, str) else "number"
    return {"kind": "filter", "key": key, "operation": operation, "type": kind, "value": value}


def join_conditions(*conditions: JsonObject) -> JsonObject:
    return {"kind": "group", "filterCombination": "or", "filters": list(conditions)}


_PAGE = 2_000
_ENDED = "cf-worker-event"


class _WorkerEventMetadata(Struct, frozen=True, rename="camel"):
    id: str
    service: str = ""
    level: str = ""
    message: str = ""
    error: str = ""
    request_id: str = ""
    type: str = ""


class _WorkerEvent(Struct, frozen=True):
    timestamp: int
    metadata: _WorkerEventMetadata = field(name="$metadata")
    source: object = None


class _WorkerEventPage(Struct, frozen=True):
    events: tuple[_WorkerEvent, ...] = ()


class _WorkerEventAnswer(Struct, frozen=True):
    events: _WorkerEventPage = field(default_factory=_WorkerEventPage)


class _TailedLine(Struct, frozen=True):
    message: object = ""
    level: str = ""
    timestamp: int = 0


class _TailedError(Struct, frozen=True):
    name: str = ""
    message: str = ""
    timestamp: int = 0


class _TailedRequest(Struct, frozen=True):
    method: str = ""
    url: str = ""


class _TailedCause(Struct, frozen=True):
    request: _TailedRequest | None = None
    cron: str = ""

    @property
    def title(self) -> str:
        return f"{self.request.method} {self.request.url}" if self.request else self.cron


class _TailedCall(Struct, frozen=True, rename="camel"):
    event_timestamp: int | None = None
    outcome: str = ""
    logs: Sequence[_TailedLine] = ()
    exceptions: Sequence[_TailedError] = ()
    event: _TailedCause | None = None


class WorkerLines:
    """The log lines of one service.

    Equal lines of one moment are kept as often as they were written. A line received both ways is
    returned once.
    """

    def __init__(self, service: ObservedService) -> None:
        self._service = service

    def fetch_stored(self, asking: Edge1Asking, asked: LogQuestion) -> list[LogLine]:
        found: list[LogLine] = []
        for names in batch_functions(self._service.functions):
            found += self._fetch_batch(asking, names, asked)
        return [one for one in found if asked.window.has(one.at)]

    def _fetch_batch(
        self, asking: Edge1Asking, names: dict[str, str], asked: LogQuestion
    ) -> list[LogLine]:
        """Fetch page after page. The API returns the newest first, so the limit stops early."""
        events: list[_WorkerEvent] = []
        for page in _fetch_pages(asking, asked.window, names):
            events += page
            lines = self._convert_events(names, events)
            is_newest_first = bool(page) and page[0].timestamp > page[-1].timestamp
            if is_newest_first and sum(map(asked.takes, lines)) >= asked.most:
                break
        return [one for one in self._convert_events(names, events) if asked.takes(one)]

    def _convert_events(
        self, names: dict[str, str], events: Sequence[_WorkerEvent]
    ) -> list[LogLine]:
        own = (one for one in events if one.metadata.service in names)
        rows = sorted(own, key=lambda one: one.timestamp)
        return list(
            self._number_lines((names[one.metadata.service], *_convert_event(one)) for one in rows)
        )

    def parse_invocation(self, function: str, content: bytes) -> list[LogLine]:
        """Return the lines of one ended invocation; none if the text is not one."""
        try:
            call = msgspec.json.decode(content, type=_TailedCall)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return []
        return list(self._number_lines((function, *row) for row in _convert_call(call)))

    def _number_lines(self, rows: Iterable[tuple[str, int, str, str, bool]]) -> Iterator[LogLine]:
        told: Counter[tuple[str, int, str]] = Counter()
        for function, at, text, level, is_platform in rows:
            told[function, at, text] += 1
            ident = f"{at}/{told[function, at, text]}/{text}"
            line = self._service.line(function, at * MS, text)
            yield replace(line, level=level, id=ident, is_platform=is_platform)


def _fetch_pages(
    asking: Edge1Asking, window: TimeWindow, names: dict[str, str]
) -> Iterator[tuple[_WorkerEvent, ...]]:
    """Yield pages; each starts at the end of the previous one."""
    offset = ""
    while True:
        page = _fetch_page(asking, window, build_worker_filter(names), offset)
        yield page
        if len(page) < _PAGE:
            return
        offset = page[-1].metadata.id


def _fetch_page(
    asking: Edge1Asking, window: TimeWindow, chosen: JsonObject, offset: str
) -> tuple[_WorkerEvent, ...]:
    more: JsonObject = {"offset": offset, "offsetDirection": "next"} if offset else {}
    question = TelemetryQuestion("events", {"filters": [chosen]}, {"limit": _PAGE, **more})
    return asking.query(window, question, _WorkerEventAnswer).events.events


def _convert_event(one: _WorkerEvent) -> tuple[int, str, str, bool]:
    said, failed = one.metadata, bool(one.metadata.error)
    text = said.error or said.message or _format_message(one.source)
    level = "error" if failed else find_level(text) or normalize_level(said.level)
    return one.timestamp, text, level, said.type == _ENDED and not failed


def _convert_call(call: _TailedCall) -> Iterator[tuple[int, str, str, bool]]:
    for line in call.logs:
        text = _format_message(line.message)
        yield line.timestamp, text, find_level(text) or normalize_level(line.level), False
    for thrown in call.exceptions:
        yield thrown.timestamp, thrown.message, "error", False
    if call.event is not None and not call.exceptions:
        yield call.event_timestamp or 0, call.event.title, "info", True


def _format_message(message: object) -> str:
    """Join the values of one log call as a console does."""
    if isinstance(message, str):
        return message
    if isinstance(message, list):
        return " ".join(map(_format_message, message))
    if isinstance(message, dict) and isinstance(message.get("message"), str):
        return str(message["message"])
    return msgspec.json.encode(message).decode()


_MOST = 100
_STEPS = 2_000


class _WorkerTraceRow(Struct, frozen=True, rename="camel"):
    trace_id: str
    root_span_name: str = ""
    service: Sequence[str] = ()
    trace_start_ms: float = 0
    trace_duration_ms: float = 0
    errors: Sequence[str] = ()


class _WorkerTraceAnswer(Struct, frozen=True):
    traces: tuple[_WorkerTraceRow, ...] = ()


class _SpanMetadata(Struct, frozen=True, rename="camel"):
    trace_id: str = ""
    span_id: str = ""
    parent_span_id: str = ""
    span_name: str = ""
    start_time: float | None = None
    duration: float = 0
    error: str = ""


class _SpanEvent(Struct, frozen=True):
    metadata: _SpanMetadata = field(name="$metadata", default_factory=_SpanMetadata)


class _SpanPage(Struct, frozen=True):
    events: tuple[_SpanEvent, ...] = ()


class _SpanAnswer(Struct, frozen=True):
    events: _SpanPage = field(default_factory=_SpanPage)


def fetch_traces(
    asking: Edge1Asking, service: ObservedService, window: TimeWindow
) -> Iterator[TracedCall]:
    """Fetch the newest hundred traces, then the steps of all in one query."""
    for names in batch_functions(service.functions):
        filters = [build_worker_filter(names)]
        question = TelemetryQuestion("traces", {"filters": filters}, {"limit": _MOST})
        rows = asking.query(window, question, _WorkerTraceAnswer).traces
        steps = _fetch_steps(asking, window, [one.trace_id for one in rows])
        for row in rows:
            for function in dict.fromkeys(names[one] for one in row.service if one in names):
                yield _call(service, function, row, steps)


def _fetch_steps(
    asking: Edge1Asking, window: TimeWindow, ids: Sequence[str]
) -> dict[str, list[_SpanMetadata]]:
    found: dict[str, list[_SpanMetadata]] = {one: [] for one in ids}
    if ids:
        chosen = build_condition("$metadata.traceId", "in", ",".join(ids))
        question = TelemetryQuestion("events", {"filters": [chosen]}, {"limit": _STEPS})
        for one in asking.query(window, question, _SpanAnswer).events.events:
            said = one.metadata
            if said.span_id and said.start_time is not None and said.trace_id in found:
                found[said.trace_id].append(said)
    return found


def _call(
    service: ObservedService,
    function: str,
    row: _WorkerTraceRow,
    steps: dict[str, list[_SpanMetadata]],
) -> TracedCall:
    own = steps[row.trace_id]
    known = {one.span_id for one in own}
    return TracedCall(
        id=row.trace_id,
        service=service.address.service,
        function=function,
        provider=service.address.label,
        started_at=round(row.trace_start_ms * MS),
        ms=row.trace_duration_ms,
        status="error" if row.errors else "ok",
        steps=tuple(
            TracedStep(
                id=one.span_id,
                parent=one.parent_span_id if one.parent_span_id in known else "",
                name=one.span_name,
                started_at=round((one.start_time or 0) * MS),
                ms=one.duration,
                status="error" if one.error else "ok",
            )
            for one in own
        ),
    )
