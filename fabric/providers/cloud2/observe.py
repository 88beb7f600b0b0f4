"""Observe functions on Google Cloud: log entries, request metrics and traces."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec import Struct, field
from msgspec.structs import replace

from fabric.model.observed import (
    SECOND,
    FunctionNumbers,
    LogLine,
    TimeWindow,
    TracedCall,
    TracedStep,
    parse_nanoseconds,
)
from fabric.providers.cloud2.client import Cloud2Api, classify_refusal
from fabric.providers.cloud2.log_entries import (
    build_get_call,
    fetch_log_lines,
    format_rfc3339,
    list_page_rows,
)
from fabric.providers.cloud2.work import Cloud2Place, Cloud2Work
from fabric.providers.core.contract import NO_CONTEXT, CallContext
from fabric.providers.core.errors import convert_call_errors, redact_progress
from fabric.providers.core.observing import LogQuestion, ObservedService
from fabric.providers.core.redaction import Redaction
from fabric.providers.core.retry import WAITING, RetryPolicy
from fabric.providers.core.work import CallScope

_INTERFACE = "monitoring"
_NAMES = 100
_COUNT, _TIMES = "request_count", "request_latencies"
_LABEL = "service_name"


class _PointInterval(Struct, frozen=True, rename="camel"):
    end_time: str


class _PointValue(Struct, frozen=True, rename="camel"):
    """A metric value. The API sends integers as texts."""

    int64_value: str = ""
    double_value: float = 0.0

    @property
    def number(self) -> float:
        return float(self.int64_value) if self.int64_value else self.double_value


class _SeriesPoint(Struct, frozen=True):
    interval: _PointInterval
    value: _PointValue


class _SeriesResource(Struct, frozen=True):
    labels: Mapping[str, str] = {}


class _TimeSeries(Struct, frozen=True):
    resource: _SeriesResource = field(default_factory=_SeriesResource)
    points: tuple[_SeriesPoint, ...] = ()


class _TimeSeriesPage(Struct, frozen=True, rename="camel"):
    time_series: tuple[_TimeSeries, ...] = ()
    next_page_token: str = ""


class _NumberQuestion(Struct, frozen=True):
    """A query of one metric per function."""

    metric: str
    aligner: str
    reducer: str
    seconds: int
    # An additional filter.
    more: str = ""


Found = Mapping[str, Sequence[_SeriesPoint]]


def fetch_metrics(
    work: Cloud2Work, service: ObservedService, window: TimeWindow
) -> list[FunctionNumbers]:
    part, whole = window.whole_minutes(), window.whole_minutes(1)
    failed = ' AND metric.labels.response_code_class="5xx"'
    questions = (
        _NumberQuestion(_COUNT, "ALIGN_DELTA", "REDUCE_SUM", part),
        _NumberQuestion(_COUNT, "ALIGN_DELTA", "REDUCE_SUM", whole, failed),
        _NumberQuestion(_TIMES, "ALIGN_DELTA", "REDUCE_PERCENTILE_50", whole),
        _NumberQuestion(_TIMES, "ALIGN_DELTA", "REDUCE_PERCENTILE_95", whole),
    )
    names = [one.resource_name for one in service.functions]
    calls, errors, p50, p95 = (_run_query(work, one, names, window) for one in questions)
    return [
        FunctionNumbers(
            service=service.address.service,
            function=one.name,
            provider=service.address.label,
            calls=round(_sum_points(calls, one.resource_name)),
            errors=round(_sum_points(errors, one.resource_name)),
            p50_ms=_find_maximum(p50, one.resource_name),
            p95_ms=_find_maximum(p95, one.resource_name),
            over_time=_split_over_time(calls.get(one.resource_name, ()), window, part),
        )
        for one in service.functions
    ]


def _run_query(
    work: Cloud2Work, one: _NumberQuestion, names: Sequence[str], window: TimeWindow
) -> Found:
    found: dict[str, list[_SeriesPoint]] = {}
    for begin in range(0, len(names), _NAMES):
        words = _build_query(work, one, names[begin : begin + _NAMES], window)
        for page in list_page_rows(lambda more: _fetch_page(work, more), words):
            for series in page:
                found.setdefault(series.resource.labels.get(_LABEL, ""), []).extend(series.points)
    return found


def _fetch_page(work: Cloud2Work, words: Mapping[str, str]) -> tuple[Sequence[_TimeSeries], str]:
    path = f"/v3/projects/{work.place.project}/timeSeries"
    found = work.ask(build_get_call(_INTERFACE, path, words), _TimeSeriesPage)
    return found.time_series, found.next_page_token


def _build_query(
    work: Cloud2Work, one: _NumberQuestion, names: Sequence[str], window: TimeWindow
) -> dict[str, str]:
    either = ", ".join(f'"{name}"' for name in names)
    chosen = (
        f'metric.type="run.googleapis.com/{one.metric}" AND resource.type="cloud_run_revision"'
        f' AND resource.labels.location="{work.place.region}"'
        f" AND resource.labels.{_LABEL}=one_of({either}){one.more}"
    )
    return {
        "filter": chosen,
        "interval.startTime": format_rfc3339(window.since),
        "interval.endTime": format_rfc3339(window.until),
        "aggregation.alignmentPeriod": f"{one.seconds}s",
        "aggregation.perSeriesAligner": one.aligner,
        "aggregation.crossSeriesReducer": one.reducer,
        "aggregation.groupByFields": f"resource.labels.{_LABEL}",
    }


def _sum_points(found: Found, name: str) -> float:
    return sum(point.value.number for point in found.get(name, ()))


def _find_maximum(found: Found, name: str) -> float | None:
    return max((point.value.number for point in found.get(name, ())), default=None)


def _split_over_time(
    points: Sequence[_SeriesPoint], window: TimeWindow, part: int
) -> tuple[int, ...]:
    """Distribute points over time. The time of a point is the end of its interval."""
    return window.in_parts(
        ((end - 1, value) for end, value in _list_point_ends(points)), part * SECOND
    )


def _list_point_ends(points: Sequence[_SeriesPoint]) -> Iterator[tuple[int, float]]:
    return ((parse_nanoseconds(one.interval.end_time), one.value.number) for one in points)


class Cloud2Observer(Struct, frozen=True):
    """The Google Cloud observer."""

    api: Cloud2Api
    # Comes from the environment.
    place: Cloud2Place
    hide: Redaction
    waiting: RetryPolicy = WAITING

    def log_lines(
        self, service: ObservedService, asked: LogQuestion, watch: CallContext = NO_CONTEXT
    ) -> Iterable[LogLine]:
        with self._open_queries(service, watch) as work:
            return fetch_log_lines(work, service, asked)

    def numbers(
        self, service: ObservedService, window: TimeWindow, watch: CallContext = NO_CONTEXT
    ) -> Iterable[FunctionNumbers]:
        with self._open_queries(service, watch) as work:
            return fetch_metrics(work, service, window)

    def traces(
        self, service: ObservedService, window: TimeWindow, watch: CallContext = NO_CONTEXT
    ) -> Iterable[TracedCall]:
        with self._open_queries(service, watch) as work:
            return fetch_traces(work, service, window)

    @contextmanager
    def _open_queries(self, service: ObservedService, watch: CallContext) -> Iterator[Cloud2Work]:
        place = replace(self.place, region=service.address.region or self.place.region)
        whose = f"`{service.address.service}`"
        with convert_call_errors(whose, classify_refusal, self.hide) as hide:
            watch = redact_progress(watch, hide.quote)
            scope = CallScope(service.address, watch, hide.quote, self.waiting)
            yield Cloud2Work(api=self.api, scope=scope, place=place)


_TRACE_INTERFACE = "cloudtrace"
_PAGE = "200"
_MS = 1_000_000
_FAILED = 500
_STATUS = ("/http/status_code", "http.status_code", "http.response.status_code")


class _CloudSpan(Struct, frozen=True, rename="camel"):
    span_id: str
    name: str = ""
    start_time: str = ""
    end_time: str = ""
    parent_span_id: str = ""
    labels: Mapping[str, str] = {}

    @property
    def began(self) -> int:
        return parse_nanoseconds(self.start_time)

    @property
    def ms(self) -> float:
        return (parse_nanoseconds(self.end_time or self.start_time) - self.began) / _MS

    @property
    def status(self) -> str:
        said = next((self.labels[name] for name in _STATUS if name in self.labels), "")
        is_bad = said.isdecimal() and int(said) >= _FAILED
        return "error" if is_bad or "/error/message" in self.labels else "ok"


class _CloudTrace(Struct, frozen=True, rename="camel"):
    trace_id: str
    spans: tuple[_CloudSpan, ...] = ()


class _CloudTracePage(Struct, frozen=True, rename="camel"):
    traces: tuple[_CloudTrace, ...] = ()
    next_page_token: str = ""


def fetch_traces(
    work: Cloud2Work, service: ObservedService, window: TimeWindow
) -> list[TracedCall]:
    """Fetch all traces of the window. Only span labels identify the service, because span names
    depend on their author."""
    words = {
        "startTime": format_rfc3339(window.since),
        "endTime": format_rfc3339(window.until),
        "view": "COMPLETE",
        "pageSize": _PAGE,
    }
    pages = list_page_rows(lambda more: _fetch_trace_page(work, more), words)
    found = (
        call for page in pages for trace in page for call in _list_traced_calls(service, trace)
    )
    return [one for one in found if window.has(one.started_at)]


def _fetch_trace_page(
    work: Cloud2Work, words: Mapping[str, str]
) -> tuple[Sequence[_CloudTrace], str]:
    path = f"/v1/projects/{work.place.project}/traces"
    found = work.ask(build_get_call(_TRACE_INTERFACE, path, words), _CloudTracePage)
    return found.traces, found.next_page_token


def _list_traced_calls(service: ObservedService, trace: _CloudTrace) -> Iterator[TracedCall]:
    names = {one.resource_name: one.name for one in service.functions}
    known = {one.span_id for one in trace.spans}
    steps = tuple(
        TracedStep(
            id=one.span_id,
            parent=one.parent_span_id if one.parent_span_id in known else "",
            name=one.name,
            started_at=one.began,
            ms=one.ms,
            status=one.status,
        )
        for one in trace.spans
    )
    told: set[str] = set()
    for one in sorted(trace.spans, key=lambda one: one.began):
        name = next((names[text] for text in one.labels.values() if text in names), "")
        if name and name not in told:
            told.add(name)
            where = (service.address.service, name, service.address.label)
            yield TracedCall(trace.trace_id, *where, one.began, one.ms, one.status, steps)
