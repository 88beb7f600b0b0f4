"""How often functions were called, and how long it took: several hundred numbers a call."""

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from fabric.model.observed import SECOND, FunctionNumbers, TimeWindow
from fabric.providers.cloud1.clients import Cloud1Clients
from fabric.providers.contract import LiveFunction
from fabric.providers.observing import ObservedService

_QUERIES = 500
_PARTS = 24
_MINUTE = 60
_DAY = 86_400
# What is asked of each function: its metric, and how it is put together.
_ASKED = (("Invocations", "Sum"), ("Errors", "Sum"), ("Duration", "p50"), ("Duration", "p95"))


class _MetricSeries(Struct, frozen=True, rename="pascal"):
    id: str
    values: tuple[float, ...] = ()
    timestamps: tuple[datetime.datetime, ...] = ()


class _MetricPage(Struct, frozen=True, rename="pascal"):
    metric_data_results: tuple[_MetricSeries, ...] = ()
    next_token: str = ""


class _AskedTimes(Struct, frozen=True):
    """Asked for in whole minutes: `part` seconds for what is drawn, `whole` for all of it."""

    since: int
    until: int

    @property
    def part(self) -> int:
        return _minutes((self.until - self.since) / _PARTS)

    @property
    def whole(self) -> int:
        return min(_minutes(self.until - self.since), _DAY)


def _minutes(seconds: float) -> int:
    return max(-(-int(seconds) // _MINUTE), 1) * _MINUTE


def numbers_of(
    clients: Cloud1Clients, service: ObservedService, window: TimeWindow
) -> list[FunctionNumbers]:
    times = _AskedTimes(window.since // SECOND, -(-window.until // SECOND))
    queries = [one for row in enumerate(service.functions) for one in _queries(*row, times)]
    series: dict[str, list[_MetricSeries]] = {}
    for begin in range(0, len(queries), _QUERIES):
        for one in _asked(clients, queries[begin : begin + _QUERIES], times):
            series.setdefault(one.id, []).append(one)
    return [
        _numbers(service, one.name, times, [series.get(f"f{number}_{k}", ()) for k in range(4)])
        for number, one in enumerate(service.functions)
    ]


def _queries(
    number: int, function: LiveFunction, times: _AskedTimes
) -> Iterator[Mapping[str, object]]:
    """All versions together: numbers that name a function alone."""
    dimensions = [{"Name": "FunctionName", "Value": function.resource_name}]
    for which, (name, statistic) in enumerate(_ASKED):
        metric = {"Namespace": "AWS/Lambda", "MetricName": name, "Dimensions": dimensions}
        period = times.part if statistic == "Sum" else times.whole
        stat = {"Metric": metric, "Period": period, "Stat": statistic}
        yield {"Id": f"f{number}_{which}", "MetricStat": stat, "ReturnData": True}


def _asked(
    clients: Cloud1Clients, queries: Sequence[Mapping[str, object]], times: _AskedTimes
) -> Iterator[_MetricSeries]:
    token = ""
    while True:
        answer = clients.of("cloudwatch").get_metric_data(
            MetricDataQueries=queries,
            StartTime=times.since,
            EndTime=times.until,
            ScanBy="TimestampAscending",
            **({"NextToken": token} if token else {}),
        )
        page = msgspec.convert(answer, _MetricPage)
        yield from page.metric_data_results
        token = page.next_token
        if not token:
            return


def _numbers(
    service: ObservedService,
    function: str,
    times: _AskedTimes,
    found: Sequence[Iterable[_MetricSeries]],
) -> FunctionNumbers:
    calls, errors, *spans = (
        [pair for one in series for pair in zip(one.timestamps, one.values, strict=False)]
        for series in found
    )
    p50, p95 = (max((value for _, value in one), default=None) for one in spans)
    return FunctionNumbers(
        service.address.service,
        function,
        service.address.label,
        round(sum(value for _, value in calls)),
        round(sum(value for _, value in errors)),
        p50,
        p95,
        _over_time(calls, times),
    )


def _over_time(
    counts: Iterable[tuple[datetime.datetime, float]], times: _AskedTimes
) -> tuple[int, ...]:
    parts = [0] * _PARTS
    for at, value in counts:
        place = int(at.timestamp() - times.since) // times.part
        parts[min(max(place, 0), _PARTS - 1)] += round(value)
    return tuple(parts)
