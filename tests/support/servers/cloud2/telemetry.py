"""What a project keeps of calls: entries of logs, numbers of requests, traces."""

import contextlib
import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tests.support.servers.cloud2.functions import Names
from tests.support.servers.cloud2.project import Cloud2Project, MetCall, ServiceState
from tests.support.servers.cloud2.refusals import invalid
from tests.support.servers.cloud2.running import Passed

_LOCATION = "europe-west1"
_PAGE = 1000
_QUOTED = re.compile(r'"([^"]*)"')
_LOG_FILTER = re.compile(
    r'resource\.type="cloud_run_revision" AND resource\.labels\.location="([^"]+)" AND '
    r'resource\.labels\.service_name=\(("[^"]+"(?: OR "[^"]+")*)\) AND '
    r'timestamp>="([^"]+)" AND timestamp<"([^"]+)"'
)
_METRIC_FILTER = re.compile(
    r'metric\.type="run\.googleapis\.com/(request_count|request_latencies)" AND '
    r'resource\.type="cloud_run_revision" AND resource\.labels\.location="([^"]+)" AND '
    r'resource\.labels\.service_name=one_of\(("[^"]+"(?:, "[^"]+")*)\)'
    r'( AND metric\.labels\.response_code_class="5xx")?'
)


@dataclass
class _Noting:
    answer: Passed


@contextlib.contextmanager
def noted(project: Cloud2Project, service: ServiceState) -> Iterator[_Noting]:
    """Around a call of a user's: what the revision writes meanwhile is of it."""
    began, met = time.time_ns(), service.met
    before = len(met.instance.log) if met else 0
    call = _Noting(Passed(b"", ()))
    yield call
    lines = met.instance.log[before:].splitlines() if met else []
    ended = time.time_ns()
    made = MetCall(service.name, began, (ended - began) / 1e6, call.answer.status, lines)
    project.met.append(made)


def project_in(body: bytes) -> str:
    """Of a question that names it beside the path."""
    names = json.loads(body or b"{}").get("resourceNames") or [""]
    return str(names[0]).removeprefix("projects/")


def entries(project: Cloud2Project, _names: Names, _query: Names, body: Any) -> Any:
    found = _LOG_FILTER.fullmatch(body["filter"])
    if found is None:
        raise invalid(f"Unparseable filter: {body['filter']}")
    services, since, until = set(_QUOTED.findall(found[2])), found[3], found[4]
    rows = [*_own_entries(project), *project.entries]
    rows = [one for one in rows if one["resource"]["labels"]["service_name"] in services]
    rows = [one for one in rows if found[1] == _LOCATION and since <= one["timestamp"] < until]
    rows.sort(key=lambda one: str(one["timestamp"]), reverse=body["orderBy"].endswith(" desc"))
    return _paged("entries", rows, body, min(body.get("pageSize", 50), _PAGE))


def _own_entries(project: Cloud2Project) -> Iterator[dict[str, Any]]:
    for number, call in enumerate(project.met):
        yield entry(project, call.service, call.at, f"r{number}", "run.googleapis.com%2Frequests")
        for row, text in enumerate(call.lines):
            at = call.at + 1_000 * (row + 1)
            made = entry(project, call.service, at, f"{number}-{row}")
            yield {**made, "textPayload": text, "labels": {"execution_id": f"x{number}"}}


def entry(
    project: Cloud2Project,
    service: str,
    at: int,
    ident: str,
    log: str = "run.googleapis.com%2Fstdout",
) -> dict[str, Any]:
    labels = {"service_name": service, "location": _LOCATION}
    return {
        "insertId": ident,
        "logName": f"projects/{project.id}/logs/{log}",
        "timestamp": stamp(at),
        "severity": "DEFAULT",
        "resource": {"type": "cloud_run_revision", "labels": labels},
    }


def stamp(at: int) -> str:
    whole = datetime.fromtimestamp(at // 1_000_000_000, tz=UTC)
    return f"{whole:%Y-%m-%dT%H:%M:%S}.{at % 1_000_000_000:09d}Z"


def _paged(name: str, rows: list[Any], asked: Any, size: int) -> dict[str, Any]:
    begin = int(asked.get("pageToken") or 0)
    more = {"nextPageToken": str(begin + size)} if begin + size < len(rows) else {}
    return {name: rows[begin : begin + size], **more}


def time_series(project: Cloud2Project, _names: Names, query: Names, _body: Any) -> Any:
    found = _METRIC_FILTER.fullmatch(query["filter"])
    if found is None or query["aggregation.groupByFields"] != "resource.labels.service_name":
        raise invalid(f"Unparseable filter: {query['filter']}")
    reducer = query["aggregation.crossSeriesReducer"]
    if (found[1] == "request_count") != (reducer == "REDUCE_SUM"):
        raise invalid(f"{reducer} is not for {found[1]}")
    since, until = (query[f"interval.{one}Time"] for one in ("start", "end"))
    calls = [one for one in project.met if since <= stamp(one.at) < until]
    calls = [one for one in calls if not found[4] or one.status >= 500]
    series = []
    for name in _QUOTED.findall(found[3]) if found[2] == _LOCATION else ():
        own = [one for one in calls if one.service == name]
        if own:
            points = [_point(own, reducer, until)]
            labels = {"project_id": project.id, "service_name": name}
            row = {"resource": {"type": "cloud_run_revision", "labels": labels}}
            series.append({**row, "points": points})
    return {"timeSeries": series} if series else {}


def _point(calls: list[MetCall], reducer: str, until: str) -> dict[str, Any]:
    """All in the last part of the time: enough to be counted."""
    if reducer == "REDUCE_SUM":
        value: dict[str, Any] = {"int64Value": str(len(calls))}
    else:
        times = sorted(one.ms for one in calls)
        share = int(reducer.rpartition("_")[2])
        value = {"doubleValue": times[max(-(-len(times) * share // 100), 1) - 1]}
    return {"interval": {"endTime": until}, "value": value}


def traces(project: Cloud2Project, _names: Names, query: Names, _body: Any) -> Any:
    if query.get("view") != "COMPLETE":
        raise invalid("a view of all spans is wanted here")
    since, until = query["startTime"], query["endTime"]
    kept = [
        one
        for one in project.traces
        if any(since <= span["startTime"] < until for span in one["spans"])
    ]
    return _paged("traces", kept, query, 2)
