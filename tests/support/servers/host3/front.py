"""The front: the API below /v1, users below /met/<app>."""

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.support.servers.host3.apps import App, Machine
from tests.support.servers.host3.described import Described, Description
from tests.support.servers.host3.operations import OPERATIONS, Call, process_of
from tests.support.servers.host3.running import Children
from tests.support.servers.http_bodies import whole_body
from tests.support.servers.planned_faults import CutError, RefusedError, cut

_API, _MET = "/v1", "/met/"
_BURST, _READ_BURST, _READ_SHARE = 3, 10, 5
# Calls that were sent in time can arrive closer together.
_ALMOST = 0.5
_NONCE = "fly-machine-lease-nonce"
_OF_THE_HOP = frozenset(("connection", "keep-alive", "transfer-encoding", "content-length"))


class Host3Front(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.apps: dict[str, App] = {}
        self.description = Description()
        self.children = Children()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def of_token(self, token: str) -> App | None:
        return next((one for one in self.apps.values() if one.token == token), None)

    def candidate(self, app: App) -> Machine | None:
        """The machine that the proxy chooses: the newest open one, started if it rests."""
        with app.guard:
            rows = [one for one in app.there if not one.is_cordoned and one.config.get("services")]
            ready = [one for one in rows if one.state in ("created", "starting", "started")]
            resting = [one for one in rows if one.state in ("stopped", "suspended")]
            chosen = (ready or [one for one in resting if one.exit_code == 0])[-1:]
            for one in chosen:
                one.state = "started"
            return chosen[0] if chosen else None


@contextlib.contextmanager
def host3_front() -> Iterator[Host3Front]:
    front = Host3Front()
    thread = threading.Thread(target=front.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield front
    finally:
        front.shutdown()
        thread.join()
        front.server_close()
        front.children.end()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body leave together: in two packets the second would wait for an acknowledgement.
    wbufsize = 1 << 16
    server: Host3Front

    def _any(self) -> None:
        body = whole_body(self)
        if body is None:
            self.close_connection = True
            return
        url = urlsplit(self.path)
        if url.path.startswith(_MET):
            self._met(body)
            return
        self._called(url.path.removeprefix(_API), dict(parse_qsl(url.query)), body)

    def _called(self, path: str, query: Mapping[str, str], body: bytes) -> None:
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        app = self.server.of_token(token)
        row = [self.command, path, 0]
        if app is not None:
            app.calls.append(row)
        try:
            status, answer, is_half = self._carried_out(app, path, query, body)
            content = b"" if answer is None else json.dumps(answer).encode()
            row[2] = 0 if is_half else status
            content = content[: len(content) // 2] if is_half else content
            kind = [("content-type", "application/json")] if content else []
            self._send(status, kind, content)
        except RefusedError as error:
            row[2] = error.status
            said = json.dumps({"error": str(error), "status": "unknown"}).encode()
            headers = [*error.headers.items(), ("fly-request-id", "01TEST-fra")]
            self._send(error.status, headers, said)
        except CutError:
            self.close_connection = True

    def _carried_out(
        self, app: App | None, path: str, query: Mapping[str, str], body: bytes
    ) -> tuple[int, Any, bool]:
        if app is None:
            raise RefusedError(401, "Authenticate: token validation error")
        with app.guard:
            fault = app.planned(self.command, path)
            if fault and not fault.get("after") and not fault.get("half"):
                cut(fault)
            self._count(app, path)
            asked, document = self._described(app, path, query, body)
            nonce = self.headers.get(_NONCE, "")
            call = Call(app, self.server.children, asked.names, query, document, nonce)
            answer = OPERATIONS[asked.route](call)
            if fault and fault.get("after"):
                cut(fault)
        status = self.server.description.status(asked)
        return status, answer, bool(fault and fault.get("half"))

    def _described(
        self, app: App, path: str, query: Mapping[str, str], body: bytes
    ) -> tuple[Described, Any]:
        asked = self.server.description.find(self.command, path)
        name = asked.names.get("app_name", app.name) if asked else ""
        if asked is None or name not in self.server.apps:
            raise RefusedError(404, "not found")
        if asked.route not in OPERATIONS:
            raise RefusedError(501, f"{asked.route} is not written in this server")
        if name != app.name:
            raise RefusedError(403, "app belongs to another organization")
        if "app_name" in asked.names and not app.exists:
            raise RefusedError(404, "app not found")
        document = _document(body)
        app.requests.append({"route": asked.route, "query": dict(query), "body": document})
        wrong = list(self.server.description.problems(asked, query, document))
        if wrong:
            raise RefusedError(400, "; ".join(wrong))
        return asked, document

    def _count(self, app: App, path: str) -> None:
        """Refuse an action that is asked for too often: each has its own rate."""
        if not app.rate:
            return
        is_read = self.command == "GET" and path.rpartition("/")[0].endswith("/machines")
        burst, share = (_READ_BURST, _READ_SHARE) if is_read else (_BURST, 1)
        now, key = time.monotonic(), (self.command, path)
        left, then = app.tokens.get(key, (float(burst), now))
        left = min(burst, left + (now - then) * app.rate * share)
        if left < _ALMOST:
            raise RefusedError(429, "rate limit exceeded")
        app.tokens[key] = (left - 1, now)

    def _met(self, body: bytes) -> None:
        name, _, rest = self.path.removeprefix(_MET).partition("/")
        app = self.server.apps[name]
        machine = self.server.candidate(app)
        if machine is None:
            self._send(404 if not app.there else 503, [], b"no machine")
            return
        child = process_of(app, self.server.children, machine)
        child.await_ready(machine.check_path)
        connection = http.client.HTTPConnection("127.0.0.1", child.port, timeout=20)
        try:
            connection.putrequest(self.command, f"/{rest}", skip_accept_encoding=True)
            for key, value in self.headers.items():
                if key.lower() not in (*_OF_THE_HOP, "host"):
                    connection.putheader(key, value)
            connection.putheader("X-Forwarded-For", self.client_address[0])
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            kept = [one for one in answer.getheaders() if one[0].lower() not in _OF_THE_HOP]
            self._send(answer.status, kept, answer.read())
        finally:
            connection.close()

    def _send(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        has_body = status not in (204, 304) and self.command != "HEAD"
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        if has_body:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if has_body:
            self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = _any  # noqa: N815

    def log_message(self, *_words: Any) -> None:
        """Nobody reads it."""


def _document(body: bytes) -> Any:
    if not body:
        return None
    try:
        return json.loads(body)
    except ValueError:
        raise RefusedError(400, "the body is not JSON") from None
