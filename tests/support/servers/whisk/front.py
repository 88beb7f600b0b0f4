"""The front: controllers below /api/v1/namespaces, web actions below /api/v1/web, and cloud5's own
interface below /v2."""

import base64
import contextlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.support.servers.http_bodies import whole_body
from tests.support.servers.whisk.alarms import alarm, clock_call
from tests.support.servers.whisk.entities import delete, get, listed, put
from tests.support.servers.whisk.invoking import activated
from tests.support.servers.whisk.namespaces import CutError, Namespace, RefusedError, new_id
from tests.support.servers.whisk.running import Children
from tests.support.servers.whisk.web import UserRequest, answered

_API, _WEB, _OWN = "/api/v1/namespaces", "/api/v1/web/", "/v2/functions/namespaces/"
_ENTITY = re.compile(r"/(packages|actions|triggers|rules|activations)(?:/(.+?))?/?")
_NOTHING = "The requested resource does not exist."
_Answer = tuple[int, Any]


class WhiskFront(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.spaces: dict[str, Namespace] = {}
        self.children = Children()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def of(self, test: Callable[[Namespace], bool]) -> Namespace | None:
        return next((one for one in list(self.spaces.values()) if test(one)), None)


@contextlib.contextmanager
def whisk_front() -> Iterator[WhiskFront]:
    front = WhiskFront()
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
    server: WhiskFront

    def _any(self) -> None:
        url = urlsplit(self.path)
        body = whole_body(self)
        if body is None:
            self.close_connection = True
            return
        if url.path.startswith(_WEB):
            self._met(url.path.removeprefix(_WEB), url.query, body)
            return
        space = self._caller(url.path)
        row = [self.command, url.path, 0]
        if space is not None:
            space.calls.append(row)
        try:
            status, answer, is_half = self._carried_out(space, url.path, url.query, body)
            content = b"" if status == 204 else json.dumps(answer).encode()
            row[2] = 0 if is_half else status
            self._send(status, _JSON, content[: len(content) // 2] if is_half else content)
        except RefusedError as error:
            row[2] = error.status
            said = {"error": str(error), "code": new_id(), "message": str(error)}
            self._send(error.status, [*_JSON, *error.headers.items()], json.dumps(said).encode())
        except CutError:
            self.close_connection = True

    def _caller(self, path: str) -> Namespace | None:
        said = self.headers.get("Authorization") or ""
        if path.startswith(_OWN):
            return self.server.of(lambda one: said == f"Bearer {one.token}")
        key = base64.b64decode(said.removeprefix("Basic ")).decode() if said else ""
        return self.server.of(lambda one: key == one.key)

    def _carried_out(
        self, space: Namespace | None, path: str, query: str, body: bytes
    ) -> tuple[int, Any, bool]:
        if space is None:
            raise RefusedError(401, "The supplied authentication is invalid")
        with space.guard:
            fault = space.planned(self.command, path)
            if fault and not fault.get("after") and not fault.get("half"):
                _cut(fault)
            status, answer = self._answer(space, path, dict(parse_qsl(query)), _document(body))
            if fault and fault.get("after"):
                _cut(fault)
        return status, answer, bool(fault and fault.get("half"))

    def _answer(self, space: Namespace, path: str, query: dict[str, str], body: Any) -> _Answer:
        if path.startswith(_OWN):
            return self._own(space, path.removeprefix(_OWN), body)
        if path == _API:
            return 200, [space.name]
        name, _, rest = path.removeprefix(f"{_API}/").partition("/")
        name = unquote(name)
        if name == "whisk.system":
            return self._alarm(space, rest, query, body)
        if name not in ("_", space.name):
            words = "The supplied authentication is not authorized to access this resource."
            raise RefusedError(403, words)
        hit = _ENTITY.fullmatch(f"/{rest}")
        if hit is None:
            raise RefusedError(404, _NOTHING)
        kind, entity = hit[1], unquote(hit[2] or "")
        asked = {"method": self.command, "kind": kind, "query": query, "body": body}
        space.requests.append({**asked, "name": entity})
        return self._entity(space, (kind, entity), query, body)

    def _entity(
        self, space: Namespace, which: tuple[str, str], query: dict[str, str], body: Any
    ) -> _Answer:
        kind, name = which
        match self.command, kind, bool(name):
            case "GET", "activations", True:
                return 200, get_activation(space, name)
            case "GET", _, False:
                return 200, listed(space, kind, query)
            case "GET", _, True:
                row = get(space, kind, name)
                is_short = query.get("code") == "false"
                return 200, {**row, "exec": {"kind": row["exec"]["kind"]}} if is_short else row
            case "PUT", _, True:
                return 200, put(space, kind, name, query, body or {})
            case "DELETE", _, True:
                return 200, delete(space, kind, name)
            case "POST", "actions", True:
                return self._invoked(space, name, query, body or {})
        raise RefusedError(405, "HTTP method not allowed, supported methods: GET, PUT, DELETE")

    def _invoked(self, space: Namespace, name: str, query: dict[str, str], given: Any) -> _Answer:
        ended = activated(self.server.children, space, name, given)
        if query.get("blocking") != "true":
            return 202, {"activationId": ended["activationId"]}
        return (200 if ended["response"]["success"] else 502), ended

    def _alarm(self, space: Namespace, rest: str, query: dict[str, str], given: Any) -> _Answer:
        if rest != "actions/alarms/alarm" or self.command != "POST" or not space.has_alarms:
            raise RefusedError(404, _NOTHING)
        ended = alarm(space, given)
        if query.get("blocking") != "true":
            return 202, {"activationId": ended["activationId"]}
        return (200 if ended["response"]["success"] else 502), ended

    def _own(self, space: Namespace, rest: str, body: Any) -> _Answer:
        name, _, path = rest.partition("/")
        if name != space.name:
            raise RefusedError(404, "namespace not found")
        if path:
            return clock_call(space, self.command, path.partition("/")[2], body)
        uuid, _, key = space.key.partition(":")
        host = space.host or self.server.endpoint
        return 200, {
            "namespace": {
                "namespace": name,
                "uuid": uuid,
                "key": key,
                "api_host": host,
                "region": "nyc1",
                "label": "tests",
            }
        }

    def _met(self, rest: str, query: str, body: bytes) -> None:
        owner, package, action, *more = f"{rest}/".split("/", 3)
        path = f"/{more[0][:-1]}" if more and more[0] else ""
        headers = [(name.lower(), value) for name, value in self.headers.items()]
        request = UserRequest(self.command, path, query, headers, body)
        space = self.server.spaces.get(unquote(owner))
        name = f"{package}/{action.removesuffix('.http')}"
        if space is None:
            self._send(404, _JSON, b"{}")
            return
        answer = answered(self.server.children, space, name, request)
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


_JSON = [("content-type", "application/json")]


def get_activation(space: Namespace, ident: str) -> Any:
    if ident not in space.activations:
        raise RefusedError(404, _NOTHING)
    return space.activations[ident]


def _cut(fault: dict[str, Any]) -> None:
    if "status" in fault:
        raise RefusedError(fault["status"], fault.get("message", "planned"), fault.get("headers"))
    raise CutError


def _document(body: bytes) -> Any:
    try:
        return json.loads(body) if body else None
    except ValueError:
        raise RefusedError(400, "The request content was malformed.") from None
