"""Traces that contain Workers of the service; they exist only if tracing is enabled."""

from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from fabric.model.observed import TimeWindow, TracedCall, TracedStep
from fabric.providers.core.observing import ObservedService
from fabric.providers.edge1.observing.asking import (
    MS,
    Edge1Asking,
    TelemetryQuestion,
    batch_functions,
    build_condition,
    build_worker_filter,
)

_MOST = 100
_STEPS = 2_000


class _WorkerTraceRow(Struct, frozen=True, rename="camel"):
    trace_id: str
    root_span_name: str = ""
    service: Sequence[str] = ()
    trace_start_ms: float = 0
    trace_duration_ms: float = 0
    errors: Sequence[str] = ()


class _WorkerTraceAnswer(Struct, frozen=True):
    traces: tuple[_WorkerTraceRow, ...] = ()


class _SpanMetadata(Struct, frozen=True, rename="camel"):
    trace_id: str = ""
    span_id: str = ""
    parent_span_id: str = ""
    span_name: str = ""
    start_time: float | None = None
    duration: float = 0
    error: str = ""


class _SpanEvent(Struct, frozen=True):
    metadata: _SpanMetadata = field(name="$metadata", default_factory=_SpanMetadata)


class _SpanPage(Struct, frozen=True):
    events: tuple[_SpanEvent, ...] = ()


class _SpanAnswer(Struct, frozen=True):
    events: _SpanPage = field(default_factory=_SpanPage)


def fetch_traces(
    asking: Edge1Asking, service: ObservedService, window: TimeWindow
) -> Iterator[TracedCall]:
    """Fetch the newest hundred traces, then the steps of all in one query."""
    for names in batch_functions(service.functions):
        filters = [build_worker_filter(names)]
        question = TelemetryQuestion("traces", {"filters": filters}, {"limit": _MOST})
        rows = asking.query(window, question, _WorkerTraceAnswer).traces
        steps = _fetch_steps(asking, window, [one.trace_id for one in rows])
        for row in rows:
            for function in dict.fromkeys(names[one] for one in row.service if one in names):
                yield _call(service, function, row, steps)


def _fetch_steps(
    asking: Edge1Asking, window: TimeWindow, ids: Sequence[str]
) -> dict[str, list[_SpanMetadata]]:
    found: dict[str, list[_SpanMetadata]] = {one: [] for one in ids}
    if ids:
        chosen = build_condition("$metadata.traceId", "in", ",".join(ids))
        question = TelemetryQuestion("events", {"filters": [chosen]}, {"limit": _STEPS})
        for one in asking.query(window, question, _SpanAnswer).events.events:
            said = one.metadata
            if said.span_id and said.start_time is not None and said.trace_id in found:
                found[said.trace_id].append(said)
    return found


def _call(
    service: ObservedService,
    function: str,
    row: _WorkerTraceRow,
    steps: dict[str, list[_SpanMetadata]],
) -> TracedCall:
    own = steps[row.trace_id]
    known = {one.span_id for one in own}
    return TracedCall(
        id=row.trace_id,
        service=service.address.service,
        function=function,
        provider=service.address.label,
        started_at=round(row.trace_start_ms * MS),
        ms=row.trace_duration_ms,
        status="error" if row.errors else "ok",
        steps=tuple(
            TracedStep(
                id=one.span_id,
                parent=one.parent_span_id if one.parent_span_id in known else "",
                name=one.span_name,
                started_at=round((one.start_time or 0) * MS),
                ms=one.duration,
                status="error" if one.error else "ok",
            )
            for one in own
        ),
    )
