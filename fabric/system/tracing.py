"""Export spans to a collector (OTLP over HTTP). A missing collector never delays a run.

The exporter is an extra, and is imported only if the environment enables traces.
"""

import contextlib
import hashlib
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct

from fabric.model.distribution import Extra, PackageNeed
from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secrecy import redact_userinfo
from fabric.model.switches import is_on
from fabric.system.http.urls import is_web_address
from fabric.system.optional_packages import require_packages

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExportResult

NEED = PackageNeed("sending traces requires", Extra.OTEL, "usage/unsupported")
ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
ENABLED, _DISABLED = "OTEL_TRACES_ENABLED", "OTEL_SDK_DISABLED"
_EXPORT_SECONDS, _CLOSE_SECONDS = 2.0, 1.0
ROOM, _BATCH, _EVERY_MS = 4096, 512, 1000
_SPAN_LETTERS = 16
_MOST_LETTERS = 300
_PATH = "/v1/traces"
_NOT_IN_TIME = "the trace was not sent to the collector in time and was dropped"
Tell: TypeAlias = Callable[[str], None]


class SpanPlace(Struct, frozen=True):
    """The trace id and span id of a span, in hexadecimal digits. The root span can have disabled
    sampling."""

    trace: str
    span: str
    is_sampled: bool = True


class FinishedSpan(Struct, frozen=True):
    """A finished span. Times are wall-clock times in nanoseconds."""

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


def refuse_address(option: str, url: str, env: Mapping[str, str]) -> None:
    """Raise for an invalid collector address."""
    if not url:
        return
    if is_on(_DISABLED, env):
        message = f"{option} has no effect here: {_DISABLED} is set"
        raise FabricError(Problem("usage/no-effect", message))
    parts = urlsplit(url) if is_web_address(url) else None
    if parts is None or "@" in parts.netloc or parts.query or parts.fragment:
        hint = "use a URL such as http://127.0.0.1:4318; set keys in OTEL_EXPORTER_OTLP_HEADERS"
        raise FabricError(
            Problem("usage/bad-otlp-url", f"invalid value for {option}: not a collector URL", hint)
        )


def choose_traces_address(endpoint: str) -> str:
    """Return the traces endpoint of a collector address; empty stays empty."""
    bare = endpoint.rstrip("/")
    return bare if not bare or bare.endswith(_PATH) else bare + _PATH


def derive_root_place(name: str) -> SpanPlace:
    """Return the root of a separate trace. The name determines it, so a request and its followers
    share it."""
    digest = hashlib.sha256(f"fabric {name}".encode()).hexdigest()
    return SpanPlace(digest[:32], digest[32 : 32 + _SPAN_LETTERS])


def place_below(parent: SpanPlace, name: str) -> SpanPlace:
    digest = hashlib.sha256(f"{parent.trace} {parent.span} {name}".encode()).hexdigest()
    return SpanPlace(parent.trace, digest[:_SPAN_LETTERS], parent.is_sampled)


class SpanExport:
    """A thread-safe exporter with a bounded queue. `tell` is called once if spans cannot be
    delivered.

    Without an `endpoint`, the environment decides the destination.
    """

    def __init__(
        self,
        env: Mapping[str, str],
        about: Mapping[str, str],
        tell: Tell,
        endpoint: str = "",
        room: int = ROOM,
    ) -> None:
        with require_packages(NEED):
            self._sending = _Sending(endpoint)
            self._provider, self._ids = _build_provider(env, about, self._sending, room)
        self._tracer = self._provider.get_tracer("fabric")
        self._lock = threading.Lock()
        self._tell = _Once(tell)
        _take_over_warnings(self._tell)

    def add(self, span: FinishedSpan) -> None:
        from opentelemetry.trace import SpanKind, Status, StatusCode

        kind = SpanKind.SERVER if span.is_request else SpanKind.INTERNAL
        with self._lock:
            self._ids.next = span.place
            made = self._tracer.start_span(
                span.name,
                _build_context(span.parent),
                kind,
                dict(span.attributes),
                start_time=span.begun_ns,
            )
        if span.has_failed:
            made.set_status(Status(StatusCode.ERROR))
        made.end(span.ended_ns)

    def close(self) -> None:
        """Send the remaining spans while the collector accepts them; an unavailable collector
        causes no delay."""
        closing = threading.Thread(target=self._shut_down, name="tracing-close", daemon=True)
        closing.start()
        taken = -1
        while closing.is_alive() and taken != self._sending.taken:
            taken = self._sending.taken
            closing.join(_CLOSE_SECONDS)
        if closing.is_alive():
            self._tell.say(_NOT_IN_TIME)

    def _shut_down(self) -> None:
        with contextlib.suppress(Exception):
            self._provider.shutdown()


class _Sending:
    """The exporter, and the number of batches that a collector accepted."""

    def __init__(self, endpoint: str) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        address = choose_traces_address(endpoint) or None
        self._exporter = OTLPSpanExporter(address, timeout=_EXPORT_SECONDS)
        self.taken = 0

    def export(self, spans: "Sequence[ReadableSpan]") -> "SpanExportResult":
        result = self._exporter.export(spans)
        self.taken += result.name == "SUCCESS"
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()  # type: ignore[no-untyped-call]

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)


class _InheritedIds:
    """Ids are generated when a span begins, possibly long before it is exported."""

    next = SpanPlace("0" * 32, "0" * _SPAN_LETTERS)

    def generate_span_id(self) -> int:
        return int(self.next.span, 16)

    def generate_trace_id(self) -> int:
        return int(self.next.trace, 16)

    def is_trace_id_random(self) -> bool:
        return True


def _build_provider(
    env: Mapping[str, str], about: Mapping[str, str], sending: _Sending, room: int
) -> "tuple[TracerProvider, _InheritedIds]":
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    own = {name: text for name, text in about.items() if not _has_resource_setting(env, name)}
    ids = _InheritedIds()
    provider = TracerProvider(
        resource=Resource.create(own),
        shutdown_on_exit=False,
        id_generator=ids,  # type: ignore[arg-type]
    )
    processor = BatchSpanProcessor(sending, room, _EVERY_MS, _BATCH)  # type: ignore[arg-type]
    provider.add_span_processor(processor)
    return provider, ids


def _has_resource_setting(env: Mapping[str, str], name: str) -> bool:
    said = env.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return f"{name}=" in said or bool(name == "service.name" and env.get("OTEL_SERVICE_NAME"))


def _build_context(parent: SpanPlace | None) -> "Context":
    from opentelemetry.context import Context
    from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

    if parent is None:
        return Context()
    flags = TraceFlags(TraceFlags.SAMPLED if parent.is_sampled else TraceFlags.DEFAULT)
    place = SpanContext(int(parent.trace, 16), int(parent.span, 16), True, flags)  # noqa: FBT003
    return set_span_in_context(NonRecordingSpan(place), Context())


class _Once(logging.Handler):
    """A log filter: the exporter repeats that the collector is unavailable, and one report is
    enough."""

    def __init__(self, tell: Tell) -> None:
        super().__init__(logging.WARNING)
        self._tell: Tell | None = tell

    def emit(self, record: logging.LogRecord) -> None:
        self.say(redact_userinfo(record.getMessage())[:_MOST_LETTERS])

    def say(self, message: str) -> None:
        tell, self._tell = self._tell, None
        if tell is not None:
            tell(message)


def _take_over_warnings(once: _Once) -> None:
    under = logging.getLogger("opentelemetry")
    under.propagate = False
    under.handlers = [once]
