"""Serve one function in a separate container: archive parts and settings are inputs, and HTTP is
served.

With FABRIC_EVENT it calls the function once and exits.

Standard library only: the files beside this one are all of fabric.
"""

import contextlib
import io
import json
import os
import signal
import stat
import sys
import threading
import time
import traceback
import zipfile
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

from fabric.runtimes.python.calling import call as calling
from fabric.runtimes.python.calling.context import new_id
from fabric.runtimes.python.calling.loading import LoadedHandler
from fabric.runtimes.python.framework import FrameworkFunction
from fabric.runtimes.python.http_bodies import BodyHandler
from fabric.runtimes.python.program import ProgramHandler, open_program
from fabric.runtimes.python.serving_answers import AnsweringFunction
from fabric.runtimes.python.serving_http import ServedRequest, ServedResponse, message

READY = "/.fabric/ready"
_SECRETLY_OURS = ("FABRIC_SAID", "FABRIC_CODE", "FABRIC_WORK", "FABRIC_EVENT")
_NO_BODY = (204, 304)
_LOOK = 0.05


class CountedCalls:
    """The state of a server: the number of its running calls, and whether it ends."""

    def __init__(self, document: dict[str, object]) -> None:
        self.most = int(str(document.get("most") or 0))
        self.drain = float(str(document.get("drain", 3)))
        self.is_ending = False
        self._guard = threading.Lock()
        self._under_way = 0

    @contextlib.contextmanager
    def count_call(self) -> Iterator[None]:
        """Count a call from the first byte of the request to the last byte of the response."""
        with self._guard:
            self._under_way += 1
        try:
            yield
        finally:
            with self._guard:
                self._under_way -= 1

    @property
    def under_way(self) -> int:
        with self._guard:
            return self._under_way

    @property
    def is_ready(self) -> bool:
        return not self.is_ending

    def answer_ready(self) -> ServedResponse:
        words = "ending" if self.is_ending else "starting"
        return message(200, "ready") if self.is_ready else message(503, words)

    def respond(self, taken: ServedRequest) -> ServedResponse:
        return self.answer_ready() if taken.path == READY else self.answer(taken)

    def answer(self, taken: ServedRequest) -> ServedResponse:
        raise NotImplementedError

    def close(self) -> None:
        """End the processes of the function."""


class FunctionServer(CountedCalls):
    """The function, and the number of its running calls."""

    def __init__(self, document: dict[str, object]) -> None:
        super().__init__(document)
        load = open_program if document.get("program") else calling.load
        kind = FrameworkFunction if document.get("events") else AnsweringFunction
        self.function = kind(document, load)
        self.function.is_full = lambda: bool(self.most) and self.under_way > self.most

    @property
    def handler(self) -> LoadedHandler:
        return self.function.handler

    def answer(self, taken: ServedRequest) -> ServedResponse:
        return self.function.answer(taken)

    def close(self) -> None:
        if isinstance(self.handler.found, ProgramHandler):
            self.handler.found.close()


class RequestHandler(BodyHandler):
    server: "Listening"

    def handle_any(self) -> None:
        with self.server.function.count_call():
            self._handle()

    def _handle(self) -> None:
        body = self.read_body()
        if body is None:
            self.close_connection = True
            self._send(message(413, "Content Too Large"))
            return
        headers = [(name.lower(), value) for name, value in self.headers.items()]
        peer = str(self.client_address[0])
        taken = ServedRequest(self.command, self.path, headers, body, peer)
        self._send(self.server.function.respond(taken))

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = handle_any  # noqa: N815

    def _send(self, given: ServedResponse) -> None:
        self.send_response(given.status)
        for name, value in given.headers:
            self.send_header(name, value)
        if given.status not in _NO_BODY:
            self.send_header("content-length", str(len(given.body)))
        if self.server.function.is_ending:
            self.send_header("connection", "close")
        self.end_headers()
        if given.status not in _NO_BODY and self.command != "HEAD":
            self.wfile.write(given.body)


class Listening(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host: str, port: int, function: CountedCalls) -> None:
        super().__init__((host, port), RequestHandler)
        self.function = function


def _end(server: Listening) -> None:
    """Shut down after a delay, because requests still arrive until routing has changed."""
    server.function.is_ending = True

    def end_later() -> None:
        time.sleep(server.function.drain)
        server.shutdown()
        while server.function.under_way:
            time.sleep(_LOOK)
        server.function.close()
        sys.stdout.flush()
        os._exit(0)

    threading.Thread(target=end_later, daemon=True).start()


def _unpack_parts(parts: Path, folder: Path) -> str:
    names = sorted(one for one in parts.iterdir() if one.name.startswith("archive."))
    content = b"".join(one.read_bytes() for one in names)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(folder)
        for entry in archive.infolist():
            if entry.external_attr >> 16 & stat.S_IXUSR:
                Path(folder, entry.filename).chmod(0o755)
    return str(folder)


def _call_once(handler: LoadedHandler, text: str) -> int:
    event = json.loads(text)
    if isinstance(event, dict) and event.get("detail-type") == "Scheduled Event":
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        event = {**event, "id": new_id(), "time": now}
    try:
        calling.call(handler, event)
    except BaseException:  # noqa: BLE001 - whatever a handler throws is told, and the run failed
        traceback.print_exc()
        return 1
    return 0


# Starts the functions of a document with several, from archives, in a work directory, at a port.
OpenFunctions = Callable[[dict[str, object], Path, Path, int], CountedCalls]


def main(open_functions: OpenFunctions) -> None:
    environment = os.environ  # noqa: TID251 - the container's own
    given = {name: environment.pop(name, "") for name in _SECRETLY_OURS}
    port = int(environment.get("PORT") or 8080)
    work = Path(given["FABRIC_WORK"], "function").resolve()
    document = json.loads(given["FABRIC_SAID"])
    if "functions" in document:
        serve(port, open_functions(document, Path(given["FABRIC_CODE"]), work, port))
        return
    try:
        parts = Path(given["FABRIC_CODE"])
        folder = str(parts) if document.pop("unpacked", False) else _unpack_parts(parts, work)
        function = FunctionServer({**document, "folder": folder})
    except BaseException:  # noqa: BLE001 - whatever a module throws is its answer
        traceback.print_exc()
        os._exit(1)
    if given["FABRIC_EVENT"]:
        code = _call_once(function.handler, given["FABRIC_EVENT"])
        function.close()
        sys.stdout.flush()
        os._exit(code)
    serve(port, function, str(document.get("listen") or ""))


def serve(port: int, function: CountedCalls, host: str = "") -> None:
    """Serve until SIGTERM."""
    server = Listening(host, port, function)
    signal.signal(signal.SIGTERM, lambda *_: _end(server))
    server.serve_forever()
    # The thread that ends everything does so once nothing is under way.
    threading.Event().wait()
