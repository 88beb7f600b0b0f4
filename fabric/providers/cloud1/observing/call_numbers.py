"""Invocation counts and durations of functions, several hundred metrics per API call."""

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec
from msgspec import Struct

from fabric.model.observed import SECOND, FunctionNumbers, TimeWindow, convert_to_nanoseconds
from fabric.providers.cloud1.core.client import Cloud1Clients
from fabric.providers.core.contract import LiveFunction
from fabric.providers.core.observing import ObservedService

_QUERIES = 500
_DAY = 86_400
# What is asked of each function: its metric, and how it is put together.
_ASKED = (("Invocations", "Sum"), ("Errors", "Sum"), ("Duration", "p50"), ("Duration", "p95"))
# One search brings the numbers of many functions; so long it may be, and so many are in a call.
_SEARCHES, _LETTERS = 100, 1_024
# It finds what has had numbers within two weeks.
_FOUND_FOR = 14 * _DAY * SECOND
_NAMED = "${PROP('Dim.FunctionName')}"

_Query: TypeAlias = Mapping[str, object]
_Found: TypeAlias = dict[tuple[str, int], list["_MetricSeries"]]


class _MetricSeries(Struct, frozen=True, rename="pascal"):
    id: str
    label: str = ""
    values: tuple[float, ...] = ()
    timestamps: tuple[datetime.datetime, ...] = ()


class _MetricPage(Struct, frozen=True, rename="pascal"):
    metric_data_results: tuple[_MetricSeries, ...] = ()
    next_token: str = ""


def fetch_metrics(
    clients: Cloud1Clients, service: ObservedService, window: TimeWindow, now: int
) -> list[FunctionNumbers]:
    is_many = len(service.functions) * len(_ASKED) > _QUERIES
    is_new = window.since > now - _FOUND_FOR
    look = _query_by_search if is_many and is_new else _query_by_name
    found = look(clients, service.functions, window)
    return [
        _build_numbers(
            service,
            one.name,
            window,
            [found.get((one.resource_name, which), ()) for which in range(len(_ASKED))],
        )
        for one in service.functions
    ]


def _query_by_name(
    clients: Cloud1Clients, functions: Sequence[LiveFunction], window: TimeWindow
) -> _Found:
    """Query each metric separately."""
    queries = [one for row in enumerate(functions) for one in _build_queries(*row, window)]
    found: _Found = {}
    for some in _split_queries(queries, _QUERIES):
        for one in _fetch_series(clients, some, window):
            number, which = map(int, one.id.removeprefix("f").split("_"))
            found.setdefault((functions[number].resource_name, which), []).append(one)
    return found


def _query_by_search(
    clients: Cloud1Clients, functions: Sequence[LiveFunction], window: TimeWindow
) -> _Found:
    """Search metrics. Functions without data are missing, and other functions can match too."""
    found: _Found = {}
    for some in _split_queries(list(_build_searches(functions, window)), _SEARCHES):
        for one in _fetch_series(clients, some, window):
            which = int(one.id.removeprefix("s").partition("_")[0])
            found.setdefault((one.label, which), []).append(one)
    return found


def _split_queries(queries: Sequence[_Query], most: int) -> Iterator[Sequence[_Query]]:
    return (queries[begin : begin + most] for begin in range(0, len(queries), most))


def _build_searches(functions: Sequence[LiveFunction], window: TimeWindow) -> Iterator[_Query]:
    for which, (metric, statistic) in enumerate(_ASKED):
        begin = f'{{AWS/Lambda,FunctionName}} MetricName="{metric}" ('
        names = _join_names([one.resource_name for one in functions], _LETTERS - len(begin) - 1)
        for number, some in enumerate(names):
            period = _choose_period(statistic, window)
            expression = f"SEARCH('{begin}{some})', '{statistic}', {period})"
            yield {"Id": f"s{which}_{number}", "Expression": expression, "Label": _NAMED}


def _join_names(names: Sequence[str], most: int) -> Iterator[str]:
    """Join as many quoted names as fit into one search term. Quotes match whole names."""
    said = ""
    for name in names:
        more = f'{said} OR "{name}"' if said else f'"{name}"'
        if said and len(more) > most:
            yield said
            more = f'"{name}"'
        said = more
    if said:
        yield said


def _choose_period(statistic: str, window: TimeWindow) -> int:
    return window.whole_minutes() if statistic == "Sum" else min(window.whole_minutes(1), _DAY)


def _build_queries(number: int, function: LiveFunction, window: TimeWindow) -> Iterator[_Query]:
    """Build the queries for all versions of a function together."""
    dimensions = [{"Name": "FunctionName", "Value": function.resource_name}]
    for which, (name, statistic) in enumerate(_ASKED):
        metric = {"Namespace": "AWS/Lambda", "MetricName": name, "Dimensions": dimensions}
        stat = {"Metric": metric, "Period": _choose_period(statistic, window), "Stat": statistic}
        yield {"Id": f"f{number}_{which}", "MetricStat": stat, "ReturnData": True}


def _fetch_series(
    clients: Cloud1Clients, queries: Sequence[_Query], window: TimeWindow
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


def _build_numbers(
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
        service=service.address.service,
        function=function,
        provider=service.address.label,
        calls=round(sum(value for _, value in calls)),
        errors=round(sum(value for _, value in errors)),
        p50_ms=p50,
        p95_ms=p95,
        over_time=window.in_parts(
            ((convert_to_nanoseconds(at), value) for at, value in calls),
            window.whole_minutes() * SECOND,
        ),
    )
