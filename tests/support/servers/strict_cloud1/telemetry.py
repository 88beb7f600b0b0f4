"""What an account keeps of calls besides their lines: numbers of each function; and what moto does
not know of asking for numbers and traces."""

import re
from datetime import UTC, datetime
from typing import Any

from moto.cloudwatch.models import Statistics, cloudwatch_backends
from moto.xray.models import SegmentCollection

from tests.support.servers.strict_cloud1.accounts import Region

_SERVICE = re.compile(r'service\("([^"]+)"\)')
_FORM = re.compile(r'service\("[^"]+"\)(?: OR service\("[^"]+"\))*')
_SIX_HOURS = 6 * 3600


def take_over_telemetry() -> None:
    """Percentiles of numbers, and questions about traces of services."""
    by_moto, summary = Statistics.get_statistics_for_type, SegmentCollection.summary

    def statistic(numbers: Statistics, stat: str) -> Any:
        if not re.fullmatch(r"p\d+", stat):
            return by_moto(numbers, stat)
        values = sorted(numbers.metric_single_values_list)
        return values[max(-(-len(values) * int(stat[1:]) // 100), 1) - 1]

    def summed_up(
        segments: SegmentCollection, start: Any, end: Any, expression: str | None = None
    ) -> dict[str, Any]:
        if (end - start).total_seconds() > _SIX_HOURS:
            raise ValueError("Time range cannot be longer than 6 hours")
        found = summary(segments, start, end)
        if expression is None:
            return found
        if not _FORM.fullmatch(expression) or len(expression) > 2000:
            raise ValueError(f"invalid filter expression: {expression}")
        names = set(_SERVICE.findall(expression))
        kept = [one for one in found["TraceSummaries"] if names & _names(segments, one["Id"])]
        return {**found, "TraceSummaries": kept}

    Statistics.get_statistics_for_type = statistic  # type: ignore[method-assign, assignment]
    SegmentCollection.summary = summed_up  # type: ignore[method-assign, assignment]


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
