"""Observe functions on Google Cloud: log entries, request metrics and traces."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec import Struct

from fabric.model.observed import (
    FunctionNumbers,
    LogLine,
    TimeWindow,
    TracedCall,
    TracedStep,
    parse_nanoseconds,
)
from fabric.providers.cloud2.client import Cloud2Api, classify_refusal
from fabric.providers.cloud2.observing.asking import (
    Cloud2Asking,
    build_get_call,
    format_rfc3339,
    list_page_rows,
)
from fabric.providers.cloud2.observing.log_entries import fetch_log_lines
from fabric.providers.cloud2.observing.request_numbers import fetch_metrics
from fabric.providers.cloud2.settings import Cloud2Place
from fabric.providers.core.contract import NO_CONTEXT, CallContext
from fabric.providers.core.errors import convert_call_errors, redact_progress
from fabric.providers.core.observing import LogQuestion, ObservedService
from fabric.providers.core.redaction import Redaction
from fabric.providers.core.retry import WAITING, RetryPolicy


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
        with self._open_queries(service, watch) as asking:
            return fetch_log_lines(asking, service, asked)

    def numbers(
        self, service: ObservedService, window: TimeWindow, watch: CallContext = NO_CONTEXT
    ) -> Iterable[FunctionNumbers]:
        with self._open_queries(service, watch) as asking:
            return fetch_metrics(asking, service, window)

    def traces(
        self, service: ObservedService, window: TimeWindow, watch: CallContext = NO_CONTEXT
    ) -> Iterable[TracedCall]:
        with self._open_queries(service, watch) as asking:
            return fetch_traces(asking, service, window)

    @contextmanager
    def _open_queries(self, service: ObservedService, watch: CallContext) -> Iterator[Cloud2Asking]:
        region = service.address.region or self.place.region
        with convert_call_errors(
            f"`{service.address.service}`", classify_refusal, self.hide
        ) as hide:
            heard = redact_progress(watch, hide.quote)
            yield Cloud2Asking(self.api, self.place.project, region, heard, self.waiting)


_INTERFACE = "cloudtrace"
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
    asking: Cloud2Asking, service: ObservedService, window: TimeWindow
) -> list[TracedCall]:
    """Fetch all traces of the window. Only span labels identify the service, because span names
    depend on their author."""
    words = {
        "startTime": format_rfc3339(window.since),
        "endTime": format_rfc3339(window.until),
        "view": "COMPLETE",
        "pageSize": _PAGE,
    }
    pages = list_page_rows(lambda more: _fetch_page(asking, more), words)
    found = (
        call for page in pages for trace in page for call in _list_traced_calls(service, trace)
    )
    return [one for one in found if window.has(one.started_at)]


def _fetch_page(
    asking: Cloud2Asking, words: Mapping[str, str]
) -> tuple[Sequence[_CloudTrace], str]:
    path = f"/v1/projects/{asking.project}/traces"
    found = asking.ask(build_get_call(_INTERFACE, path, words), _CloudTracePage)
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
