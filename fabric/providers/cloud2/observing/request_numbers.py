"""Request counts and latencies of functions, from the Cloud Run services behind them."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from fabric.model.observed import SECOND, FunctionNumbers, TimeWindow, parse_nanoseconds
from fabric.providers.cloud2.observing.asking import (
    Cloud2Asking,
    build_get_call,
    format_rfc3339,
    list_page_rows,
)
from fabric.providers.core.observing import ObservedService

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
    asking: Cloud2Asking, service: ObservedService, window: TimeWindow
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
    calls, errors, p50, p95 = (_run_query(asking, one, names, window) for one in questions)
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
    asking: Cloud2Asking, one: _NumberQuestion, names: Sequence[str], window: TimeWindow
) -> Found:
    found: dict[str, list[_SeriesPoint]] = {}
    for begin in range(0, len(names), _NAMES):
        words = _build_query(asking, one, names[begin : begin + _NAMES], window)
        for page in list_page_rows(lambda more: _fetch_page(asking, more), words):
            for series in page:
                found.setdefault(series.resource.labels.get(_LABEL, ""), []).extend(series.points)
    return found


def _fetch_page(
    asking: Cloud2Asking, words: Mapping[str, str]
) -> tuple[Sequence[_TimeSeries], str]:
    path = f"/v3/projects/{asking.project}/timeSeries"
    found = asking.ask(build_get_call(_INTERFACE, path, words), _TimeSeriesPage)
    return found.time_series, found.next_page_token


def _build_query(
    asking: Cloud2Asking, one: _NumberQuestion, names: Sequence[str], window: TimeWindow
) -> dict[str, str]:
    either = ", ".join(f'"{name}"' for name in names)
    chosen = (
        f'metric.type="run.googleapis.com/{one.metric}" AND resource.type="cloud_run_revision"'
        f' AND resource.labels.location="{asking.region}"'
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
