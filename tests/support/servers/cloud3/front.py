"""The front: Azure Resource Manager below /arm, Entra below /login, storage accounts below /store,
publishing hosts and apps below /at/<host>."""

import contextlib
import http.client
import json
import re
import threading
import uuid
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

from tests.support.servers.cloud3 import blobs
from tests.support.servers.cloud3.described import Description
from tests.support.servers.cloud3.groups import Deployment, Group, Site, Storage
from tests.support.servers.cloud3.operations import (
    OTHERS,
    WEB,
    Answer,
    ArmError,
    Call,
    new_operation,
)
from tests.support.servers.cloud3.packages import find_package_problem
from tests.support.servers.cloud3.running import Host, Hosts
from tests.support.servers.http_bodies import whole_body
from tests.support.servers.planned_faults import CutError, RefusedError, cut

_ARM = "https://management.azure.com/.default"
# Calls with POST that change nothing.
_READING = re.compile(r"/(listKeys|listkeys|list|token)$")
_HOP = frozenset(("connection", "keep-alive", "transfer-encoding", "content-length"))


class Cloud3Front(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.groups: list[Group] = []
        self.description = Description()
        self.hosts = Hosts()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def site_of(self, host: str) -> tuple[Group, Site]:
        for group in list(self.groups):
            for site in list(group.sites.values()):
                if host in (site.host, site.scm):
                    return group, site
        raise RefusedError(404, "no such host")

    def host_of(self, site: Site) -> Host:
        properties = site.document["properties"]
        if site.is_flex:
            runtime = properties["functionAppConfig"]["runtime"]["name"]
        else:
            runtime = properties["siteConfig"]["linuxFxVersion"].partition("|")[0].lower()
            assert site.settings["FUNCTIONS_WORKER_RUNTIME"] == runtime
            assert site.settings["FUNCTIONS_EXTENSION_VERSION"] == "~4"
        return self.hosts.find(site.package, runtime, site.settings)


@contextlib.contextmanager
def cloud3_front() -> Iterator[Cloud3Front]:
    front = Cloud3Front()
    thread = threading.Thread(target=front.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield front
    finally:
        front.shutdown()
        thread.join()
        front.server_close()
        front.hosts.end()


class _Reply:
    def __init__(
        self, status: int, content: bytes = b"", headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self.status = status
        self.content = content
        self.headers = headers


def _json(status: int, document: Any, **headers: str) -> _Reply:
    named = tuple((name.replace("_", "-"), text) for name, text in headers.items())
    content = b"" if document is None else json.dumps(document).encode()
    return _Reply(status, content, (("content-type", "application/json"), *named))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body leave together: in two packets the second would wait for an acknowledgement.
    wbufsize = 1 << 16
    server: Cloud3Front

    def _any(self) -> None:
        body = whole_body(self)
        if body is None:
            self.close_connection = True
            return
        kind, _, rest = urlsplit(self.path).path.lstrip("/").partition("/")
        if kind == "at" and self._is_user(rest):
            self._met(rest, body)
            return
        path = f"/{rest}"
        try:
            group = self._group(kind, path)
        except RefusedError as error:
            self._send(_Reply(error.status, b"<html>404 Web Site not found</html>"))
            return
        self._called(group, kind, path, body)

    def _is_user(self, rest: str) -> bool:
        """Whether somebody calls a function: not its host, and not the publishing host."""
        host, _, path = rest.partition("/")
        return ".scm." not in host and not path.startswith("admin/")

    def _group(self, kind: str, path: str) -> Group:
        first, _, rest = path.lstrip("/").partition("/")
        for group in list(self.server.groups):
            if kind == "login" and group.tenant == first:
                return group
            if kind == "arm" and f"/{group.subscription}/" in f"{path}/".lower():
                return group
            if kind == "store" and rest.partition("/")[0] in group.storages:
                return group
        if kind == "at":
            return self.server.site_of(first)[0]
        raise RefusedError(404, "not found")

    def _called(self, group: Group, kind: str, path: str, body: bytes) -> None:
        method = "GET" if self.command == "POST" and _READING.search(path) else self.command
        row: list[Any] = [method, f"/{kind}{path}", 0]
        group.calls.append(row)
        try:
            reply, is_half = self._carried_out(group, row, kind, body)
            row[2] = 0 if is_half else reply.status
            if is_half:
                reply.content = reply.content[: len(reply.content) // 2]
            self._send(reply)
        except RefusedError as error:
            row[2] = error.status
            self._refused(kind, error)
        except CutError:
            self.close_connection = True

    def _carried_out(
        self, group: Group, row: list[Any], kind: str, body: bytes
    ) -> tuple["_Reply", bool]:
        method, path = row[:2]
        with group.guard:
            fault = group.planned(method, path)
            if fault and not fault.get("after") and not fault.get("half"):
                cut(fault)
            reply: _Reply = getattr(self, f"_{kind}")(group, path.removeprefix(f"/{kind}"), body)
            if fault and fault.get("after"):
                cut(fault)
        return reply, bool(fault and fault.get("half"))

    def _refused(self, kind: str, error: RefusedError) -> None:
        headers = {"x-ms-request-id": "01TEST", **error.headers}
        if kind == "store":
            self._send(_Reply(error.status, blobs.error_text(error), tuple(headers.items())))
            return
        told = {"code": getattr(error, "code", "Planned"), "message": str(error)}
        self._send(_json(error.status, {"error": told}, **headers))

    def _query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))

    def _login(self, group: Group, path: str, body: bytes) -> _Reply:
        form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        known = (form.get("client_id"), form.get("client_secret")) == (group.client, group.secret)
        is_file = form.get("client_assertion") == f"assertion-{group.client}"
        if not path.endswith("/oauth2/v2.0/token") or form["grant_type"] != "client_credentials":
            return _json(400, {"error": "invalid_request"})
        if not (known or is_file):
            words = f"AADSTS7000215: Invalid client secret provided for '{group.client}'."
            told = {"error": "invalid_client", "error_description": words}
            return _json(401, {**told, "error_codes": [7000215]})
        token = uuid.uuid4().hex
        group.tokens[token] = form["scope"]
        return _json(200, {"token_type": "Bearer", "expires_in": 3599, "access_token": token})

    def _check_token(self, group: Group, audience: str = _ARM) -> None:
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        if group.tokens.get(token) != audience:
            words = "The access token is invalid or for another audience."
            raise ArmError(401, "InvalidAuthenticationToken", words)

    def _arm(self, group: Group, path: str, body: bytes) -> _Reply:
        self._check_token(group)
        query = self._query()
        if "api-version" not in query:
            raise ArmError(400, "MissingApiVersionParameter", "api-version is required")
        operation = re.search(r"/operations/(\w+)$", path)
        if operation:
            return self._operation(group, operation[1])
        document = _document(body)
        names, act = self._find(group, path, query, document)
        if names.get("group", group.name).lower() != group.name.lower():
            words = f"Resource group '{names['group']}' could not be found."
            raise ArmError(404, "ResourceGroupNotFound", words)
        others = [one for one in self.server.groups if one is not group]
        answer: Answer = act(Call(group, others, names, query, document))
        headers = dict(answer.headers)
        if isinstance(answer.document, dict) and "next" in answer.document:
            at = answer.document.pop("next")
            url = f"{self.server.endpoint}/arm{path}?api-version={query['api-version']}"
            answer.document["nextLink"] = f"{url}&$skiptoken={at}" if at else None
        status = answer.status
        if answer.is_long and self.command in ("PUT", "PATCH"):
            status = 202
            ident = new_operation(group)
            there = f"/subscriptions/{group.subscription}/providers/test/operations/{ident}"
            url = f"{self.server.endpoint}/arm{there}?api-version=own"
            headers |= {"azure-asyncoperation": url, "retry-after": "0"}
        return _json(status, answer.document if status != 204 else None, **headers)

    def _find(
        self, group: Group, path: str, query: Mapping[str, str], document: Any
    ) -> tuple[Mapping[str, str], Any]:
        for method, pattern, version, act in OTHERS:
            found = pattern.fullmatch(path)
            if method == self.command and found:
                if query["api-version"] != version:
                    raise ArmError(400, "InvalidApiVersionParameter", query["api-version"])
                self._note(group, act.__name__, document)
                return found.groupdict(), act
        asked = self.server.description.find(self.command, path)
        if asked is None:
            raise ArmError(404, "ResourceNotFound", "no such operation")
        if query["api-version"] != self.server.description.version:
            raise ArmError(400, "InvalidApiVersionParameter", query["api-version"])
        if asked.operation not in WEB:
            raise ArmError(501, "NotImplemented", f"{asked.operation} is not in this server")
        self._note(group, asked.operation.removeprefix("web_apps."), document)
        wrong = list(self.server.description.problems(asked, document))
        if wrong:
            raise ArmError(400, "BadRequest", "; ".join(wrong))
        return asked.names, WEB[asked.operation]

    def _note(self, group: Group, operation: str, document: Any) -> None:
        group.requests.append({"operation": operation, "body": document})

    def _operation(self, group: Group, ident: str) -> _Reply:
        self._note(group, "operation", None)
        left = group.operations.get(ident)
        if left is None:
            raise ArmError(404, "ResourceNotFound", "no such operation")
        group.operations[ident] = left - 1
        if left > 0:
            return _json(200, {"status": "InProgress"}, retry_after="0")
        return _json(200, {"status": "Succeeded"})

    def _store(self, group: Group, path: str, body: bytes) -> _Reply:
        service, account, rest = [*path.lstrip("/").split("/", 2), ""][:3]
        storage: Storage = group.storages[account]
        headers = {name.lower(): text for name, text in self.headers.items()}
        call = blobs.StorageCall(
            self.command, urlsplit(self.path).path, self._query(), headers, body
        )
        kind = "container" if "restype" in call.query and self.command != "GET" else "blob"
        kind = "list" if "comp" in call.query else kind
        self._note(group, f"{self.command} {service} {kind}", None)
        found = blobs.answer(call, storage, rest, service)
        return _Reply(found.status, found.content, found.headers)

    def _at(self, group: Group, path: str, body: bytes) -> _Reply:
        host, _, rest = path.lstrip("/").partition("/")
        _, site = self.server.site_of(host)
        if host == site.scm:
            self._check_token(group)
            if rest == "api/publish" and self.command == "POST":
                return self._publish(group, site, body)
            if rest.startswith("api/deployments/"):
                return self._deployment(group, site, rest.rpartition("/")[2])
        elif rest == "admin/host/status":
            self._note(group, "host status", None)
            if self.headers.get("Authorization"):
                raise RefusedError(400, "a token of Azure Resource Manager was sent to an app")
            if self.headers.get("x-functions-key") != site.master_key:
                return _json(401, None)
            host_process = self.server.host_of(site)
            if host_process.process.poll() is not None:
                return _json(200, {"state": "Error", "errors": [host_process.log[-300:]]})
            return _json(200, {"id": site.name, "state": "Running"})
        return _json(404, None)

    def _publish(self, group: Group, site: Site, body: bytes) -> _Reply:
        self._note(group, "publish", None)
        if not site.is_flex:
            return _json(404, None)
        if self.headers.get("Content-Type") != "application/zip":
            return _json(415, None)
        if self._query() != {"RemoteBuild": "false", "Deployer": "fabric"}:
            return _json(400, None)
        if site.running:
            return _json(409, {"error": {"code": "Conflict", "message": "a deployment runs"}})
        ident = str(uuid.uuid4())
        made = Deployment(ident, body, group.looks, group.unseen)
        site.deployments[ident] = made
        return _json(202, ident)

    def _advance(self, group: Group, site: Site, found: Deployment) -> None:
        """A deployment goes on whenever somebody looks."""
        found.looks -= 1
        if found.status == 2 and found.looks <= 0:
            found.text = group.failure or find_package_problem(found.package)
            found.status = 3 if found.text else 4
            if not found.text:
                site.package = found.package

    def _deployment(self, group: Group, site: Site, ident: str) -> _Reply:
        self._note(group, "deployment", None)
        newest = next(reversed(site.deployments), "")
        found = site.deployments.get(newest if ident == "latest" else ident)
        if found is None or found.unseen > 0:
            if found:
                found.unseen -= 1
            return _json(404, None)
        self._advance(group, site, found)
        told = {"id": ident, "status": found.status, "status_text": found.text, "complete": True}
        return _json(200 if found.status != 2 else 202, told)

    def _met(self, path: str, body: bytes) -> None:
        name, _, rest = path.partition("/")
        try:
            _, site = self.server.site_of(name)
        except RefusedError:
            self._send(_Reply(404, b"<html>404 Web Site not found</html>"))
            return
        if not site.package:
            self._send(_Reply(404, b"Your Azure Function App is up and running."))
            return
        host = self.server.host_of(site)
        connection = http.client.HTTPConnection("127.0.0.1", host.port, timeout=20)
        query = urlsplit(self.path).query
        target = f"/{rest}?{query}" if query else f"/{rest}"
        try:
            connection.putrequest(self.command, target, skip_accept_encoding=True)
            for key, value in self.headers.items():
                if key.lower() not in _HOP:
                    connection.putheader(key, value)
            connection.putheader("X-Forwarded-For", self.client_address[0])
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            kept = [one for one in answer.getheaders() if one[0].lower() not in _HOP]
            self._send(_Reply(answer.status, answer.read(), tuple(kept)))
        finally:
            connection.close()

    def _send(self, reply: _Reply) -> None:
        has_body = reply.status not in (204, 304) and self.command != "HEAD"
        self.send_response_only(reply.status)
        for name, value in reply.headers:
            self.send_header(name, value)
        if has_body:
            self.send_header("Content-Length", str(len(reply.content)))
        self.end_headers()
        if has_body:
            self.wfile.write(reply.content)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = _any  # noqa: N815

    def log_message(self, *_words: Any) -> None:
        """Nobody reads it."""


def _document(body: bytes) -> Any:
    if not body:
        return None
    try:
        return json.loads(body)
    except ValueError:
        raise ArmError(400, "InvalidRequestContent", "the body is not JSON") from None
