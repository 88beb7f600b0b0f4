"""The front: the interface, and users below /met/<domain>."""

import contextlib
import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.support.servers.host1.described import Description, described
from tests.support.servers.host1.operations import OPERATIONS, Given
from tests.support.servers.host1.projects import CutError, HostProject, RefusedError
from tests.support.servers.host1.running import Instances, Passed
from tests.support.servers.host1.users import answered
from tests.support.servers.http_bodies import whole_body

_MET = "/met/"


class Host1Front(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.projects: dict[str, HostProject] = {}
        self.description = Description(described())
        self.instances = Instances()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def of_token(self, token: str) -> HostProject | None:
        return next((one for one in self.projects.values() if one.token == token), None)

    def of_domain(self, name: str) -> HostProject:
        rows = self.projects.values()
        return next(one for one in rows if name in {row["name"] for row in one.domains})


@contextlib.contextmanager
def host1_front() -> Iterator[Host1Front]:
    front = Host1Front()
    thread = threading.Thread(target=front.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield front
    finally:
        front.shutdown()
        thread.join()
        front.server_close()
        front.instances.end()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body leave together: in two packets the second would wait for an acknowledgement.
    wbufsize = 1 << 16
    server: Host1Front

    def _any(self) -> None:
        body = whole_body(self)
        if body is None:
            self.close_connection = True
            return
        if self.path.startswith(_MET):
            self._met(self.path.removeprefix(_MET), body)
            return
        url = urlsplit(self.path)
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        project = self.server.of_token(token)
        row = [self.command, url.path, 0]
        if project is not None:
            project.calls.append(row)
        try:
            query = dict(parse_qsl(url.query, keep_blank_values=True))
            status, answer, is_half = self._carried_out(project, url.path, query, body)
            content = b"" if answer is None else json.dumps(answer).encode()
            row[2] = 0 if is_half else status
            content = content[: len(content) // 2] if is_half else content
            self._send(status, [("content-type", "application/json")], content)
        except RefusedError as error:
            row[2] = error.status
            self._send(error.status, list(error.headers.items()), json.dumps(error.said).encode())
        except CutError:
            self.close_connection = True

    def _carried_out(
        self, project: HostProject | None, path: str, query: Mapping[str, str], body: bytes
    ) -> tuple[int, Any, bool]:
        if project is None:
            raise RefusedError(403, "forbidden", "Not authorized", {"invalidToken": True})
        with project.guard:
            fault = project.planned(self.command, path)
            if fault and not fault.get("after") and not fault.get("half"):
                _cut(fault)
            operation, given = self._described(project, path, query, body)
            status, answer = OPERATIONS[operation](project, given)
            if fault and fault.get("after"):
                _cut(fault)
        # What has no body has no half.
        return status, answer, bool(fault and fault.get("half") and answer is not None)

    def _described(
        self, project: HostProject, path: str, query: Mapping[str, str], body: bytes
    ) -> tuple[str, Given]:
        description = self.server.description
        asked = description.find(self.command, path)
        if asked is None:
            raise RefusedError(404, "not_found", f"{self.command} {path} is not described")
        headers = dict(self.headers.items())
        document = _document(self.headers.get("Content-Type", ""), body)
        project.requests.append(
            {
                "operation": asked.operation,
                "query": dict(query),
                "kind": self.headers.get("Content-Type", "") if body else "",
                "body": document,
            }
        )
        wrong = description.problems(asked, query, headers, document if body else None)
        if wrong:
            raise RefusedError(400, "bad_request", f"Invalid request: {'; '.join(wrong)}")
        if asked.operation != "getAuthUser" and query.get("teamId") != project.team:
            raise RefusedError(403, "forbidden", "Not authorized: the project is of a team")
        return asked.operation, Given(description, asked.names, query, headers, document)

    def _met(self, rest: str, body: bytes) -> None:
        domain, _, path = rest.partition("/")
        project = self.server.of_domain(domain)
        given = Passed(body, list(self.headers.items()))
        answer = answered(self.server.instances, project, self.command, f"/{path}", given)
        self._send(answer.status, list(answer.headers), answer.content)

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


def _cut(fault: dict[str, Any]) -> None:
    if "status" not in fault:
        raise CutError
    error = RefusedError(fault["status"], fault.get("code", "planned"), fault.get("message", "no"))
    error.headers = dict(fault.get("headers", {}))
    raise error


def _document(kind: str, body: bytes) -> Any:
    if not kind.startswith("application/json"):
        return body
    try:
        return json.loads(body)
    except ValueError:
        raise RefusedError(400, "bad_request", "Invalid JSON") from None
