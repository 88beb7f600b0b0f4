"""One request in a thread: from admission to its answer and its log line."""

from typing import Protocol

from msgspec import Struct
from waitress.channel import ClientDisconnected
from waitress.task import WSGITask

from fabric.daemon.http_types import ApiAnswer
from fabric.daemon.server.answers import (
    GUARDS,
    encode_body,
    format_status_line,
    internal_error_answer,
)
from fabric.daemon.server.gate import Admission

ADMISSION = "fabric.admission"
_LONGEST_PATH = 1000


class AccessLine(Struct, frozen=True):
    """The log data of a request, without the query, which can be confidential."""

    id: str
    client: str
    method: str
    path: str
    route: str
    status: int
    ms: float
    bytes: int
    # Unverified and used for traces only.
    traceparent: str = ""


class ServerLog(Protocol):
    """The receiver of request events."""

    def monotonic(self) -> float: ...
    def write_response(self, line: AccessLine) -> None: ...
    def write_failure(self, request_id: str, error: BaseException) -> None: ...


class ServedTask(WSGITask):  # type: ignore[misc]
    """One request, including rejected and malformed ones."""

    said = 0

    @property
    def admission(self) -> Admission:
        found: Admission = self.request.admission
        return found

    def service(self) -> None:
        teller: ServerLog = self.channel.server.parts.teller
        began = teller.monotonic()
        try:
            super().service()
        finally:
            teller.write_response(self._build_access_line(teller.monotonic() - began))

    def _build_access_line(self, seconds: float) -> AccessLine:
        known, request = self.admission, self.request
        return AccessLine(
            id=known.id,
            client=known.client or str(self.channel.addr[0]),
            method=request.command,
            path=request.path[:_LONGEST_PATH],
            route=known.route,
            status=int(self.status[:3]),
            ms=round(seconds * 1000, 1),
            bytes=self.said,
            # A stranger's spans are nobody's children.
            traceparent="" if known.refused else request.headers.get("TRACEPARENT", ""),
        )

    def execute(self) -> None:
        refused = self.request.refused
        if refused or self.request.error:
            self._send_answer(refused or internal_error_answer(self.admission.id))
            return
        try:
            super().execute()
        except ClientDisconnected:
            raise
        except Exception as error:  # noqa: BLE001 - where failures of the application become answers
            self.channel.server.parts.teller.write_failure(self.admission.id, error)
            self._fail()

    def _fail(self) -> None:
        """An answer that was begun is cut off: half of one must not pass for a whole."""
        if self.wrote_header:
            self.close_on_finish = True
            self.chunked_response = False
        else:
            self._send_answer(internal_error_answer(self.admission.id))

    def _send_answer(self, answer: ApiAnswer) -> None:
        body = encode_body(answer)
        self.complete = True
        self.status = format_status_line(answer.status)
        self.response_headers = [("Content-Type", answer.content_type), *answer.headers.items()]
        self.content_length = len(body)
        self.set_close_on_finish()
        self.write(body)

    def get_environment(self) -> dict[str, object]:
        environ: dict[str, object] = super().get_environment()
        environ[ADMISSION] = self.admission
        environ["PATH_INFO"] = self.request.path
        return environ

    def build_response_header(self) -> bytes:
        said = {name.lower() for name, _ in self.response_headers}
        more = {**GUARDS, **self.admission.headers, "X-Request-Id": self.admission.id}
        self.response_headers = [
            *self.response_headers,
            *((name, value) for name, value in more.items() if name.lower() not in said),
        ]
        built: bytes = super().build_response_header()
        return built

    def write(self, data: bytes) -> None:
        self.said += len(data)
        super().write(b"" if self.request.command == "HEAD" else data)
        if self.chunked_response:
            # Whoever reads a stream is told at once.
            self.channel.flush_now()
