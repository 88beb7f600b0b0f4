"""Live tails of Workers: each invocation is reported when it has ended.

Tails use Cloudflare's command line tool if it is installed, otherwise a WebSocket of the API.
"""

import contextlib
import itertools
import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, TypeAlias
from urllib.parse import quote

from msgspec import Struct

from fabric.model.observed import SECOND, TimeWindow
from fabric.model.problems import FabricError, Problem
from fabric.model.routing.hosts import extract_host
from fabric.providers.core.contract import CallContext
from fabric.providers.core.errors import RefusedCallError
from fabric.providers.core.http_calls import ProviderCall, build_json_call
from fabric.providers.core.observing import MOST_LINES, HearLines, LogQuestion, ObservedService
from fabric.providers.edge1.client import Edge1Account, Edge1Api
from fabric.providers.edge1.observing.telemetry import Edge1Asking, WorkerLines
from fabric.system.http.urls import is_loopback
from fabric.system.http.websocket import WebSocketError, open_websocket
from fabric.system.process.process import end_child, start_child
from fabric.system.retry import TransientError

_SECONDS = 10.0
_READ = 1 << 16
_MOST_TOOLS = 10
_PROTOCOL = "trace-v1"
# What the tool needs of what surrounds us: where programs are, and the way out.
_AROUND = ("PATH", "HOME", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS")


class TailEndedError(Exception):
    """The tail has ended; start another one."""


class WorkerTail(Protocol):
    """A live tail. `fileno` is for `select`; `received` returns each invocation ended since, as
    JSON."""

    def fileno(self) -> int: ...

    def receive(self) -> list[bytes]: ...

    def keep(self) -> None:
        """Send a keepalive; called periodically."""

    def close(self) -> None: ...


BeginTail: TypeAlias = Callable[[str], WorkerTail]


class _BegunTail(Struct, frozen=True):
    id: str
    url: str


class ApiTail:
    def __init__(self, api: Edge1Api, worker: str) -> None:
        self._api = api
        account = quote(api.account.account, safe="")
        self._path = f"/accounts/{account}/workers/scripts/{worker}/tails"
        self._begun = api.once(build_json_call("POST", self._path, {"filters": []}), _BegunTail)
        url = self._begun.url
        if url.startswith("ws:") and not is_loopback(extract_host(url)):
            message = "refusing the live log stream (tail) of Cloudflare: its URL is not encrypted"
            raise FabricError(Problem("provider/refused", message))
        try:
            self._socket = open_websocket(url, _PROTOCOL, _SECONDS)
        except WebSocketError as error:
            self._end()
            raise TransientError(f"cannot stream its logs: {error}") from error

    def fileno(self) -> int:
        return self._socket.fileno()

    def receive(self) -> list[bytes]:
        try:
            return self._socket.receive()
        except WebSocketError as error:
            raise TailEndedError(str(error)) from error

    def keep(self) -> None:
        with contextlib.suppress(WebSocketError):  # told by the next look
            self._socket.ping()

    def close(self) -> None:
        self._socket.close()
        self._end()

    def _end(self) -> None:
        """End the tail at the API. Without this call it would expire later."""
        with contextlib.suppress(RefusedCallError, TransientError):
            self._api.once(ProviderCall("DELETE", f"{self._path}/{self._begun.id}"), object)


class ToolTail:
    """A tail of Cloudflare's command line tool. It writes each invocation as an object of several
    lines."""

    def __init__(
        self, program: str, account: Edge1Account, around: Mapping[str, str], worker: str
    ) -> None:
        # Away from every project: one that it finds there has settings of its own.
        self._folder = tempfile.TemporaryDirectory(prefix="fabric-tail-")
        self._program = program
        env = {name: around[name] for name in _AROUND if name in around}
        env |= {
            "CI": "1",
            "WRANGLER_SEND_METRICS": "false",
            "CLOUDFLARE_API_TOKEN": account.token.reveal(),
            "CLOUDFLARE_ACCOUNT_ID": account.account,
            "CLOUDFLARE_API_BASE_URL": account.base_url,
        }
        argv = (program, "tail", worker, "--format", "json")
        folder = Path(self._folder.name)
        self._child = start_child(argv, cwd=folder, env=env, stderr=subprocess.STDOUT)
        self._documents = ToolDocuments()
        self.has_ended = False
        self._out = self._child.stdout.fileno() if self._child.stdout else -1
        os.set_blocking(self._out, False)

    def fileno(self) -> int:
        return self._out

    def receive(self) -> list[bytes]:
        found: list[bytes] = []
        while True:
            try:
                content = os.read(self._out, _READ)
            except BlockingIOError:
                return found
            if not content:
                if found:
                    return found
                self.has_ended = True
                raise TailEndedError(f"`{self._program}`: {self._documents.last_words}")
            found += self._documents.take(content)

    def keep(self) -> None:
        """Do nothing: the tool sends keepalives."""

    def close(self) -> None:
        end_child(self._child)
        for stream in (self._child.stdin, self._child.stdout):
            if stream is not None:
                stream.close()
        self._folder.cleanup()


class Tails:
    """Opens the tails of one run. `tool` is Cloudflare's command line tool.

    The API is used after a tool tail has ended unexpectedly, and for more Workers than `most`. Each
    tool process needs a hundred megabytes.
    """

    def __init__(
        self, api: Edge1Api, tool: str, around: Mapping[str, str], most: int = _MOST_TOOLS
    ) -> None:
        self._api, self._tool, self._around, self._most = api, tool, around, most
        self._last: list[ToolTail] = []

    def begin(self, worker: str) -> WorkerTail:
        is_full = len(self._last) >= self._most
        if not self._tool or is_full or any(one.has_ended for one in self._last):
            return ApiTail(self._api, worker)
        tail = ToolTail(self._tool, self._api.account, self._around, worker)
        self._last.append(tail)
        return tail


class ToolDocuments:
    """Parser for JSON objects in tool output: each begins and ends at the beginning of a line."""

    def __init__(self) -> None:
        self._rest = b""
        self._lines: list[bytes] = []
        self.last_words = "it ended"

    def take(self, content: bytes) -> list[bytes]:
        *lines, self._rest = (self._rest + content).split(b"\n")
        found = []
        for line in lines:
            if self._lines or line.startswith(b"{"):
                self._lines.append(line)
                if line.startswith(b"}") or (len(self._lines) == 1 and line.endswith(b"}")):
                    found.append(b"\n".join(self._lines))
                    self._lines = []
            elif line.strip():
                self.last_words = line.decode(errors="replace").strip()
        return found


# What is kept is there later than it was said, and may be stamped by another clock.
_OVERLAP = 300 * SECOND
_TICK = 0.25
_PAUSE = 2.0
_LOOKED_UP = 2


class TailPace(Struct, frozen=True):
    """The clock, and the number of seconds between checks of the tails."""

    now: Callable[[], int] = time.time_ns
    kept_every: float = 10.0


_PACE = TailPace()


class TailedService:
    """The log stream of one service.

    Lines written while a tail starts or ends are read from storage. Lines received both ways have
    the same id.
    """

    def __init__(
        self,
        asking: Edge1Asking,
        service: ObservedService,
        begin: BeginTail,
        pace: TailPace = _PACE,
    ) -> None:
        self._asking, self._service, self._begin, self._pace = asking, service, begin, pace
        self._lines = WorkerLines(service)
        self._tails: dict[str, WorkerTail] = {}
        self._since = 0

    def follow(self, since: int, hear: HearLines, watch: CallContext) -> None:
        """Stream lines, and restart tails that end, until the watch stops the call."""
        self._since = since
        is_told = False
        try:
            while not watch.is_to_end():
                try:
                    self._follow_once(hear, watch)
                except (TransientError, TailEndedError) as error:
                    if not is_told:
                        watch.hear(f"{error}; retrying")
                    is_told = True
                    self._sleep_between(_PAUSE, hear, watch)
        finally:
            self._end_all()

    def _follow_once(self, hear: HearLines, watch: CallContext) -> None:
        """Stream until a tail ends. Stored lines are read twice: a tail that starts slowly misses
        lines."""
        for one in self._service.functions:
            if one.resource_name not in self._tails:
                self._tails[one.resource_name] = self._begin(one.resource_name)
        for round_ in itertools.count():
            if round_ < _LOOKED_UP:
                self._look_up(hear)
            self._receive_for(self._pace.kept_every, hear, watch)
            if round_ >= _LOOKED_UP:
                # The tails have told all until now: what was before is not looked up once more.
                self._since = max(self._since, self._pace.now() - _OVERLAP)
            if watch.is_to_end():
                return
            for tail in self._tails.values():
                tail.keep()

    def _receive_for(self, seconds: float, hear: HearLines, watch: CallContext) -> None:
        due = time.monotonic() + seconds
        with selectors.DefaultSelector() as chooser:
            for worker, tail in self._tails.items():
                chooser.register(tail, selectors.EVENT_READ, worker)
            while time.monotonic() < due and not watch.is_to_end():
                hear(())
                for key, _ in chooser.select(_TICK):
                    self._receive_lines(str(key.data), hear)

    def _receive_lines(self, worker: str, hear: HearLines) -> None:
        function = next(one.name for one in self._service.functions if one.resource_name == worker)
        try:
            found = self._tails[worker].receive()
        except TailEndedError:
            self._tails.pop(worker).close()
            raise
        for one in found:
            hear(self._lines.parse_invocation(function, one))

    def _look_up(self, hear: HearLines) -> None:
        until = self._pace.now() + SECOND
        question = LogQuestion(TimeWindow(self._since, until), most=MOST_LINES)
        hear(self._lines.fetch_stored(self._asking, question))
        self._since = max(self._since, until - _OVERLAP)

    def _sleep_between(self, seconds: float, hear: HearLines, watch: CallContext) -> None:
        while seconds > 0 and not watch.is_to_end():
            hear(())
            self._asking.waiting.sleep(min(seconds, _TICK))
            seconds -= _TICK

    def _end_all(self) -> None:
        while self._tails:
            self._tails.popitem()[1].close()
