"""A name that is called all the time, by HTTP, while its shares shift."""

import contextlib
import http.client
import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.real_router import OF_LABEL, RealRouter
from tests.support.router_project import LABELS
from tests.support.servers.pdns import PdnsSite
from tests.support.until import until

_COUNTED = 1500
_TOGETHER = 100
# So many calls between one shift and the next, on average.
_BETWEEN = 300
_CHOICE = re.compile(r"\{(\d+),'([^']*)'\}")
_LABEL_OF = {host: label for label, host in OF_LABEL.items()}
_SHIFTS = (("spare", 10), ("main", 70), ("third", 50), ("spare", 80), ("main", 5))


class _Endpoint(ThreadingHTTPServer):
    """Answers with its label, whoever's name it is asked by."""

    daemon_threads = True

    def __init__(self, label: str) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.label = label


class _Answers(BaseHTTPRequestHandler):
    server: _Endpoint
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:  # noqa: N802 - so it is called
        content = self.server.label.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@contextlib.contextmanager
def _serving() -> Iterator[Mapping[str, int]]:
    """The port of each endpoint's host, as the second look-up of a caller would find it."""
    with contextlib.ExitStack() as stack:
        ports = {}
        for label in LABELS:
            server = stack.enter_context(_Endpoint(label))
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.shutdown)
            ports[OF_LABEL[label]] = server.server_port
        yield ports


class _Callers:
    """One who looks the name up for each request, and calls whom it leads to."""

    def __init__(self, router: RealRouter, ports: Mapping[str, int]) -> None:
        self._router = router
        self._lines = {host: http.client.HTTPConnection("127.0.0.1", ports[host]) for host in ports}
        self.failed: list[str] = []
        self.counted = 0
        self.came: Counter[str] = Counter()
        self.wanted: Counter[str] = Counter()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._call_on)

    def __enter__(self) -> "_Callers":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        for line in self._lines.values():
            line.close()

    def wait_for(self, count: int) -> None:
        until(lambda: bool(self.failed) or self.counted >= count)

    def _call_on(self) -> None:
        while not self._is_over.is_set():
            before = self._held()
            found = self._router.pdns.answers(self._router.name, _TOGETHER)
            labels = [self._called(host) for host, count in found.items() for _ in range(count)]
            self.failed += ["unanswered"] * (_TOGETHER - len(labels))
            # Calls of the moment of a shift have to succeed, and are of no one share.
            if before == self._held():
                self.counted += len(labels)
                self.came.update(labels)
                for label, weight in before.items():
                    self.wanted[label] += weight * len(labels)

    def _held(self) -> Mapping[str, int]:
        """What the server draws from at this moment."""
        (found,) = self._router.pdns.record_sets(self._router.name)
        pairs = _CHOICE.findall(found["records"][0]["content"])
        return {_LABEL_OF[host]: int(weight) for weight, host in pairs}

    def _called(self, host: str) -> str:
        line = self._lines[host]
        try:
            line.request("GET", "/", headers={"Host": self._router.name.rstrip(".")})
            answer = line.getresponse()
            label = answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            self.failed.append(repr(error))
            return ""
        if (answer.status, label) != (200, _LABEL_OF[host]):
            self.failed.append(f"{answer.status} {label}")
        return label


@pytest.mark.slow
def test_no_request_fails_and_shares_hold_while_they_shift(tmp_path: Path, pdns: PdnsSite) -> None:
    router = RealRouter(tmp_path, pdns)
    assert router.json("deploy", "--sync-dns").code == 0
    with _serving() as ports, _Callers(router, ports) as callers:
        shifts = 0
        while callers.counted < _COUNTED and not callers.failed:
            assert router.shift(*_SHIFTS[shifts % len(_SHIFTS)]).code == 0
            shifts += 1
            callers.wait_for(shifts * _BETWEEN)
    assert callers.failed == []
    assert shifts >= len(_SHIFTS)
    assert callers.counted >= _COUNTED
    for label in LABELS:
        came = 100 * callers.came[label] / callers.counted
        wanted = callers.wanted[label] / callers.counted
        # Four standard deviations of so many calls.
        assert abs(came - wanted) <= 5.5, (label, came, wanted)
