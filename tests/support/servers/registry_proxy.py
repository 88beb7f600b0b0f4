"""A front of a registry: it counts calls, asks for tokens, and fails as a test plans."""

import base64
import contextlib
import http.client
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

_HEADERS = ("accept", "content-type", "content-range", "range")
_HOP = frozenset(("transfer-encoding", "connection", "content-length", "date", "server"))


@dataclass
class Fault:
    """What becomes of the next `times` calls: a status, a cut body, or a redirect."""

    method: str
    path: str
    times: int = 1
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    # The connection ends after so much of the request is read.
    cuts: bool = False

    def fits(self, method: str, path: str) -> bool:
        return self.times > 0 and method == self.method and re.search(self.path, path) is not None


@dataclass
class RegistryProxy:
    """`calls` are method and path with their `Authorization`."""

    name: str = ""
    calls: list[tuple[str, str, str]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    # User and password for tokens; without them anybody may call.
    login: tuple[str, str] | None = None
    tokens: list[str] = field(default_factory=list)

    def count(self, method: str, path: str) -> int:
        return sum(one == method and bool(re.search(path, at)) for one, at, _ in self.calls)

    def planned(self, method: str, path: str) -> Fault | None:
        found = next((one for one in self.faults if one.fits(method, path)), None)
        if found:
            found.times -= 1
        return found


@contextlib.contextmanager
def registry_proxy(target: str) -> Iterator[RegistryProxy]:
    proxy = RegistryProxy()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(proxy, target))
    server.daemon_threads = True
    proxy.name = f"127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(  # noqa: C901 - one class
    proxy: RegistryProxy, target: str
) -> type[BaseHTTPRequestHandler]:
    class Passing(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass(self) -> None:
            given = self.headers.get("Authorization", "")
            proxy.calls.append((self.command, self.path, given))
            fault = proxy.planned(self.command, self.path)
            if fault and fault.cuts:
                self.rfile.read(1)
                self.close_connection = True
                return
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if fault and fault.status:
                self._answer(fault.status, fault.headers, fault.body)
            elif self.path.startswith("/token"):
                self._token(given)
            elif proxy.login and given.removeprefix("Bearer ") not in proxy.tokens:
                self._challenge()
            else:
                self._forward(body)

        def _forward(self, body: bytes) -> None:
            connection = http.client.HTTPConnection(target)
            kept = {name: text for name in _HEADERS if (text := self.headers.get(name))}
            kept["Host"] = proxy.name
            connection.request(self.command, self.path, body or None, kept)
            answer = connection.getresponse()
            content = answer.read()
            headers = {k: v for k, v in answer.getheaders() if k.lower() not in _HOP}
            self._answer(answer.status, headers, content)
            connection.close()

        def _challenge(self) -> None:
            scope = f"repository:{self.path.split('/')[2]}:pull,push"
            words = f'Bearer realm="http://{proxy.name}/token",service="tests",scope="{scope}"'
            self._answer(401, {"WWW-Authenticate": words}, b"{}")

        def _token(self, given: str) -> None:
            user, password = proxy.login or ("", "")
            wanted = base64.b64encode(f"{user}:{password}".encode()).decode()
            if given != f"Basic {wanted}":
                self._answer(401, {}, b"{}")
                return
            [scope] = parse_qs(urlsplit(self.path).query)["scope"]
            token = f"token-{len(proxy.tokens)}-{scope}"
            proxy.tokens.append(token)
            self._answer(200, {}, json.dumps({"token": token}).encode())

        def _answer(self, status: int, headers: dict[str, str], content: bytes) -> None:
            self.send_response(status)
            for name, text in headers.items():
                self.send_header(name, text)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _pass  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    return Passing
