"""Call `bootstrap`, a program that takes its events from the Lambda Runtime API.

A process answers one call at a time. Parallel calls start more processes.

Standard library only: it runs in a container without fabric.
"""

import json
import os
import subprocess
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path
from queue import Empty, SimpleQueue

from fabric.runtimes.python.calling.context import Context
from fabric.runtimes.python.calling.handler_settings import HandlerSettings
from fabric.runtimes.python.calling.loading import LoadedHandler
from fabric.runtimes.python.http_bodies import BodyHandler
from fabric.runtimes.python.streamed_response import convert_streamed

_HERE = "127.0.0.1"
_PREFIX = "/2018-06-01/runtime/"
# Parallel processes. Further calls wait.
_MOST = 16
_START_SECONDS = 60
# After the timeout of the function, whose answer comes first.
_LATER = 0.5
_NO_LIMIT = 15 * 60
_END_SECONDS = 2


class ProgramError(Exception):
    """The end of a program, or a call that breaks the rules of the Runtime API."""


class ReportedError(ProgramError):
    """A failure that the program reported. It can answer further calls."""


class _Call:
    """An event for the program."""

    def __init__(self, event: object, context: Context) -> None:
        self.body = json.dumps(event).encode()
        self.id = context.aws_request_id
        self.milliseconds = context.get_remaining_time_in_millis()


class ProgramHandler:
    """The processes of a program. The first one starts here, so that a broken program is found."""

    def __init__(self, said: HandlerSettings) -> None:
        self._said = said
        self._guard = threading.Lock()
        self._turns = threading.BoundedSemaphore(_MOST)
        self._idle: list[_Process] = []
        self._all: set[_Process] = set()
        self._idle.append(self._start())

    def __call__(self, event: object, context: Context) -> object:
        with self._turns:
            process = self._take()
            try:
                response = process.call(_Call(event, context), self._said.seconds)
            except ReportedError:
                self._keep(process)
                raise
            except BaseException:
                self._end(process)
                raise
            self._keep(process)
            return response

    def _keep(self, process: "_Process") -> None:
        with self._guard:
            self._idle.append(process)

    def close(self) -> None:
        for process in list(self._all):
            self._end(process)

    def _take(self) -> "_Process":
        while True:
            with self._guard:
                process = self._idle.pop() if self._idle else None
            if process is None:
                return self._start()
            if process.is_running:
                return process
            self._end(process)

    def _start(self) -> "_Process":
        process = _Process(self._said)
        self._all.add(process)
        try:
            process.wait_until_ready()
        except BaseException:
            self._end(process)
            raise
        return process

    def _end(self, process: "_Process") -> None:
        self._all.discard(process)
        process.close()


class _Process:
    """One process, and the Runtime API that it calls."""

    def __init__(self, said: HandlerSettings) -> None:
        # None ends the wait for the next event.
        self.events: SimpleQueue[_Call | None] = SimpleQueue()
        self.answers: SimpleQueue[object] = SimpleQueue()
        self.ready = threading.Event()
        self.request_id = ""
        self._guard = threading.Lock()
        self._server = _RuntimeApi(self)
        env = {
            **os.environ,  # noqa: TID251 - the container's own
            **_build_variables(said),
            "AWS_LAMBDA_RUNTIME_API": f"{_HERE}:{self._server.server_port}",
        }
        try:
            self._child = _start_program(Path(said.folder, "bootstrap"), env)
        except BaseException:
            self._server.server_close()
            raise
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        threading.Thread(target=self._report_end, daemon=True).start()

    @property
    def is_running(self) -> bool:
        return self._child.poll() is None

    def wait_until_ready(self) -> None:
        """Wait until the program requests its first event."""
        if not self.ready.wait(_START_SECONDS):
            raise ProgramError(f"bootstrap requested no event within {_START_SECONDS} s")
        if not self.answers.empty() and isinstance(error := self.answers.get(), ProgramError):
            raise error

    def call(self, call: _Call, seconds: float) -> object:
        self.events.put(call)
        try:
            answer = self.answers.get(timeout=(seconds or _NO_LIMIT) + _LATER)
        except Empty:
            raise TimeoutError("bootstrap did not answer in time") from None
        if isinstance(answer, ProgramError):
            raise answer
        return answer

    def end_call(self, request_id: str) -> bool:
        """End the running call. Returns whether it is the one of this id: a second response to an
        earlier call must not become that of the next one."""
        with self._guard:
            is_own = bool(request_id) and request_id == self.request_id
            self.request_id = "" if is_own else self.request_id
            return is_own

    def close(self) -> None:
        self._child.terminate()
        try:
            self._child.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
        self.events.put(None)
        self._server.shutdown()
        self._server.server_close()

    def _report_end(self) -> None:
        code = self._child.wait()
        self.answers.put(ProgramError(f"bootstrap ended with exit code {code}"))
        self.ready.set()


def _start_program(path: Path, env: dict[str, str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen([str(path)], cwd=path.parent, env=env)
    except OSError as error:
        reasons: dict[type[OSError], str] = {
            FileNotFoundError: "it is missing, or the interpreter in its first line is",
            PermissionError: "its mode must be 0755",
        }
        reason = reasons.get(type(error), "it must be a script, or a program for this machine")
        raise ProgramError(f"cannot start bootstrap ({error.strerror}): {reason}") from error


def _build_variables(said: HandlerSettings) -> dict[str, str]:
    """Build the variables that clients of the Runtime API read."""
    context = Context(said)
    return {
        "_HANDLER": said.name,
        "LAMBDA_TASK_ROOT": said.folder,
        "AWS_LAMBDA_FUNCTION_NAME": said.function,
        "AWS_LAMBDA_FUNCTION_VERSION": context.function_version,
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(said.memory or 128),
        "AWS_LAMBDA_LOG_GROUP_NAME": context.log_group_name,
        "AWS_LAMBDA_LOG_STREAM_NAME": context.log_stream_name,
    }


class _RuntimeApi(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, process: _Process) -> None:
        super().__init__((_HERE, 0), _RuntimeApiHandler)
        self.process = process


class _RuntimeApiHandler(BodyHandler):
    server: _RuntimeApi

    def do_GET(self) -> None:  # noqa: N802
        if self.path != f"{_PREFIX}invocation/next":
            self._send(404, _describe_error("NotFound", f"unknown path {self.path}"))
            return
        process = self.server.process
        process.ready.set()
        if process.request_id:
            process.answers.put(ProgramError("bootstrap requested an event without a response"))
        call = process.events.get()
        if call is None:
            self.close_connection = True
            return
        process.request_id = call.id
        now = int(time.time() * 1000)  # noqa: TID251 - the container's own
        headers = (
            ("Lambda-Runtime-Aws-Request-Id", call.id),
            ("Lambda-Runtime-Deadline-Ms", str(now + call.milliseconds)),
            ("Lambda-Runtime-Invoked-Function-Arn", ""),
        )
        self._send(200, call.body, headers)

    def do_POST(self) -> None:  # noqa: N802
        body = self.read_body()
        process = self.server.process
        kind = self.path.removeprefix(_PREFIX)
        if body is None:
            process.answers.put(ProgramError("the response of bootstrap is too large"))
            self.close_connection = True
            self._send(413, _describe_error("RequestEntityTooLarge", "the response is too large"))
        elif kind == "init/error" and not process.ready.is_set():
            process.answers.put(_read_error(body))
            process.ready.set()
            self._send(202, _ACCEPTED)
        elif kind == "init/error":
            self._send(403, _describe_error("InvalidStateTransition", "the start is over"))
        elif kind.endswith("/response") and process.end_call(kind.split("/")[1]):
            process.answers.put(_read_response(self, body))
            self._send(202, _ACCEPTED)
        elif kind.endswith("/error") and process.end_call(kind.split("/")[1]):
            process.answers.put(_read_error(body))
            self._send(202, _ACCEPTED)
        else:
            self._send(400, _describe_error("InvalidRequestID", f"no call has {self.path}"))

    def _send(self, status: int, body: bytes, headers: tuple[tuple[str, str], ...] = ()) -> None:
        self.send_response(status)
        for name, value in (*headers, ("content-type", "application/json")):
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


_ACCEPTED = b'{"status":"OK"}'


def _read_response(request: BodyHandler, body: bytes) -> object:
    whole = convert_streamed(lambda name: request.headers.get(name, ""), body)
    try:
        return json.loads(whole or b"null")
    except ValueError:
        return ProgramError(f"the response is not JSON: {whole[:80].decode(errors='replace')}")


def _read_error(body: bytes) -> ReportedError:
    try:
        document = json.loads(body)
        return ReportedError(f"{document['errorType']}: {document['errorMessage']}")
    except (ValueError, KeyError, TypeError):
        return ReportedError(body[:200].decode(errors="replace"))


def _describe_error(kind: str, message: str) -> bytes:
    return json.dumps({"errorType": kind, "errorMessage": message}).encode()


def open_program(said: HandlerSettings) -> LoadedHandler:
    return LoadedHandler(ProgramHandler(said), said.name, "event", said)
