"""The front: the interface below /api/v1, users below /met/<site>."""

import contextlib
import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.support.servers.host2.operations import CREATED, OPERATIONS
from tests.support.servers.host2.running import Children
from tests.support.servers.host2.sites import Site
from tests.support.servers.host2.swagger import Described, Swagger, described
from tests.support.servers.host2.users import UserRequest, answered
from tests.support.servers.http_bodies import whole_body
from tests.support.servers.planned_faults import CutError, RefusedError, cut

_API, _MET = "/api/v1", "/met/"
_CHUNK = 1 << 16


class Host2Front(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.sites: dict[str, Site] = {}
        self.swagger = Swagger(described())
        self.children = Children()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def of_token(self, token: str) -> Site | None:
        return next((one for one in self.sites.values() if one.token == token), None)


@contextlib.contextmanager
def host2_front() -> Iterator[Host2Front]:
    front = Host2Front()
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
    server: Host2Front

    def _any(self) -> None:
        body = whole_body(self)
        if body is None:
            self.close_connection = True
        else:
            self._whole(body)

    def _whole(self, body: bytes) -> None:
        url = urlsplit(self.path)
        if url.path.startswith(_MET):
            self._met(url.path.removeprefix(_MET), url.query, body)
            return
        path = url.path.removeprefix(_API)
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        site = self.server.of_token(token)
        row = [self.command, path, 0]
        if site is not None:
            site.calls.append(row)
        try:
            query = dict(parse_qsl(url.query))
            status, answer, is_half = self._carried_out(site, path, query, body)
            content = b"" if status == 204 else json.dumps(answer).encode()
            row[2] = 0 if is_half else status
            content = content[: len(content) // 2] if is_half else content
            kind = [("content-type", "application/json")] if content else []
            self._send(status, kind, content)
        except RefusedError as error:
            row[2] = error.status
            said = json.dumps({"code": error.status, "message": str(error)}).encode()
            self._send(error.status, list(error.headers.items()), said)
        except CutError:
            self.close_connection = True

    def _carried_out(
        self, site: Site | None, path: str, query: Mapping[str, str], body: bytes
    ) -> tuple[int, Any, bool]:
        if site is None:
            raise RefusedError(401, "Access Denied")
        with site.guard:
            fault = site.planned(self.command, path)
            if fault and not fault.get("after") and not fault.get("half"):
                cut(fault)
            asked = self._described(site, path, query, body)
            document = _document(self.headers.get("Content-Type", ""), body)
            answer = OPERATIONS[asked.operation](site, asked.names, query, document)
            if fault and fault.get("after"):
                cut(fault)
        status = 201 if asked.operation in CREATED else 204 if answer is None else 200
        return status, answer, bool(fault and fault.get("half"))

    def _described(self, site: Site, path: str, query: Mapping[str, str], body: bytes) -> Described:
        asked = self.server.swagger.find(self.command, path)
        if asked is None or asked.names.get("site_id", site.id) != site.id:
            raise RefusedError(404, "Not Found")
        if asked.operation not in OPERATIONS:
            raise RefusedError(501, f"{asked.operation} is not written in this server")
        kind = self.headers.get("Content-Type", "")
        document = _document(kind, body)
        row = {"operation": asked.operation, "query": dict(query), "kind": kind if body else ""}
        site.requests.append({**row, "body": document})
        wrong = list(self.server.swagger.problems(asked, query, document))
        if wrong:
            raise RefusedError(422, "; ".join(wrong))
        return asked

    def _met(self, rest: str, query: str, body: bytes) -> None:
        ident, _, path = rest.partition("/")
        site = self.server.sites[ident]
        request = UserRequest(self.command, f"/{path}", query, list(self.headers.items()), body)
        answer = answered(self.server.children, site, request)
        self._send(answer.status, answer.headers, answer.content)

    def _send(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        has_body = status not in (204, 304) and self.command != "HEAD"
        self.send_response(status)
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


def _document(kind: str, body: bytes) -> Any:
    if not kind.startswith("application/json"):
        return body
    try:
        return json.loads(body)
    except ValueError:
        raise RefusedError(400, "the body is not JSON") from None
