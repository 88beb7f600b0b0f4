"""Queries to the observability APIs of Google Cloud, and the log entries of functions."""

import datetime
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar
from urllib.parse import unquote, urlencode

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from fabric.model.observed import SECOND, LogLine, find_level, normalize_level, parse_nanoseconds
from fabric.model.outcomes.json_struct import JsonObject
from fabric.providers.cloud2.client import Cloud2Call, build_cloud2_call
from fabric.providers.cloud2.work import Cloud2Work
from fabric.providers.core.observing import LogQuestion, ObservedService

T = TypeVar("T")


def list_page_rows(
    ask: Callable[[Mapping[str, str]], tuple[T, str]], words: Mapping[str, str]
) -> Iterator[T]:
    """Yield the rows of all pages. Each page contains the token of the next one."""
    token = ""
    while True:
        page, token = ask({**words, **({"pageToken": token} if token else {})})
        yield page
        if not token:
            return


def build_get_call(interface: str, path: str, words: Mapping[str, str]) -> Cloud2Call:
    return build_cloud2_call(interface, "GET", f"{path}?{urlencode(words)}")


def format_rfc3339(at: int) -> str:
    whole = datetime.datetime.fromtimestamp(at // SECOND, tz=datetime.UTC)
    return f"{whole:%Y-%m-%dT%H:%M:%S}.{at % SECOND:09d}Z"


_INTERFACE = "logging"
_PAGE = 1_000
_NAMES = 200
_RESOURCE = "cloud_run_revision"
# What a function says itself; all others are what surrounds it.
_OWN = frozenset(("run.googleapis.com/stdout", "run.googleapis.com/stderr"))


class _LoggedResource(Struct, frozen=True):
    labels: Mapping[str, str] = {}


class _LogPayload(Struct, frozen=True, rename="camel"):
    """The content of an entry, in one of three forms."""

    text_payload: str = ""
    json_payload: JsonObject | None = None
    http_request: JsonObject | None = None


class _LogEntry(_LogPayload, frozen=True, rename="camel"):
    insert_id: str = ""
    log_name: str = ""
    timestamp: str = ""
    receive_timestamp: str = ""
    severity: str = ""
    resource: _LoggedResource = field(default_factory=_LoggedResource)
    labels: Mapping[str, str] = {}
    trace: str = ""

    @property
    def log(self) -> str:
        return unquote(self.log_name.rpartition("/logs/")[2])


class _LogEntryPage(Struct, frozen=True, rename="camel"):
    entries: tuple[_LogEntry, ...] = ()
    next_page_token: str = ""


def fetch_log_lines(
    work: Cloud2Work, service: ObservedService, asked: LogQuestion
) -> list[LogLine]:
    found: list[LogLine] = []
    for begin in range(0, len(service.functions), _NAMES):
        some = replace(service, functions=service.functions[begin : begin + _NAMES])
        found += _fetch_lines(work, some, asked)
    return found


def _fetch_lines(
    work: Cloud2Work, service: ObservedService, asked: LogQuestion
) -> Iterator[LogLine]:
    names = {one.resource_name: one.name for one in service.functions}
    words = {"filter": _filter(work, list(names), asked), "orderBy": "timestamp desc"}
    count = 0
    for page in list_page_rows(lambda more: _fetch_page(work, more), words):
        for entry in page:
            function = names.get(entry.resource.labels.get("service_name", ""))
            line = _convert_entry(service, function, entry) if function else None
            # Texts are compared here: a phrase in a filter is looked for word by word.
            if line is not None and asked.takes(line):
                count += 1
                yield line
        if count >= asked.most:
            return


def _fetch_page(work: Cloud2Work, words: Mapping[str, str]) -> tuple[Sequence[_LogEntry], str]:
    names = [f"projects/{work.place.project}"]
    document = {"resourceNames": names, "pageSize": _PAGE, **words}
    call = build_cloud2_call(_INTERFACE, "POST", "/v2/entries:list", document)
    found = work.ask(call, _LogEntryPage)
    return found.entries, found.next_page_token


def _filter(work: Cloud2Work, names: Sequence[str], asked: LogQuestion) -> str:
    either = " OR ".join(f'"{name}"' for name in names)
    window = asked.window
    return " AND ".join(
        (
            f'resource.type="{_RESOURCE}"',
            f'resource.labels.location="{work.place.region}"',
            f"resource.labels.service_name=({either})",
            f'timestamp>="{format_rfc3339(window.since)}"',
            f'timestamp<"{format_rfc3339(window.until)}"',
        )
    )


def _convert_entry(service: ObservedService, function: str, entry: _LogEntry) -> LogLine:
    text, at = _read_text(entry), parse_nanoseconds(entry.timestamp or entry.receive_timestamp)
    return replace(
        service.line(function, at, text.rstrip("\n")),
        level=find_level(text) or _convert_severity(entry.severity),
        request=entry.labels.get("execution_id", "") or entry.trace.rpartition("/")[2],
        id=f"{entry.insert_id}/{entry.log}",
        is_platform=entry.log not in _OWN,
    )


def _convert_severity(severity: str) -> str:
    return "" if severity == "DEFAULT" else normalize_level(severity)


def _read_text(entry: _LogEntry) -> str:
    """Return the text of an entry, or the message of a JSON entry if it has one."""
    if entry.text_payload:
        return entry.text_payload
    if entry.json_payload is not None:
        message = entry.json_payload.get("message")
        rest = msgspec.json.encode(entry.json_payload).decode()
        return message if isinstance(message, str) and message else rest
    request = entry.http_request or {}
    words = (request.get("requestMethod"), request.get("requestUrl"), request.get("status"))
    return " ".join(str(word) for word in words if word) or json.dumps({"log": entry.log})
