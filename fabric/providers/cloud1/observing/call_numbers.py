"""How often functions were called, and how long it took: several hundred numbers a call."""

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from fabric.model.observed import SECOND, FunctionNumbers, TimeWindow, nanoseconds
from fabric.providers.cloud1.clients import Cloud1Clients
from fabric.providers.contract import LiveFunction
from fabric.providers.observing import ObservedService

_QUERIES = 500
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


def numbers_of(
    clients: Cloud1Clients, service: ObservedService, window: TimeWindow
) -> list[FunctionNumbers]:
    queries = [one for row in enumerate(service.functions) for one in _queries(*row, window)]
    series: dict[str, list[_MetricSeries]] = {}
    for begin in range(0, len(queries), _QUERIES):
        for one in _asked(clients, queries[begin : begin + _QUERIES], window):
            series.setdefault(one.id, []).append(one)
    return [
        _numbers(service, one.name, window, [series.get(f"f{number}_{k}", ()) for k in range(4)])
        for number, one in enumerate(service.functions)
    ]


def _queries(
    number: int, function: LiveFunction, window: TimeWindow
) -> Iterator[Mapping[str, object]]:
    """All versions together: numbers that name a function alone."""
    part, whole = window.whole_minutes(), min(window.whole_minutes(1), _DAY)
    dimensions = [{"Name": "FunctionName", "Value": function.resource_name}]
    for which, (name, statistic) in enumerate(_ASKED):
        metric = {"Namespace": "AWS/Lambda", "MetricName": name, "Dimensions": dimensions}
        period = part if statistic == "Sum" else whole
        stat = {"Metric": metric, "Period": period, "Stat": statistic}
        yield {"Id": f"f{number}_{which}", "MetricStat": stat, "ReturnData": True}


def _asked(
    clients: Cloud1Clients, queries: Sequence[Mapping[str, object]], window: TimeWindow
) -> Iterator[_MetricSeries]:
    token = ""
    while True:
        answer = clients.of("cloudwatch").get_metric_data(
            MetricDataQueries=queries,
            StartTime=window.since // SECOND,
            EndTime=-(-window.until // SECOND),
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
    window: TimeWindow,
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
        window.in_parts(
            ((nanoseconds(at), value) for at, value in calls), window.whole_minutes() * SECOND
        ),
    )
