"""Traces of invocations with their steps."""

import datetime
import itertools
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec import Struct

from fabric.model.observed import SECOND, TimeWindow, TracedCall, TracedStep
from fabric.providers.cloud1.core.client import Cloud1Clients
from fabric.providers.core.observing import ObservedService
from fabric.providers.core.retry import run_parallel

# A question is about less than so many seconds, and so many letters.
_LONGEST = 6 * 3600 - 1
_LETTERS = 1_900
_IN_ONE = 5
_AT_ONCE = 5


class _TraceSummary(Struct, frozen=True, rename="pascal"):
    id: str


class _SummaryPage(Struct, frozen=True, rename="pascal"):
    trace_summaries: tuple[_TraceSummary, ...] = ()
    next_token: str = ""


class _SegmentText(Struct, frozen=True, rename="pascal"):
    document: str


class _FoundTrace(Struct, frozen=True, rename="pascal"):
    id: str
    segments: tuple[_SegmentText, ...] = ()


class _FoundTraces(Struct, frozen=True, rename="pascal"):
    traces: tuple[_FoundTrace, ...] = ()
    next_token: str = ""


class _TraceSegment(Struct, frozen=True):
    """A segment of a trace. Without an end it is still running."""

    id: str
    name: str
    start_time: float
    end_time: float = 0.0
    parent_id: str = ""
    origin: str = ""
    error: bool = False
    fault: bool = False
    throttle: bool = False
    subsegments: tuple["_TraceSegment", ...] = ()

    @property
    def ms(self) -> float:
        return max(self.end_time - self.start_time, 0.0) * 1000

    @property
    def status(self) -> str:
        return "error" if self.error or self.fault or self.throttle else "ok"

    @property
    def began(self) -> int:
        return round(self.start_time * 1_000_000) * 1_000


def fetch_traces(
    clients: Cloud1Clients, service: ObservedService, window: TimeWindow
) -> list[TracedCall]:
    names = {one.resource_name: one.name for one in service.functions}
    ids = dict.fromkeys(_fetch_trace_ids(clients, _build_expressions(list(names)), window))
    groups = [list(ids)[begin : begin + _IN_ONE] for begin in range(0, len(ids), _IN_ONE)]
    found = run_parallel(lambda group: list(_fetch_trace_details(clients, group)), groups, _AT_ONCE)
    calls = (
        _list_traced_calls(service, one, names) for one in itertools.chain.from_iterable(found)
    )
    every = itertools.chain.from_iterable(calls)
    return [one for one in every if window.has(one.started_at)]


def _build_expressions(names: Sequence[str]) -> Iterator[str]:
    """Build filters that match any of these services, with as many as fit in each query."""
    said = ""
    for name in names:
        word = f'service("{name}")'
        if said and len(said) + len(word) > _LETTERS:
            yield said
            said = ""
        said = f"{said} OR {word}" if said else word
    if said:
        yield said


def _fetch_trace_ids(
    clients: Cloud1Clients, expressions: Iterable[str], window: TimeWindow
) -> Iterator[str]:
    spans = list(_split_window(window))
    for expression in expressions:
        for since, until in spans:
            yield from _fetch_ids_between(clients, expression, since, until)


def _split_window(window: TimeWindow) -> Iterator[tuple[float, float]]:
    since, until = window.since / SECOND, window.until / SECOND
    while since < until:
        end = min(since + _LONGEST, until)
        yield since, end
        since = end


def _fetch_ids_between(
    clients: Cloud1Clients, expression: str, since: float, until: float
) -> Iterator[str]:
    token = ""
    while True:
        answer = clients.of("xray").get_trace_summaries(
            StartTime=_convert_to_utc(since),
            EndTime=_convert_to_utc(until),
            FilterExpression=expression,
            **({"NextToken": token} if token else {}),
        )
        page = msgspec.convert(answer, _SummaryPage)
        yield from (one.id for one in page.trace_summaries)
        token = page.next_token
        if not token:
            return


def _convert_to_utc(at: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(at, tz=datetime.UTC)


def _fetch_trace_details(clients: Cloud1Clients, ids: Sequence[str]) -> Iterator[_FoundTrace]:
    token = ""
    while True:
        more = {"NextToken": token} if token else {}
        answer = clients.of("xray").batch_get_traces(TraceIds=list(ids), **more)
        page = msgspec.convert(answer, _FoundTraces)
        yield from page.traces
        token = page.next_token
        if not token:
            return


def _list_traced_calls(
    service: ObservedService, trace: _FoundTrace, names: dict[str, str]
) -> Iterator[TracedCall]:
    """Yield one call for each function of ours: a trace can pass through several."""
    segments = [msgspec.json.decode(one.document, type=_TraceSegment) for one in trace.segments]
    steps = tuple(
        itertools.chain.from_iterable(_list_steps(one, one.parent_id) for one in segments)
    )
    told: set[str] = set()
    for one in sorted(segments, key=lambda one: one.start_time):
        if one.name in names and one.name not in told:
            told.add(one.name)
            where = (service.address.service, names[one.name], service.address.label)
            yield TracedCall(trace.id, *where, one.began, one.ms, one.status, steps)


def _list_steps(segment: _TraceSegment, parent: str) -> Iterator[TracedStep]:
    yield TracedStep(
        id=segment.id,
        parent=parent,
        name=segment.name,
        started_at=segment.began,
        ms=segment.ms,
        status=segment.status,
    )
    for one in segment.subsegments:
        yield from _list_steps(one, segment.id)
