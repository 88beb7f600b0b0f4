"""Call a web application without a server: WSGI, ASGI, or a class of http.server."""

import asyncio
import inspect
import io
import sys
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.server import BaseHTTPRequestHandler
from urllib.parse import unquote, unquote_to_bytes

from fabric.runtimes.python.calling.http_events import SentRequest, answer_of
from fabric.runtimes.python.calling.json_values import Document

Received = MutableMapping[str, object]
AsgiApp = Callable[
    [Document, Callable[[], Awaitable[Document]], Callable[[Document], Awaitable[None]]],
    Awaitable[None],
]
WsgiApp = Callable[[dict[str, object], Callable[..., Callable[[bytes], object]]], Iterable[bytes]]
_ASGI_PARAMETERS = 3


def is_server_class(found: object) -> bool:
    return isinstance(found, type) and issubclass(found, BaseHTTPRequestHandler)


def is_asgi(found: object) -> bool:
    """Return whether an application is ASGI: a coroutine function, or three parameters."""
    own = _find_called_function(found)
    if inspect.iscoroutinefunction(own):
        return True
    try:
        parameters = inspect.signature(own).parameters.values()
    except (TypeError, ValueError):
        return False
    return sum(one.default is one.empty for one in parameters) == _ASGI_PARAMETERS


def _find_called_function(found: object) -> Callable[..., object]:
    """Return the function that runs when the object is called."""
    own: object = found if inspect.isroutine(found) else getattr(found, "__call__", None)  # noqa: B004
    if not callable(own):
        raise TypeError(f"{found!r:.80} cannot be called")
    return own


def by_wsgi(app: WsgiApp, request: SentRequest) -> Document:
    started: list[tuple[str, list[tuple[str, str]]]] = []
    written: list[bytes] = []

    def start(
        status: str,
        headers: list[tuple[str, str]],
        error: object = None,  # noqa: ARG001 - PEP 3333
    ) -> Callable[[bytes], object]:
        started.append((status, headers))
        return written.append

    parts = app(_build_environ(request), start)
    try:
        written.extend(parts)
    finally:
        close = getattr(parts, "close", None)
        if callable(close):
            close()
    if not started:
        raise RuntimeError("the application returned a body without a status")
    status, headers = started[-1]
    return answer_of(int(status.split()[0]), headers, b"".join(written))


def _build_environ(request: SentRequest) -> dict[str, object]:
    host, _, port = request.host.partition(":")
    headers = {
        f"HTTP_{name.upper().replace('-', '_')}": value
        for name, value in request.headers.items()
        if name not in ("content-type", "content-length")
    }
    return {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(request.path).decode("latin-1"),
        "QUERY_STRING": request.query,
        "CONTENT_TYPE": request.headers.get("content-type", ""),
        "CONTENT_LENGTH": str(len(request.body)),
        "SERVER_NAME": host,
        "SERVER_PORT": port or "443",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": request.ip,
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "https",
        "wsgi.input": io.BytesIO(request.body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": False,
        "wsgi.multiprocess": False,
        "wsgi.run_once": True,
        **headers,
    }


def by_asgi(app: AsgiApp, request: SentRequest) -> Document:
    return asyncio.run(_run_with_lifespan(app, request))


async def _run_with_lifespan(app: AsgiApp, request: SentRequest) -> Document:
    """Handle one request between startup and shutdown of the application."""
    asked: asyncio.Queue[Document] = asyncio.Queue()
    told: asyncio.Queue[object] = asyncio.Queue()

    async def send(message: Document) -> None:
        await told.put(message["type"])

    scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": {}}

    async def live() -> object:
        await app(scope, asked.get, send)
        return None

    life = asyncio.ensure_future(live())
    await asked.put({"type": "lifespan.startup"})
    if await _wait_for_lifespan(life, told) == "lifespan.startup.failed":
        raise RuntimeError("the application failed to start")
    answer = await _send_request(app, request, scope["state"])
    await asked.put({"type": "lifespan.shutdown"})
    await _wait_for_lifespan(life, told)
    life.cancel()
    return answer


async def _wait_for_lifespan(
    life: "asyncio.Future[object]", told: "asyncio.Queue[object]"
) -> object:
    """Wait for a lifespan message; an application without lifespan support ends or raises."""
    word = asyncio.ensure_future(told.get())
    await asyncio.wait({life, word}, return_when=asyncio.FIRST_COMPLETED)
    if life.done() and not life.cancelled():
        life.exception()
    if word.done():
        return word.result()
    word.cancel()
    return ""


async def _send_request(app: AsgiApp, request: SentRequest, state: object) -> Document:
    messages: list[Document] = []
    body: list[Document] = [{"type": "http.request", "body": request.body, "more_body": False}]
    ended = asyncio.Event()

    async def receive() -> Document:
        if body:
            return body.pop()
        await ended.wait()
        return {"type": "http.disconnect"}

    async def send(message: Document) -> None:
        messages.append(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            ended.set()

    await app({**_build_scope(request), "state": state}, receive, send)
    return _build_answer(messages)


def _build_scope(request: SentRequest) -> Document:
    host, _, port = request.host.partition(":")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "https",
        "path": unquote(request.path),
        "raw_path": request.path.encode(),
        "query_string": request.query.encode(),
        "root_path": "",
        "headers": [(name.encode(), one.encode()) for name, one in request.headers.items()],
        "client": (request.ip, 0),
        "server": (host, int(port or 443)),
    }


def _build_answer(messages: list[Document]) -> Document:
    start = next((one for one in messages if one["type"] == "http.response.start"), None)
    if start is None:
        raise RuntimeError("the application ended without a response")
    listed = start.get("headers")
    pairs = listed if isinstance(listed, Iterable) else ()
    headers = [(bytes(name).decode("latin-1"), bytes(one).decode("latin-1")) for name, one in pairs]
    parts = (one.get("body") or b"" for one in messages if one["type"] == "http.response.body")
    body = b"".join(part for part in parts if isinstance(part, bytes))
    return answer_of(int(str(start["status"])), headers, body)


def by_server_class(found: type[BaseHTTPRequestHandler], request: SentRequest) -> Document:
    """Call a server class with request bytes and read its response bytes, without a socket."""
    written = io.BytesIO()

    class AnsweringClass(found):  # type: ignore[misc, valid-type]
        def setup(self) -> None:
            self.rfile, self.wfile = io.BytesIO(_encode_request(request)), written

        def finish(self) -> None:
            self.wfile.flush()

    AnsweringClass(None, (request.ip, 0), None)
    head, _, body = written.getvalue().partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    pairs = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    return answer_of(
        int(status.split()[1]), [one for one in pairs if one[0].lower() != "server"], body
    )


def _encode_request(request: SentRequest) -> bytes:
    query = f"?{request.query}" if request.query else ""
    lines = [f"{request.method} {request.path}{query} HTTP/1.0"]
    lines += [f"{name}: {value}" for name, value in request.headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + request.body
