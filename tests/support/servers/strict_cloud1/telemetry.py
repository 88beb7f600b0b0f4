"""What an account keeps of calls besides their lines: numbers of each function; and what moto does
not know of asking for numbers and traces."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from moto.cloudwatch.exceptions import ValidationError
from moto.cloudwatch.models import CloudWatchBackend, Statistics, cloudwatch_backends
from moto.xray.models import SegmentCollection

from tests.support.servers.strict_cloud1.accounts import Region

_SERVICE = re.compile(r'service\("([^"]+)"\)')
_FORM = re.compile(r'service\("[^"]+"\)(?: OR service\("[^"]+"\))*')
# A search as the service documents it, of the form that names functions.
_SEARCH = re.compile(
    r"SEARCH\('(\{AWS/Lambda,FunctionName\} MetricName=\"(\w+)\""
    r" \((\"[\w-]+\"(?: OR \"[\w-]+\")*)\))', '(\w+)', (\d+)\)"
)
_BY_NAME = "${PROP('Dim.FunctionName')}"
_MOST_QUERIES, _MOST_SEARCHES, _LONGEST_SEARCH = 500, 100, 1_024
_TWO_WEEKS = timedelta(days=14)
_SIX_HOURS = 6 * 3600


def take_over_telemetry() -> None:
    """Percentiles of numbers, searches for them, and questions about traces of services."""
    _take_over_statistics()
    _take_over_searches()
    _take_over_traces()


def _take_over_statistics() -> None:
    by_moto = Statistics.get_statistics_for_type

    def statistic(numbers: Statistics, stat: str) -> Any:
        if not re.fullmatch(r"p\d+", stat):
            return by_moto(numbers, stat)
        values = sorted(numbers.metric_single_values_list)
        return values[max(-(-len(values) * int(stat[1:]) // 100), 1) - 1]

    Statistics.get_statistics_for_type = statistic  # type: ignore[method-assign, assignment]


def _take_over_searches() -> None:
    by_moto = CloudWatchBackend.get_metric_data

    def numbers(
        backend: CloudWatchBackend, queries: list[dict[str, Any]], *words: Any, **more: Any
    ) -> list[dict[str, Any]]:
        searches = sum("Expression" in one for one in queries)
        if len(queries) > _MOST_QUERIES or searches > _MOST_SEARCHES:
            raise ValidationError("The collection MetricDataQueries has too many members.")
        plain = [made for one in queries for made in _expanded(backend, one)]
        found = by_moto(backend, plain, *words, **more)
        return [{**one, "id": one["id"].partition("/")[0]} for one in found]

    CloudWatchBackend.get_metric_data = numbers  # type: ignore[method-assign, assignment]


def _take_over_traces() -> None:
    by_moto = SegmentCollection.summary

    def summed_up(
        segments: SegmentCollection, start: Any, end: Any, expression: str | None = None
    ) -> dict[str, Any]:
        if (end - start).total_seconds() > _SIX_HOURS:
            raise ValueError("Time range cannot be longer than 6 hours")
        found = by_moto(segments, start, end)
        if expression is None:
            return found
        if not _FORM.fullmatch(expression) or len(expression) > 2000:
            raise ValueError(f"invalid filter expression: {expression}")
        names = set(_SERVICE.findall(expression))
        kept = [one for one in found["TraceSummaries"] if names & _names(segments, one["Id"])]
        return {**found, "TraceSummaries": kept}

    SegmentCollection.summary = summed_up  # type: ignore[method-assign, assignment]


def _expanded(backend: CloudWatchBackend, query: dict[str, Any]) -> list[dict[str, Any]]:
    """What a search finds, each as if it had been asked for by itself."""
    if "Expression" not in query:
        return [query]
    found = _SEARCH.fullmatch(query["Expression"])
    if found is None or len(found[1]) > _LONGEST_SEARCH or query.get("Label") != _BY_NAME:
        raise ValidationError(f"Error in expression '{query['Id']}'")
    _, metric, names, stat, period = found.groups()
    since = datetime.now(UTC) - _TWO_WEEKS  # noqa: TID251 - as the service does
    there = {
        one.dimensions[0].value
        for one in backend.get_all_metrics()
        if one.name == metric
        and len(one.dimensions) == 1
        and one.timestamp.replace(tzinfo=UTC) > since
    }
    return [
        {
            "Id": f"{query['Id']}/{name}",
            "Label": name,
            "MetricStat": {
                "Metric": {
                    "Namespace": "AWS/Lambda",
                    "MetricName": metric,
                    "Dimensions": [{"Name": "FunctionName", "Value": name}],
                },
                "Period": int(period),
                "Stat": stat,
            },
        }
        for name in re.findall(r'"([\w-]+)"', names)
        if name in there
    ]


def _names(segments: SegmentCollection, trace: str) -> set[str]:
    found, _ = segments.get_trace_ids([trace])
    return {segment.name for one in found for segment in one["segments"]}


def note_call(region: Region, name: str, ms: float, *, failed: bool) -> None:
    """By the function's name alone, as all of its versions together are counted."""
    where = {
        "Dimensions": [{"Name": "FunctionName", "Value": name}],
        "Timestamp": datetime.now(UTC).replace(tzinfo=None),  # noqa: TID251 - as moto has it
    }
    rows = [("Invocations", 1.0), ("Errors", float(failed)), ("Duration", ms)]
    data = [{"MetricName": metric, "Value": value, **where} for metric, value in rows]
    backend = cloudwatch_backends[region.account.number][region.name]
    backend.put_metric_data("AWS/Lambda", data)
