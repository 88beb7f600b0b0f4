"""A collector of traces: takes OTLP over HTTP, and keeps what the spans say."""

import contextlib
import gzip
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue


@dataclass(frozen=True)
class CollectedSpan:
    name: str
    trace: str
    id: str
    parent: str
    attributes: dict[str, str | int]
    service: str
    ms: float
    has_failed: bool


@dataclass
class Collector:
    url: str = ""
    spans: list[CollectedSpan] = field(default_factory=list)

    def of(self, name: str) -> list[CollectedSpan]:
        return [one for one in self.spans if one.name == name]

    def take(self, body: bytes) -> None:
        asked = ExportTraceServiceRequest()
        asked.ParseFromString(body)
        for resource in asked.resource_spans:
            about = {one.key: one.value.string_value for one in resource.resource.attributes}
            for scope in resource.scope_spans:
                self.spans += [
                    CollectedSpan(
                        one.name,
                        one.trace_id.hex(),
                        one.span_id.hex(),
                        one.parent_span_id.hex(),
                        {a.key: _said(a.value) for a in one.attributes},
                        about.get("service.name", ""),
                        (one.end_time_unix_nano - one.start_time_unix_nano) / 1e6,
                        one.status.code == one.status.STATUS_CODE_ERROR,
                    )
                    for one in scope.spans
                ]


def _said(value: AnyValue) -> str | int:
    return value.string_value or value.int_value or int(value.bool_value)


@contextlib.contextmanager
def collector(status: int = 200) -> Iterator[Collector]:
    found = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # noqa: N802 - the name that the server looks for
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            found.take(body)
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(status)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
