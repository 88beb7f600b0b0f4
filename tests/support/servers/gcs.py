"""A small objstore2: one bucket in memory that keeps its conditions as the real one does.

Faults on demand: a lost reply, a status instead of an answer, conditions that are not looked at.
"""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

_OBJECTS = "/storage/v1/b/"
_UPLOADS = "/upload/storage/v1/b/"
_TOKEN = "/token"  # noqa: S105
_LONGEST_PAGE = 3


@dataclass(frozen=True)
class Answer:
    status: int
    content: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    # So many bytes of the body are sent, then the connection ends; negative: all of it.
    cut: int = -1


@dataclass
class Gcs:
    """`bucket` is the only one there is; pages are short, as a real server's may be."""

    token: str = "right-token"  # noqa: S105
    bucket: str = "state"
    conditions: bool = True
    endpoint: str = ""
    lost_replies: int = 0
    faults: list[Answer] = field(default_factory=list)
    assertions: list[str] = field(default_factory=list)
    # Hears of each call before it is answered and once more before the answer leaves.
    watch: Callable[[str, str], None] = lambda _method, _url: None
    calls: int = 0
    _objects: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    _generation: int = 1_700_000_000_000_000
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, method: str, url: str, token: str, content: bytes) -> Answer:
        self.watch(method, url)
        answer = self._answer(method, url, token, content)
        self.watch(method, url)
        return answer

    @property
    def contents(self) -> dict[str, bytes]:
        """Everything that lies there."""
        return {name: content for name, (content, _) in list(self._objects.items())}

    def put(self, name: str, content: bytes) -> None:
        """As another program writes it."""
        with self._guard:
            self._put(name, content)

    def lose(self, prefix: str) -> None:
        """As a server throws away what is old."""
        for name in [one for one in self._objects if one.startswith(prefix)]:
            del self._objects[name]

    def _answer(self, method: str, url: str, token: str, content: bytes) -> Answer:
        parts = urlsplit(url)
        words = {name: values[0] for name, values in parse_qs(parts.query).items()}
        with self._guard:
            self.calls += 1
            if self.faults:
                return self.faults.pop(0)
            if parts.path == _TOKEN:
                return self._grant(content)
            if token != f"Bearer {self.token}":
                return _error(401, "Invalid Credentials")
            return self._dispatch(method, parts.path, words, content)

    def _grant(self, content: bytes) -> Answer:
        form = parse_qs(content.decode())
        self.assertions.append(form["assertion"][0])
        return _json(200, {"access_token": self.token, "expires_in": 3600})

    def _dispatch(self, method: str, path: str, words: dict[str, str], content: bytes) -> Answer:
        uploads = path.startswith(_UPLOADS)
        bucket, _, rest = path.removeprefix(_UPLOADS if uploads else _OBJECTS).partition("/o")
        name = words.get("name", "") if uploads else unquote(rest.removeprefix("/"))
        if bucket != self.bucket:
            return _error(404, "The specified bucket does not exist.")
        if not name:
            return self._list(words)
        if method == "GET":
            return self._get(name)
        if refusal := self._refusal(name, words):
            return refusal
        return self._put(name, content) if method == "POST" else self._delete(name)

    def _refusal(self, name: str, words: dict[str, str]) -> Answer | None:
        wanted = words.get("ifGenerationMatch")
        if wanted is None or not self.conditions:
            return None
        if not wanted.isdecimal():
            return _error(400, "Invalid value for: ifGenerationMatch")
        _, found = self._objects.get(name, (b"", 0))
        if int(wanted) == found:
            return None
        return _error(412, "At least one of the pre-conditions you specified did not hold.")

    def _put(self, name: str, content: bytes) -> Answer:
        self._generation += 1
        self._objects[name] = (content, self._generation)
        return _json(200, {"name": name, "generation": str(self._generation)})

    def _get(self, name: str) -> Answer:
        if name not in self._objects:
            return Answer(404, f"No such object: {self.bucket}/{name}".encode())
        content, generation = self._objects[name]
        return Answer(200, content, {"x-goog-generation": str(generation)})

    def _delete(self, name: str) -> Answer:
        if name not in self._objects:
            return _error(404, f"No such object: {self.bucket}/{name}")
        del self._objects[name]
        return Answer(204)

    def _list(self, words: dict[str, str]) -> Answer:
        names = sorted(name for name in self._objects if name.startswith(words.get("prefix", "")))
        rest = [name for name in names if name > words.get("pageToken", "")]
        size = min(int(words.get("maxResults", "1000")), _LONGEST_PAGE)
        page: dict[str, object] = {"items": [{"name": name} for name in rest[:size]]}
        if len(rest) > size:
            page["nextPageToken"] = rest[size - 1]
        return _json(200, page)


@contextlib.contextmanager
def serving(gcs: Gcs) -> Iterator[Gcs]:
    """On a free port of the loopback address, until the end of the block."""

    class Handler(_Handler):
        store = gcs

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    gcs.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.02))
    thread.start()
    try:
        yield gcs
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    store: Gcs
    protocol_version = "HTTP/1.1"
    # Head and body leave together: in two packets the second would wait for an acknowledgement.
    wbufsize = 1 << 16

    def _handle(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        token = self.headers.get("Authorization", "")
        answer = self.store.answer(self.command, self.path, token, content)
        if self.store.lost_replies and self.command != "GET":
            self.store.lost_replies -= 1
            self.close_connection = True
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.status != 204:
            self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        if answer.cut < 0:
            self.wfile.write(answer.content)
            return
        self.wfile.write(answer.content[: answer.cut])
        self.close_connection = True

    def handle_expect_100(self) -> bool:
        """Who asks whether to send a body at all is told at once, before the answer is begun."""
        may_go_on = super().handle_expect_100()
        self.wfile.flush()
        return may_go_on

    do_GET = do_POST = do_PUT = do_DELETE = _handle  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """The tests' output is not this server's log."""


def _json(status: int, document: object) -> Answer:
    return Answer(status, json.dumps(document).encode(), {"Content-Type": "application/json"})


def _error(status: int, message: str) -> Answer:
    return _json(status, {"error": {"code": status, "message": message}})
