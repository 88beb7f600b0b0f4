"""One port for all interfaces, for uploads, and for users: a thread of the tests."""

import base64
import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from tests.support import functions_framework
from tests.support.servers.cloud2 import (
    event_triggers,
    faults,
    functions,
    jobs,
    services,
    telemetry,
)
from tests.support.servers.cloud2.described import Described, Discovery
from tests.support.servers.cloud2.project import Cloud2Project
from tests.support.servers.cloud2.refusals import CutOffError, RefusedRequestError, invalid
from tests.support.servers.cloud2.running import Passed
from tests.support.servers.http_bodies import whole_body

_FUNCTIONS = "cloudfunctions.projects.locations"
_RUN = "run.projects.locations.services"
_JOBS = "cloudscheduler.projects.locations.jobs"
_TRIGGERS = "eventarc.projects.locations.triggers"
_ACTS: dict[str, Callable[..., Any]] = {
    f"{_FUNCTIONS}.functions.generateUploadUrl": functions.upload_url,
    f"{_FUNCTIONS}.functions.create": functions.create,
    f"{_FUNCTIONS}.functions.patch": functions.patch,
    f"{_FUNCTIONS}.functions.get": functions.get,
    f"{_FUNCTIONS}.functions.list": functions.listed,
    f"{_FUNCTIONS}.functions.delete": functions.delete,
    f"{_FUNCTIONS}.operations.get": functions.operation,
    f"{_RUN}.create": services.create,
    f"{_RUN}.delete": services.delete,
    f"{_RUN}.get": services.get,
    f"{_RUN}.patch": services.patch,
    f"{_RUN}.revisions.list": services.revisions,
    f"{_RUN}.revisions.get": services.revision,
    f"{_RUN}.revisions.delete": services.delete_revision,
    f"{_RUN}.getIamPolicy": services.policy,
    f"{_RUN}.setIamPolicy": services.set_policy,
    f"{_JOBS}.create": jobs.create,
    f"{_JOBS}.get": jobs.get,
    f"{_JOBS}.patch": jobs.patch,
    f"{_JOBS}.delete": jobs.delete,
    f"{_JOBS}.list": jobs.listed,
    f"{_TRIGGERS}.create": event_triggers.create,
    f"{_TRIGGERS}.get": event_triggers.get,
    f"{_TRIGGERS}.patch": event_triggers.patch,
    f"{_TRIGGERS}.delete": event_triggers.delete,
    f"{_TRIGGERS}.list": event_triggers.listed,
    # Eventarc has the same path.
    "cloudscheduler.projects.locations.operations.get": functions.operation,
    "storage.buckets.get": event_triggers.bucket,
    "logging.entries.list": telemetry.entries,
    "monitoring.projects.timeSeries.list": telemetry.time_series,
    "cloudtrace.projects.traces.list": telemetry.traces,
}
_HOP = frozenset(("connection", "transfer-encoding", "content-length", "keep-alive", "date"))


@cache
def _documents() -> tuple[Discovery, ...]:
    return tuple(map(Discovery, functions_framework.discovery_documents()))


class Cloud2World(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.projects: dict[str, Cloud2Project] = {}
        self.guard = threading.RLock()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def project(self, ident: str, folder: Path) -> Cloud2Project:
        self.projects[ident] = Cloud2Project(ident, folder, self.endpoint)
        return self.projects[ident]

    def forget(self, ident: str) -> None:
        self.projects.pop(ident).stop()


@contextlib.contextmanager
def cloud2_world() -> Iterator[Cloud2World]:
    with Cloud2World() as world:
        thread = threading.Thread(target=world.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield world
        finally:
            world.shutdown()
            thread.join()
            for ident in list(world.projects):
                world.forget(ident)


def _project_in(names: dict[str, str]) -> str:
    """Older interfaces have another word for it."""
    return names.get("projectsId") or names.get("projectId", "")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body leave together: in two packets the second would wait for an acknowledgement.
    wbufsize = 1 << 16
    server: Cloud2World

    def handle_any(self) -> None:
        body = whole_body(self)
        if body is None:
            self.close_connection = True
            return
        path, _, query = self.path.partition("?")
        kind = path.split("/")[1]
        try:
            if kind == "met":
                self._send(*_parts(self._met(path, query, body)))
            elif kind == "upload":
                self._uploaded(path, body)
            elif kind == "token":
                self._token(path, body)
            else:
                self._interface(path, query, body)
        except RefusedRequestError as error:
            self._json(error.status, error.document)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = handle_any  # noqa: N815

    def _interface(self, path: str, query: str, body: bytes) -> None:
        """A call of an interface: looked at, counted, carried out, and perhaps not answered."""
        hit = next((one for one in _documents() if one.found(self.command, path)), None)
        found = hit.found(self.command, path) if hit else None
        if hit is None or found is None:
            raise RefusedRequestError(404, "NOT_FOUND", f"{self.command} {path}")
        named = _project_in(found[1]) or telemetry.project_in(body)
        project = self._known(named) if named else self._known_by_token()
        self._counted(project, path, lambda: self._carried_out(project, hit, found, (query, body)))

    def _counted(self, project: Cloud2Project, path: str, act: Callable[[], bytes]) -> None:
        status = 0
        try:
            fault = faults.planned(project, self.command, path)
            faults.begun(fault)
            content = act()
            faults.ended(fault, content)
            status = 200
            self._send(200, [("Content-Type", "application/json")], content)
        except RefusedRequestError as error:
            status = error.status
            raise
        except CutOffError as error:
            self._cut(error.content)
        finally:
            project.calls.append((self.command, path, status))

    def _known(self, ident: str) -> Cloud2Project:
        project = self.server.projects.get(ident)
        if project is None or self.headers.get("Authorization") != f"Bearer {project.token}":
            message = "Request had invalid authentication credentials."
            raise RefusedRequestError(401, "UNAUTHENTICATED", message)
        return project

    def _known_by_token(self) -> Cloud2Project:
        """Buckets are named without their project."""
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer tok-")
        return self._known(token)

    def _carried_out(
        self,
        project: Cloud2Project,
        hit: Discovery,
        found: tuple[Described, dict[str, str]],
        given: tuple[str, bytes],
    ) -> bytes:
        operation, names = found
        query, document = dict(parse_qsl(given[0])), _document(given[1])
        wrong = hit.problems(operation, query, document)
        if wrong:
            raise invalid("; ".join(wrong))
        if operation.id not in _ACTS:
            raise RefusedRequestError(501, "UNIMPLEMENTED", operation.id)
        with self.server.guard:
            return json.dumps(_ACTS[operation.id](project, names, query, document)).encode()

    def _cut(self, content: bytes) -> None:
        self.close_connection = True
        if content:
            self._send(200, [("Content-Type", "application/json")], content)

    def _uploaded(self, path: str, body: bytes) -> None:
        """To a signed address: its type is signed, too, and a token is one too many."""
        _, _, ident, name = path.split("/")
        project = self.server.projects[ident]
        kind = self.headers.get("Content-Type")
        if self.command != "PUT" or kind != "application/zip" or self.headers["Authorization"]:
            raise RefusedRequestError(403, "SignatureDoesNotMatch", "the signature does not match")

        def act() -> bytes:
            project.uploads[name] = body
            return b"{}"

        self._counted(project, path, act)

    def _token(self, path: str, body: bytes) -> None:
        """For an assertion of the account that the project knows; a token ends with its project."""
        project = self.server.projects[path.split("/")[2]]
        assertion = dict(parse_qsl(body.decode()))["assertion"].split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(assertion + "=="))
        project.calls.append((self.command, path, 200))
        if claims["iss"] != project.account or claims["aud"] != project.endpoint + path:
            raise RefusedRequestError(400, "invalid_grant", "Invalid JWT Signature.")
        given = {"access_token": project.token, "expires_in": 3599, "token_type": "Bearer"}
        self._json(200, {**given, "scope": claims["scope"]})

    def _met(self, path: str, query: str, body: bytes) -> Passed:
        """`/met/<project>/<function>/…`, as its users meet it at its own host."""
        _, _, ident, name, rest = (*path.split("/", 4), "")[:5]
        project = self.server.projects.get(ident)
        service = project.services.get(name) if project else None
        if project is None or service is None or service.met is None:
            return Passed(b"Page not found", (), 404)
        caller = (self.headers.get("Authorization") or "").removeprefix("Bearer oidc-")
        if not services.may_call(service, f"serviceAccount:{caller}"):
            return Passed(b"The request was not authenticated.", (), 403)
        held = faults.planned(project, self.command, path) if _has_met(project) else None
        if held is not None:
            return Passed(b"", (), held["status"])
        project.rest(service.met.instance)
        target = f"/{rest}" + (f"?{query}" if query else "")
        given = Passed(body, self.headers.items())
        with telemetry.noted(project, service) as call:
            call.answer = service.met.instance.ask(self.command, target, given)
        return call.answer

    def _json(self, status: int, document: Any) -> None:
        self._send(status, [("Content-Type", "application/json")], json.dumps(document).encode())

    def _send(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_words: object) -> None:
        """Calls are kept with the project."""


def _has_met(project: Cloud2Project) -> bool:
    """Faults of what users meet name it: others are those of the interfaces."""
    return any("/met/" in one.get("path", "") for one in project.faults)


def _parts(answer: Passed) -> tuple[int, list[tuple[str, str]], bytes]:
    kept = [(name, value) for name, value in answer.headers if name.lower() not in _HOP]
    return answer.status, kept, answer.content


def _document(body: bytes) -> Any:
    try:
        return json.loads(body) if body else None
    except ValueError:
        raise invalid("Invalid JSON payload received.") from None
