"""Spans on their way to a collector (OTLP over HTTP). Nobody waits for one that is not there.

The exporter is an extra, and is imported only when the environment asks for traces.
"""

import contextlib
import hashlib
import logging
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.model.secrecy import without_userinfo
from fabric.model.switches import is_on

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
ENABLED, _DISABLED = "OTEL_TRACES_ENABLED", "OTEL_SDK_DISABLED"
_EXPORT_SECONDS, _CLOSE_SECONDS = 2.0, 1.0
_QUEUE, _BATCH, _EVERY_MS = 4096, 512, 1000
_SPAN_LETTERS = 16
_MOST_LETTERS = 300
Tell: TypeAlias = Callable[[str], None]


class SpanPlace(Struct, frozen=True):
    """Where a span stands: in which trace, and which one it is. In digits of 16. Whoever began the
    trace may have said that it is not sampled."""

    trace: str
    span: str
    is_sampled: bool = True


class FinishedSpan(Struct, frozen=True):
    """Times are of the clock on the wall, in nanoseconds."""

    name: str
    place: SpanPlace
    begun_ns: int
    ended_ns: int
    attributes: Mapping[str, str | int]
    parent: SpanPlace | None = None
    is_request: bool = False
    has_failed: bool = False


def is_wanted(env: Mapping[str, str]) -> bool:
    if is_on(_DISABLED, env):
        return False
    return any(env.get(name) for name in ENDPOINTS) or is_on(ENABLED, env)


def first_place(name: str) -> SpanPlace:
    """Of a trace of its own: the same for who tells of a request, and of what it began."""
    digest = hashlib.sha256(f"fabric {name}".encode()).hexdigest()
    return SpanPlace(digest[:32], digest[32 : 32 + _SPAN_LETTERS])


def place_below(parent: SpanPlace, name: str) -> SpanPlace:
    digest = hashlib.sha256(f"{parent.trace} {parent.span} {name}".encode()).hexdigest()
    return SpanPlace(parent.trace, digest[:_SPAN_LETTERS], parent.is_sampled)


class SpanExport:
    """Thread-safe. `tell` hears once that spans do not reach anybody."""

    def __init__(self, env: Mapping[str, str], about: Mapping[str, str], tell: Tell) -> None:
        try:
            self._provider, self._ids = _provider(env, about)
        except ImportError as error:
            raise FabricError(not_installed()) from error
        self._tracer = self._provider.get_tracer("fabric")
        self._lock = threading.Lock()
        _take_over_warnings(tell)

    def add(self, span: FinishedSpan) -> None:
        from opentelemetry.trace import SpanKind, Status, StatusCode

        kind = SpanKind.SERVER if span.is_request else SpanKind.INTERNAL
        with self._lock:
            self._ids.next = span.place
            made = self._tracer.start_span(
                span.name,
                _context(span.parent),
                kind,
                dict(span.attributes),
                start_time=span.begun_ns,
            )
        if span.has_failed:
            made.set_status(Status(StatusCode.ERROR))
        made.end(span.ended_ns)

    def close(self) -> None:
        """What can be sent in a moment is; a collector that is away holds nobody up."""
        closing = threading.Thread(target=self._shut_down, name="tracing-close", daemon=True)
        closing.start()
        closing.join(_CLOSE_SECONDS)

    def _shut_down(self) -> None:
        with contextlib.suppress(Exception):
            self._provider.shutdown()


class _GivenIds:
    """Ids are made where a span begins, which may be long before it is told of."""

    next = SpanPlace("0" * 32, "0" * _SPAN_LETTERS)

    def generate_span_id(self) -> int:
        return int(self.next.span, 16)

    def generate_trace_id(self) -> int:
        return int(self.next.trace, 16)

    def is_trace_id_random(self) -> bool:
        return True


def _provider(
    env: Mapping[str, str], about: Mapping[str, str]
) -> "tuple[TracerProvider, _GivenIds]":
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    own = {name: text for name, text in about.items() if not _says(env, name)}
    ids = _GivenIds()
    provider = TracerProvider(
        resource=Resource.create(own),
        shutdown_on_exit=False,
        id_generator=ids,  # type: ignore[arg-type]
    )
    exporter = OTLPSpanExporter(timeout=_EXPORT_SECONDS)
    sending = BatchSpanProcessor(exporter, _QUEUE, _EVERY_MS, _BATCH)
    provider.add_span_processor(sending)
    return provider, ids


def _says(env: Mapping[str, str], name: str) -> bool:
    said = env.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return f"{name}=" in said or bool(name == "service.name" and env.get("OTEL_SERVICE_NAME"))


def _context(parent: SpanPlace | None) -> "Context":
    from opentelemetry.context import Context
    from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

    if parent is None:
        return Context()
    flags = TraceFlags(TraceFlags.SAMPLED if parent.is_sampled else TraceFlags.DEFAULT)
    place = SpanContext(int(parent.trace, 16), int(parent.span, 16), True, flags)  # noqa: FBT003
    return set_span_in_context(NonRecordingSpan(place), Context())


class _Once(logging.Handler):
    """The exporter says again and again that nobody is there: once is enough."""

    def __init__(self, tell: Tell) -> None:
        super().__init__(logging.WARNING)
        self._tell: Tell | None = tell

    def emit(self, record: logging.LogRecord) -> None:
        tell, self._tell = self._tell, None
        if tell is not None:
            tell(without_userinfo(record.getMessage())[:_MOST_LETTERS])


def _take_over_warnings(tell: Tell) -> None:
    under = logging.getLogger("opentelemetry")
    under.propagate = False
    under.handlers = [_Once(tell)]


def not_installed() -> Problem:
    message = "the environment asks for traces, and what sends them is not installed"
    return Problem("usage/unsupported", message, "pip install 'fabric-deploy[otel]'")
