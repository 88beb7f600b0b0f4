"""The Lambda Runtime API for one `bootstrap`: an HTTP server on loopback, from which it takes its
events.

AWS documents this protocol for custom runtimes, in version 2018-06-01.
"""

import os
import time
import uuid

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fabric.runtimes.calls.call_end import LARGEST_ANSWER, AnswerLine, CallFailure, Failing, Thrown
from fabric.runtimes.calls.channel import ChannelListener
from fabric.runtimes.calls.child_process import ChildStart, start_process
from fabric.runtimes.python.streamed_response import convert_streamed, is_json
from fabric.system.clock import SystemClock
from fabric.system.event_loop import EventLoop
from fabric.system.http.answers import ServedAnswer, build_json_answer
from fabric.system.http.connection import HttpLimits, Reply
from fabric.system.http.listening import bind_socket
from fabric.system.http.requests import BadRequestError, RequestHead, ServedRequest
from fabric.system.http.server import HttpServer, HttpService

_HOST = "127.0.0.1"
_PREFIX = "/2018-06-01/runtime/"
_DAY = 86_400.0
# A response can be streamed during the whole call, and a client can keep its connection.
_LIMITS = HttpLimits(
    connections=50,
    body_bytes=3 * LARGEST_ANSWER,
    header_bytes=64 * 1024,
    request_seconds=_DAY,
    idle_seconds=_DAY,
)
_TOO_LARGE = 413


class _Call(Struct, frozen=True):
    """A call that the bootstrap has received. `id` is its request id."""

    number: int
    id: str
    since: float


class _Waiting(Struct, frozen=True):
    """An event that the bootstrap has not requested yet."""

    number: int
    event: bytes


class _SentError(Struct, frozen=True, rename="camel"):
    error_type: str = ""
    error_message: str = ""


class RuntimeApi:
    """A channel to a bootstrap, whose requests are its messages. The first request for an event
    completes its start."""

    loading = "request an event"

    def __init__(self, loop: EventLoop, start: ChildStart, listener: ChannelListener) -> None:
        self._start, self._listener = start, listener
        self._has_loaded = False
        self._next: Reply | None = None
        self._event: _Waiting | None = None
        self._call: _Call | None = None
        busy = _build_error(503, "ServiceUnavailable", "too many connections")
        service = HttpService(lambda _: self, busy)
        self._server = HttpServer(loop, bind_socket(_HOST, 0), service, _LIMITS)
        self._address = f"{_HOST}:{self._server.port}"
        env = {**start.env, "AWS_LAMBDA_RUNTIME_API": self._address}
        try:
            self.process = start_process(replace(start, env=env))
        except BaseException:
            self._server.close()
            raise

    # The caller's side

    def send_function(self, said: bytes) -> None:
        """Send nothing: a bootstrap reads its environment."""

    def send_call(self, number: int, event: bytes) -> None:
        self._event = _Waiting(number, event)
        self._deliver()

    def read_rest(self) -> None:
        """Read nothing: an answered request is complete."""

    def end_calls(self) -> None:
        """Announce nothing: the process is ended."""

    def describe_end(self, why: str) -> str:
        if not self._has_loaded:
            return f"did not start: its `bootstrap` ended before it requested an event ({why})"
        return f"returned no response ({why})"

    def close(self) -> None:
        self._server.close()

    # The bootstrap's side

    def admit(self, head: RequestHead) -> None:
        """Admit only programs: a page of a browser has an origin or another host."""
        if head.header("host") != self._address or head.header("origin"):
            raise BadRequestError(403, f"only a bootstrap can use {self._address}")

    def refuse(self, error: BadRequestError) -> ServedAnswer:
        if error.status == _TOO_LARGE and self._call is not None:
            self._finish(AnswerLine(self._call.number, too_large=_LIMITS.body_bytes))
        return _build_error(error.status, "InvalidRequest", error.message)

    def answer(self, request: ServedRequest, reply: Reply) -> None:
        head = request.head
        path = head.path.removeprefix(_PREFIX) if head.path.startswith(_PREFIX) else ""
        match (head.method, *path.split("/")):
            case ("GET", "invocation", "next"):
                self._take_next(reply)
            case ("POST", "invocation", request_id, "response"):
                self._take_response(request_id, request, reply)
            case ("POST", "invocation", request_id, "error"):
                self._take_error(request_id, request, reply)
            case ("POST", "init", "error"):
                self._take_init_error(request, reply)
            case _:
                reply(_build_error(404, "NotFound", f"unknown path {head.path}"))

    def _take_next(self, reply: Reply) -> None:
        if self._call is not None:
            reply(_build_error(403, "InvalidStateTransition", "the last event has no response"))
            message = "returned no response (it requested the next event without one)"
            self._listener.handle_failure(CallFailure(Failing.NO_ANSWER, message))
            return
        self._next = reply
        if not self._has_loaded:
            self._has_loaded = True
            self._listener.handle_answer(AnswerLine(0, ready=True))
        self._deliver()
        if self._next is not None:
            self._listener.handle_wait()

    def _deliver(self) -> None:
        """Send the event once the bootstrap waits for it."""
        if self._event is None or self._next is None:
            return
        reply, event = self._next, self._event
        self._next = None
        if reply.is_over:  # its client has given up, and asks again
            return
        self._event = None
        self._call = _Call(event.number, str(uuid.uuid4()), time.monotonic())
        reply(ServedAnswer(200, self._build_headers(self._call), event.event))

    def _build_headers(self, call: _Call) -> tuple[tuple[str, str], ...]:
        now = SystemClock().now().timestamp()
        trace = f"Root=1-{int(now):x}-{os.urandom(12).hex()};Parent={os.urandom(8).hex()};Sampled=0"
        return (
            ("content-type", "application/json"),
            ("Lambda-Runtime-Aws-Request-Id", call.id),
            ("Lambda-Runtime-Deadline-Ms", str(round((now + self._start.seconds) * 1000))),
            ("Lambda-Runtime-Invoked-Function-Arn", self._start.resource),
            ("Lambda-Runtime-Trace-Id", trace),
        )

    def _take_response(self, request_id: str, request: ServedRequest, reply: Reply) -> None:
        call = self._accept(request_id, reply)
        if call is None:
            return
        body = convert_streamed(request.head.header, request.body)
        if len(body) > LARGEST_ANSWER:
            reply(_build_error(_TOO_LARGE, "RequestEntityTooLarge", "the response is too large"))
            self._finish(AnswerLine(call.number, too_large=len(body)))
            return
        reply(_ACCEPTED)
        if body and not is_json(body):
            why = f"it is not JSON: {body[:80].decode(errors='replace')}"
            self._finish(AnswerLine(call.number, unanswered=why))
        else:
            self._finish(AnswerLine(call.number, response=msgspec.Raw(body or b"null")))

    def _take_error(self, request_id: str, request: ServedRequest, reply: Reply) -> None:
        call = self._accept(request_id, reply)
        if call is not None:
            reply(_ACCEPTED)
            self._finish(AnswerLine(call.number, error=_read_error(request)))

    def _take_init_error(self, request: ServedRequest, reply: Reply) -> None:
        if self._has_loaded:
            reply(_build_error(403, "InvalidStateTransition", "the start is over"))
            return
        reply(_ACCEPTED)
        self._listener.handle_answer(AnswerLine(0, error=_read_error(request), ends=True))

    def _accept(self, request_id: str, reply: Reply) -> _Call | None:
        if self._call is not None and self._call.id == request_id:
            return self._call
        reply(_build_error(400, "InvalidRequestID", f"no event has the request id {request_id}"))
        return None

    def _finish(self, answer: AnswerLine) -> None:
        call, self._call = self._call, None
        ms = round((time.monotonic() - call.since) * 1000) if call else 0
        self._listener.handle_answer(replace(answer, ms=ms))


_ACCEPTED = build_json_answer(202, {"status": "OK"})


def _build_error(status: int, kind: str, message: str) -> ServedAnswer:
    return build_json_answer(status, {"errorMessage": message, "errorType": kind})


def _read_error(request: ServedRequest) -> Thrown:
    """Read the error. A header can also name its type."""
    try:
        sent = msgspec.json.decode(request.body, type=_SentError)
    except (msgspec.DecodeError, UnicodeDecodeError):
        sent = _SentError("", request.body[:200].decode(errors="replace"))
    kind = sent.error_type or request.head.header("lambda-runtime-function-error-type")
    return Thrown(kind or "Error", sent.error_message)
