"""Requests, and the runs that they begin, as spans for a collector."""

from collections.abc import Mapping, Sequence

from fabric.daemon.http_types import RequestOrigin
from fabric.daemon.server.access_log import AccessLine, LineLog
from fabric.engine.bus import Listener, RunInfo
from fabric.engine.listeners.run_spans import RunSpans
from fabric.manifest import VERSION
from fabric.model.problems import FabricError
from fabric.system.clock import Clock
from fabric.system.traceparent import place_said
from fabric.system.tracing import FinishedSpan, SpanExport, SpanPlace, derive_root_place, is_wanted

_FAILED = 500


class RequestSpans:
    def __init__(self, export: SpanExport, clock: Clock) -> None:
        self._export, self._clock = export, clock

    def record_request(self, line: AccessLine) -> None:
        place, parent = _parse_span_places(RequestOrigin(line.id, line.traceparent))
        now = int(self._clock.now().timestamp() * 1000) * 1_000_000
        about: dict[str, str | int] = {
            "method": line.method,
            "path": line.path,
            "http.request.method": line.method,
            "url.path": line.path,
            "http.route": line.route,
            "http.response.status_code": line.status,
            "fabric.request": line.id,
        }
        self._export.add(
            FinishedSpan(
                name=f"{line.method} {line.route}",
                place=place,
                begun_ns=now - int(line.ms * 1_000_000),
                ended_ns=now,
                attributes=about,
                parent=parent,
                is_request=True,
                has_failed=line.status >= _FAILED,
            )
        )

    def listeners(self, info: RunInfo, request: RequestOrigin) -> Sequence[Listener]:
        place, _ = _parse_span_places(request)
        return (RunSpans(info.run, self._export.add, place),)

    def close(self) -> None:
        self._export.close()


def _parse_span_places(request: RequestOrigin) -> tuple[SpanPlace, SpanPlace | None]:
    """Parse the span of the request and that of its caller, if given."""
    place, parent = derive_root_place(request.id), place_said(request.traceparent)
    if parent is None:
        return place, None
    return SpanPlace(parent.trace, place.span, parent.is_sampled), parent


def request_spans(
    env: Mapping[str, str], service: str, log: LineLog, clock: Clock
) -> RequestSpans | None:
    """Open the request spans if the environment enables traces. Export failures are logged."""
    if not is_wanted(env):
        return None

    def tell(message: str) -> None:
        log.say("tracing", message=message)

    about = {"service.name": service, "service.version": VERSION}
    try:
        return RequestSpans(SpanExport(env, about, tell), clock)
    except FabricError as error:
        tell(f"{error.first.message}: {error.first.hint}")
        return None
