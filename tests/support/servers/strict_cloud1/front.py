"""What every request meets first: whose it is, which operation, and what a test planned for it."""

import io
import re
import socket
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from moto.core.model import OperationModel
from moto.core.request import Request
from msgspec import Struct

from tests.support.servers.strict_cloud1.accounts import Account, Region
from tests.support.servers.strict_cloud1.cloud import OWN_SERVICES, Cloud
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.described import Described, answer
from tests.support.servers.strict_cloud1.faults import Fault
from tests.support.servers.strict_cloud1.gateway_access import Answer, message
from tests.support.servers.strict_cloud1.gateway_requests import answered
from tests.support.servers.strict_cloud1.invocations import ROLE_TOKEN
from tests.support.servers.strict_cloud1.moto_checks import Asked
from tests.support.servers.strict_cloud1.moto_services import MotoServices
from tests.support.servers.strict_cloud1.refusals import RefusalError, error_answer
from tests.support.servers.strict_cloud1.rest_requests import rest_answered
from tests.support.servers.strict_cloud1.role_access import check_call
from tests.support.servers.strict_cloud1.side_channel import SideChannel

Environ = dict[str, Any]
_CREDENTIAL = re.compile(r"Credential=([^/,]+)/\d+/([^/]+)/([^/]+)/aws4_request")
_API = re.compile(r"/_api/(\w+)(/.*)?")
_BODY = "strict_cloud1.body"
_CHECKED_HERE = frozenset({"json", "rest-json"})


class Signed(Struct, frozen=True):
    key: str
    region: str
    service: str


class Front:
    def __init__(self, cloud: Cloud, moto: MotoServices) -> None:
        self._cloud = cloud
        self._moto = moto
        self._side = SideChannel(cloud)

    def __call__(self, environ: Environ, start: Callable[..., Any]) -> Iterable[bytes]:
        body = _whole_body(environ)
        environ |= {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body)), _BODY: body}
        environ.pop("HTTP_TRANSFER_ENCODING", None)
        made = self._answered(environ, Request(environ))
        if made is None:
            return []
        length = [] if made.status in {204, 304} else [("Content-Length", str(len(made.body)))]
        start(f"{made.status} Answered", [*made.headers, *length])
        return [made.body]

    def _answered(self, environ: Environ, request: Request) -> Answer | None:
        path = request.path
        if path.startswith("/_server/"):
            return self._side.answered(request)
        api = _API.fullmatch(path)
        if api:
            return self._at_endpoint(api[1], api[2] or "/", request)
        mapped = self._cloud.accounts.mapped(request.host.partition(":")[0], path)
        if mapped:
            row, rest = mapped
            return self._at_domain(row, rest, request)
        return self._service(environ, request)

    def _at_endpoint(self, ident: str, path: str, request: Request) -> Answer:
        """At the API's own address, where the first part of a path is the stage of a REST API."""
        rest = self._cloud.accounts.rest_api(ident)
        if rest:
            stage, _, below = path[1:].partition("/")
            staged = rest[1].staged(stage)
            if staged and staged[1].document.said["disabled"]:
                return message(403, "Forbidden")
            return rest_answered(rest, request, (stage, f"/{below}"), self._cloud.asker)
        found = self._cloud.accounts.gateway(ident)
        if found is None or found[1].shown.get("DisableExecuteApiEndpoint"):
            return message(404, "Not Found")
        return answered(found, request, path, self._cloud.asker)

    def _at_domain(self, mapping: Fields, path: str, request: Request) -> Answer:
        accounts, ident = self._cloud.accounts, mapping["ApiId"]
        rest, found = accounts.rest_api(ident), accounts.gateway(ident)
        if rest:
            return rest_answered(rest, request, (mapping["Stage"], path), self._cloud.asker)
        if found:
            return answered(found, request, path, self._cloud.asker)
        return message(403, "Forbidden")

    def _service(self, environ: Environ, request: Request) -> Answer | None:
        signed = _signed(request)
        if signed is None:
            return _refused("json", _UNSIGNED)
        described = _described(_name_service(signed.service, request.path))
        account = self._cloud.accounts.of(signed.key)
        try:
            operation, labels = described.operation(request)
        except RefusalError as refusal:
            return _refused(described.protocol, refusal)
        call = ServiceCall(environ, request, signed, account, described, operation, labels)
        token = request.headers.get("X-Amz-Security-Token", "")
        if token.startswith(ROLE_TOKEN):
            return self._of_a_role(call, token.removeprefix(ROLE_TOKEN))
        return self._faulty(call)

    def _of_a_role(self, call: "ServiceCall", role: str) -> Answer:
        """A call of a function's code, which its role must allow."""
        region = call.account.region(call.signed.region, self._cloud.server)
        try:
            given = call.described.parameters(call.operation, call.labels, call.request)
            check_call(region, role, call.name, {**call.labels, **given})
        except RefusalError as refusal:
            return _refused(call.protocol, refusal)
        return self._carried_out(call)

    def _faulty(self, call: "ServiceCall") -> Answer | None:
        name, faults = call.name, call.account.faults
        with self._cloud.turn:
            fault = faults.take(name)
            is_too_much = faults.is_too_much(name)
        if is_too_much:
            made: Answer | None = _refused(call.protocol, _TOO_MUCH)
        elif fault:
            made = self._planned(call, fault)
        else:
            made = self._carried_out(call)
        if made:
            call.account.calls.append((name, made.status))
        return made

    def _planned(self, call: "ServiceCall", fault: Fault) -> Answer | None:
        made = self._carried_out(call) if fault.carries_out else None
        status, code = fault.status_and_code(call.described.name, call.protocol)
        if status and not (fault.half and made):
            return _refused(call.protocol, RefusalError(status, code, fault.message))
        # Counted before the connection ends: the client goes on as soon as it does.
        call.account.calls.append((call.name, 0))
        if fault.half and made:
            _send_half(call.environ, made)
        else:
            _hang_up(call.environ)
        return None

    def _carried_out(self, call: "ServiceCall") -> Answer:
        asked: Fields = {}
        service = call.described.name
        try:
            if call.protocol in _CHECKED_HERE or service in OWN_SERVICES:
                asked = call.described.parameters(call.operation, call.labels, call.request)
            region = call.account.region(call.signed.region, self._cloud.server)
            if service in OWN_SERVICES:
                return self._performed(call, region, asked)
            headers = dict(call.request.headers)
            given = Asked(call.request.path, asked, call.environ[_BODY], headers)
            return self._moto.answer(call.name, call.environ, region, given)
        except RefusalError as refusal:
            return _refused(call.protocol, refusal)

    def _performed(self, call: "ServiceCall", region: Region, asked: Fields) -> Answer:
        service = call.described.name
        result = self._cloud.perform(service, call.operation.name, region, asked)
        if call.operation.name.endswith("EventSourceMapping"):
            self._moto.wake()
        status, headers, body = answer(call.operation, result)
        return Answer(status, tuple(headers.items()), body)


class ServiceCall(Struct, frozen=True):
    environ: Environ
    request: Request
    signed: Signed
    account: Account
    described: Described
    operation: OperationModel
    labels: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.described.name}.{self.operation.name}"

    @property
    def protocol(self) -> str:
        return self.described.protocol


_UNSIGNED = RefusalError(403, "MissingAuthenticationTokenException", "Missing Authentication Token")
_TOO_MUCH = RefusalError(429, "TooManyRequestsException", "Rate exceeded")


def _name_service(signed: str, path: str) -> str:
    """Both APIs of API Gateway are signed with one name."""
    is_first = signed == "apigateway" and not path.startswith("/v2/")
    return "apigateway-v1" if is_first else signed


@cache
def _described(service: str) -> Described:
    return Described(service)


def _signed(request: Request) -> Signed | None:
    found = _CREDENTIAL.search(request.headers.get("Authorization", ""))
    return Signed(*found.groups()) if found else None


def _refused(protocol: str, refusal: RefusalError) -> Answer:
    status, headers, body = error_answer(protocol, refusal)
    return Answer(status, tuple(headers.items()), body)


def _whole_body(environ: Environ) -> bytes:
    """Also of a body that comes in chunks, which the server has put together."""
    if environ.get("wsgi.input_terminated"):
        return bytes(environ["wsgi.input"].read())
    return bytes(environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)))


def _hang_up(environ: Environ) -> None:
    """Closes the connection under the server, which answers nothing more."""
    connection: socket.socket = environ["werkzeug.socket"]
    connection.shutdown(socket.SHUT_RDWR)


def _send_half(environ: Environ, made: Answer) -> None:
    head = f"HTTP/1.1 {made.status} Answered\r\nContent-Length: {len(made.body)}\r\n"
    lines = "".join(f"{name}: {value}\r\n" for name, value in made.headers)
    connection: socket.socket = environ["werkzeug.socket"]
    connection.sendall(f"{head}{lines}\r\n".encode() + made.body[: len(made.body) // 2])
    connection.shutdown(socket.SHUT_RDWR)
