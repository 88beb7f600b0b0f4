"""The front: the interface below its version, and addresses of functions below /met."""

import base64
import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

from tests.support.servers.cloud4 import functions, versions
from tests.support.servers.cloud4.account import Account, CutError, RefusedError, Row, invalid
from tests.support.servers.cloud4.described import Asked, description
from tests.support.servers.cloud4.met import UserRequest, answered, found
from tests.support.servers.cloud4.running import Instances
from tests.support.servers.cloud4.signatures import key_in, require_signed
from tests.support.servers.http_bodies import whole_body

_ACTS: dict[str, Callable[..., Row | None]] = {
    "CreateFunction": functions.create,
    "UpdateFunction": functions.update,
    "GetFunction": functions.get,
    "ListFunctions": functions.listed,
    "DeleteFunction": functions.delete,
    "PutConcurrencyConfig": functions.put_concurrency,
    "GetConcurrencyConfig": functions.get_concurrency,
    "DeleteConcurrencyConfig": functions.delete_concurrency,
    "TagResources": functions.tag,
    "UntagResources": functions.untag,
    "PublishFunctionVersion": versions.publish,
    "ListFunctionVersions": versions.versions,
    "DeleteFunctionVersion": versions.delete_version,
    "CreateAlias": versions.create_alias,
    "UpdateAlias": versions.update_alias,
    "GetAlias": versions.get_alias,
    "ListAliases": versions.aliases,
    "DeleteAlias": versions.delete_alias,
    "CreateTrigger": versions.create_trigger,
    "UpdateTrigger": versions.update_trigger,
    "GetTrigger": versions.get_trigger,
    "ListTriggers": versions.triggers,
    "DeleteTrigger": versions.delete_trigger,
}
_JSON = [("Content-Type", "application/json")]
_MET = "/met/"
_LOG_BYTES = 4096


class Cloud4Front(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.accounts: dict[str, Account] = {}
        self.instances = Instances()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextlib.contextmanager
def cloud4_front() -> Iterator[Cloud4Front]:
    front = Cloud4Front()
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
    server: Cloud4Front

    def handle_any(self) -> None:
        body = whole_body(self)
        if body is None:
            self.close_connection = True
        elif self.path.startswith(_MET):
            self._met(body)
        else:
            self._interface(body)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = handle_any  # noqa: N815

    def _interface(self, body: bytes) -> None:
        """A call: looked at, counted, carried out, and perhaps not answered."""
        headers = {name.lower(): text for name, text in self.headers.items()}
        path = self.path.partition("?")[0]
        account = self.server.accounts.get(key_in(headers))
        row = [self.command, path, 0]
        if account is not None:
            account.calls.append(row)
        try:
            status, more, content, is_half = self._carried_out(account, headers, body)
            row[2] = 0 if is_half else status
            self._send(status, more, content[: len(content) // 2] if is_half else content)
        except RefusedError as error:
            row[2] = error.status
            headed = [*_JSON, *error.headers.items()]
            self._send(error.status, headed, json.dumps(error.document).encode())
        except CutError:
            self.close_connection = True

    def _carried_out(
        self, account: Account | None, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes, bool]:
        if account is None:
            raise RefusedError(403, "InvalidAccessKeyId", "the access key is not known")
        path, _, query = self.path.partition("?")
        with account.guard:
            require_signed(account, self.command, self.path, headers, body)
            fault = account.planned(self.command, path)
            if fault and not fault.get("after") and not fault.get("half"):
                _cut(fault)
        asked = self._known(path, headers)
        told = dict(parse_qsl(query, keep_blank_values=True))
        wrong = description().problems(asked, told, headers, body)
        if wrong:
            raise invalid("; ".join(wrong))
        _note(account, asked, told, headers, body)
        if asked.operation == "InvokeFunction":
            status, more, content = self._invoked(account, asked, told, (headers, body))
        else:
            status, more, content = _acted(account, asked, told, body)
        if fault and fault.get("after"):
            _cut(fault)
        return status, more, content, bool(fault and fault.get("half"))

    def _known(self, path: str, headers: Mapping[str, str]) -> Asked:
        asked = description().find(self.command, path)
        if asked is None or asked.operation not in {*_ACTS, "InvokeFunction"}:
            raise RefusedError(404, "PathNotSupported", f"{self.command} {path}")
        if headers["x-acs-action"] != asked.operation:
            raise invalid(f"x-acs-action is {headers['x-acs-action']}, not {asked.operation}")
        return asked

    def _invoked(
        self,
        account: Account,
        asked: Asked,
        query: Mapping[str, str],
        given: tuple[Mapping[str, str], bytes],
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        headers, body = given
        held = account.function(asked.names["functionName"])
        ended = self.server.instances.call(account, held, query.get("qualifier", ""), body)
        more = [("Content-Type", "application/octet-stream")]
        if headers.get("x-fc-log-type") == "Tail":
            log = "".join(f"{line}\n" for line in ended.lines).encode()[-_LOG_BYTES:]
            more.append(("X-Fc-Log-Result", base64.b64encode(log).decode()))
        if ended.thrown is None:
            return 200, more, ended.content
        more.append(("X-Fc-Error-Type", "UnhandledInvocationError"))
        return 200, more, json.dumps(ended.thrown).encode()

    def _met(self, body: bytes) -> None:
        target, _, query = self.path.removeprefix(_MET).partition("?")
        ident, _, rest = target.partition("/")
        request = UserRequest(self.command, f"/{rest}", query, self.headers.items(), body)
        accounts = list(self.server.accounts.values())
        account = next((one for one in accounts if found(one, ident)), None)
        answer = answered(self.server.instances, account, ident, request)
        self._send(answer.status, answer.headers, answer.content)

    def _send(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD" and status not in (204, 304):
            self.wfile.write(content)

    def log_message(self, *_words: Any) -> None:
        """Calls are kept with the account."""


def _note(
    account: Account,
    asked: Asked,
    query: Mapping[str, str],
    headers: Mapping[str, str],
    body: bytes,
) -> None:
    """As it came: a body that is no JSON as its text."""
    is_json = headers.get("content-type", "").startswith("application/json")
    account.requests.append(
        {
            "operation": asked.operation,
            "query": dict(query),
            "kind": headers.get("content-type"),
            "signed": sorted(one for one in headers if one.startswith(("x-acs-", "x-fc-"))),
            "body": json.loads(body) if is_json and body else body.decode(),
        }
    )


def _acted(
    account: Account, asked: Asked, query: Mapping[str, str], body: bytes
) -> tuple[int, list[tuple[str, str]], bytes]:
    document = json.loads(body) if body else None
    with account.guard:
        answer = _ACTS[asked.operation](account, asked.names, query, document)
    if answer is None:
        return 204, [], b""
    return 200, _JSON, json.dumps(answer).encode()


def _cut(fault: Row) -> None:
    if "status" in fault:
        code, words = fault.get("code", "InternalServerError"), fault.get("message", "planned")
        raise RefusedError(fault["status"], code, words, fault.get("headers"))
    raise CutError
