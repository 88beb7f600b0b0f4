"""Observe functions on Cloudflare: events, counts and traces of Workers, and live tails."""

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec import Struct

from fabric.model.observed import (
    PARTS,
    FunctionNumbers,
    LogLine,
    TimeWindow,
    TracedCall,
    convert_to_nanoseconds,
)
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.secrets.secret import Secret
from fabric.providers.core.contract import NO_CONTEXT, CallContext
from fabric.providers.core.errors import convert_call_errors, redact_progress
from fabric.providers.core.observing import HearLines, LogQuestion, ObservedService
from fabric.providers.core.redaction import Redaction
from fabric.providers.core.retry import WAITING, RetryPolicy
from fabric.providers.core.work import CallScope
from fabric.providers.edge1.client import Edge1Api, classify_refusal
from fabric.providers.edge1.observing.tails import TailedService, Tails
from fabric.providers.edge1.observing.telemetry import (
    Edge1Asking,
    TelemetryQuestion,
    WorkerLines,
    batch_functions,
    build_condition,
    build_worker_filter,
    fetch_traces,
    join_conditions,
)


class Edge1Observer(Struct, frozen=True):
    """The Cloudflare observer."""

    api: Edge1Api
    hide: Redaction
    # Cloudflare's command line tool; empty if it is missing or not to be used.
    tool: str = ""
    around: Secret[Mapping[str, str]] = Secret({})
    waiting: RetryPolicy = WAITING

    def log_lines(
        self, service: ObservedService, asked: LogQuestion, watch: CallContext = NO_CONTEXT
    ) -> Iterable[LogLine]:
        with self._open_queries(service, watch) as asking:
            return WorkerLines(service).fetch_stored(asking, asked)

    def numbers(
        self, service: ObservedService, window: TimeWindow, watch: CallContext = NO_CONTEXT
    ) -> Iterable[FunctionNumbers]:
        with self._open_queries(service, watch) as asking:
            return list(fetch_metrics(asking, service, window))

    def traces(
        self, service: ObservedService, window: TimeWindow, watch: CallContext = NO_CONTEXT
    ) -> Iterable[TracedCall]:
        with self._open_queries(service, watch) as asking:
            found = list(fetch_traces(asking, service, window))
        if not found:
            watch.hear(
                "no traces: Cloudflare records traces only for Workers with tracing, "
                "and tracing is off"
            )
        return found

    def follow(
        self,
        service: ObservedService,
        since: int,
        hear: HearLines,
        watch: CallContext = NO_CONTEXT,
    ) -> None:
        with self._open_queries(service, watch) as asking:
            begin = Tails(self.api, self.tool, self.around.reveal()).begin
            TailedService(asking, service, begin).follow(since, hear, asking.watch)

    @contextmanager
    def _open_queries(self, service: ObservedService, watch: CallContext) -> Iterator[Edge1Asking]:
        whose = f"`{service.address.service}`"
        with convert_call_errors(whose, classify_refusal, self.hide) as hide:
            watch = redact_progress(watch, hide.quote)
            scope = CallScope(service.address, watch, hide.quote, self.waiting)
            yield Edge1Asking(api=self.api, scope=scope)


_SERVICE = "$metadata.service"
_TOOK = "$workers.wallTimeMs"
_FAILED = 500


class _GroupedBy(Struct, frozen=True):
    key: str
    value: str | float | bool = ""


class _GroupValue(Struct, frozen=True):
    value: float = 0.0
    groups: tuple[_GroupedBy, ...] = ()

    @property
    def worker(self) -> str:
        return next((str(one.value) for one in self.groups if one.key == _SERVICE), "")


class _SeriesPart(Struct, frozen=True):
    time: datetime.datetime
    data: tuple[_GroupValue, ...] = ()


class _CalculatedNumber(Struct, frozen=True):
    aggregates: tuple[_GroupValue, ...] = ()
    series: tuple[_SeriesPart, ...] = ()

    def of(self, worker: str) -> float | None:
        return next((one.value for one in self.aggregates if one.worker == worker), None)


class _CalculatedAnswer(Struct, frozen=True):
    calculations: tuple[_CalculatedNumber, ...] = ()


def fetch_metrics(
    asking: Edge1Asking, service: ObservedService, window: TimeWindow
) -> Iterator[FunctionNumbers]:
    """Fetch the metrics. Errors need a separate query, because the first one counts all calls."""
    for names in batch_functions(service.functions):
        all_calls = (
            build_worker_filter(names),
            build_condition("$metadata.type", "eq", "cf-worker-event"),
        )
        count: JsonObject = {"operator": "count"}
        spans: list[JsonObject] = [
            {"operator": one, "key": _TOOK, "keyType": "number"} for one in ("median", "p95")
        ]
        calls, p50, p95 = _run_query(asking, window, all_calls, [count, *spans], len(names))
        (errors,) = _run_query(
            asking, window, (*all_calls, _build_failure_filter()), [count], len(names)
        )
        for worker, function in names.items():
            yield FunctionNumbers(
                service=service.address.service,
                function=function,
                provider=service.address.label,
                calls=round(calls.of(worker) or 0),
                errors=round(errors.of(worker) or 0),
                p50_ms=p50.of(worker),
                p95_ms=p95.of(worker),
                over_time=_count_over_time(calls, worker, window),
            )


def _build_failure_filter() -> JsonObject:
    """Build the filter for aborted invocations and error responses."""
    is_bad = build_condition("$workers.outcome", "neq", "ok")
    return join_conditions(
        is_bad, build_condition("$workers.event.response.status", "gte", _FAILED)
    )


def _run_query(
    asking: Edge1Asking,
    window: TimeWindow,
    filters: Sequence[JsonObject],
    calculations: Sequence[JsonObject],
    workers: int,
) -> list[_CalculatedNumber]:
    parameters: JsonObject = {
        "filters": list(filters),
        "calculations": list(calculations),
        "groupBys": [{"type": "string", "value": _SERVICE}],
        "limit": workers,
    }
    paging: JsonObject = {"limit": workers, "granularity": PARTS}
    question = TelemetryQuestion("calculations", parameters, paging)
    found = list(asking.query(window, question, _CalculatedAnswer).calculations)
    missing = len(calculations) - len(found)
    return [*found, *[_CalculatedNumber()] * missing][: len(calculations)]


def _count_over_time(calls: _CalculatedNumber, worker: str, window: TimeWindow) -> tuple[int, ...]:
    return window.in_parts(
        (convert_to_nanoseconds(part.time), one.value)
        for part in calls.series
        for one in part.data
        if one.worker == worker
    )
