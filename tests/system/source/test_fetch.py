"""Fetching a source from a real server of this machine, whose addresses a test may claim."""

import hashlib
import http.server
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fabric.model.problems import ExitCode, FabricError, Problem
from fabric.system.clock import Clock, SystemClock
from fabric.system.source.fetch import Fetched, FetchLimits, fetch

BODY = b"archive" * 20_000
SHA = hashlib.sha256(BODY).hexdigest()
PUBLIC = "93.184.215.14"


@dataclass(frozen=True)
class Answer:
    body: bytes = BODY
    status: int = 200
    length: int | None = None
    headers: tuple[tuple[str, str], ...] = ()


CHUNKED = b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)
ANSWERS = {
    "good": Answer(length=len(BODY)),
    "endless": Answer(),
    "torn": Answer(length=len(BODY) + 1),
    "lying": Answer(length=10),
    "chunked": Answer(CHUNKED, headers=(("Transfer-Encoding", "chunked"),)),
}


class Site(http.server.BaseHTTPRequestHandler):
    """`/to/<status>?<where>` redirects, `/hops/<n>` counts down, other paths say what they do."""

    def do_GET(self) -> None:  # noqa: N802 - as it is inherited
        path, _, query = self.path.partition("?")
        word, _, number = path[1:].partition("/")
        match word:
            case "to":
                self._give(_redirect(query, int(number)))
            case "hops":
                self._give(_redirect(f"/hops/{int(number) - 1}" if number != "0" else "/good"))
            case "status":
                self._give(Answer(b"no", int(number)))
            case "host":
                self._give(Answer(self.headers["Host"].encode()))
            case "garbage":
                self.wfile.write(b"SSH-2.0-x\r\n")
            case _ if word in ANSWERS:
                self._give(ANSWERS[word])

    def _give(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        if answer.length is not None:
            self.send_header("Content-Length", str(answer.length))
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is inherited
        return


def _redirect(where: str, status: int = 302) -> Answer:
    return Answer(b"", status, headers=(("Location", where),))


@dataclass
class Machine:
    """The network with the names of a test: whatever is connected to, it is the local server."""

    port: int
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    clock: Clock = field(default_factory=SystemClock)
    asked: list[str] = field(default_factory=list)
    reached: list[str] = field(default_factory=list)
    dead: tuple[str, ...] = ()

    def addresses(self, host: str, port: int) -> tuple[str, ...]:
        self.asked.append(host)
        if host not in self.names:
            raise OSError("name or service not known")
        return self.names[host]

    def connect(self, address: str, port: int, seconds: float) -> socket.socket:
        self.reached.append(address)
        if address in self.dead:
            raise ConnectionRefusedError(111, "Connection refused")
        return socket.create_connection(("127.0.0.1", self.port), seconds)

    def start_tls(self, plain: socket.socket, host: str) -> socket.socket:
        """The server speaks no TLS: here https is a word only."""
        return plain


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.fixture
def machine(port: int) -> Machine:
    return Machine(
        port,
        {
            "pub.test": (PUBLIC,),
            "here.test": ("127.0.0.1",),
            "meta.test": ("::ffff:a9fe:a9fe",),
            "mixed.test": ("1.1.1.1", "10.0.0.1"),
        },
    )


def got(machine: Machine, url: str, folder: Path, sha256: str = "") -> Fetched:
    return fetch(url, folder / "source", sha256=sha256, network=machine)


def problem_of(act: Callable[[], object], folder: Path) -> Problem:
    with pytest.raises(FabricError) as caught:
        act()
    assert list(folder.iterdir()) == []
    return caught.value.first


def test_a_source_is_fetched_into_a_private_file(machine: Machine, tmp_path: Path) -> None:
    fetched = got(machine, "https://pub.test/good?key=k", tmp_path)
    assert fetched == Fetched(
        tmp_path / "source", "https://pub.test/good", fetched.sha256, len(BODY)
    )
    assert fetched.sha256 == SHA
    assert fetched.path.read_bytes() == BODY
    assert fetched.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("path", ["chunked", "endless"])
def test_a_body_without_a_length_is_read_to_its_end(
    path: str, machine: Machine, tmp_path: Path
) -> None:
    assert got(machine, f"https://pub.test/{path}", tmp_path).sha256 == SHA


def test_response_is_not_read_beyond_its_announced_length(machine: Machine, tmp_path: Path) -> None:
    assert got(machine, "https://pub.test/lying", tmp_path).size == 10


def test_the_name_is_looked_up_once_and_stays_in_the_host_header(
    machine: Machine, tmp_path: Path
) -> None:
    fetched = got(machine, "https://pub.test:8443/host", tmp_path)
    assert fetched.path.read_bytes() == b"pub.test:8443"
    assert (machine.asked, machine.reached) == (["pub.test"], [PUBLIC])


def test_the_next_address_of_a_host_is_tried(machine: Machine, tmp_path: Path) -> None:
    machine.names["two.test"] = ("1.0.0.1", PUBLIC)
    machine.dead = ("1.0.0.1",)
    assert got(machine, "https://two.test/good", tmp_path).sha256 == SHA


def test_http_is_warned_of_with_the_pin_that_makes_it_safe(
    machine: Machine, tmp_path: Path
) -> None:
    (warning,) = got(machine, "http://pub.test/good", tmp_path).warnings
    assert warning.code == "source/insecure"
    assert f"--source-sha256 {SHA}" in warning.hint


def test_a_pinned_source_needs_no_warning(machine: Machine, tmp_path: Path) -> None:
    assert got(machine, "http://pub.test/good", tmp_path, SHA.upper()).warnings == ()


def test_http_on_the_way_is_warned_of_too(machine: Machine, tmp_path: Path) -> None:
    fetched = got(machine, "http://pub.test/to/301?https://pub.test/good", tmp_path)
    assert fetched.url == "https://pub.test/good"
    assert "http://pub.test/to/301" in fetched.warnings[0].message


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed(status: int, machine: Machine, tmp_path: Path) -> None:
    assert got(machine, f"https://pub.test/to/{status}?/good", tmp_path).sha256 == SHA


def test_five_redirects_are_enough(machine: Machine, tmp_path: Path) -> None:
    assert got(machine, "https://pub.test/hops/4", tmp_path).sha256 == SHA
    (tmp_path / "source").unlink()
    problem = problem_of(lambda: got(machine, "https://pub.test/hops/5", tmp_path), tmp_path)
    assert problem.code == "input/source-redirect"


def test_a_private_server_may_be_named_and_may_stay_private(
    machine: Machine, tmp_path: Path
) -> None:
    assert got(machine, "http://here.test/to/302?/good", tmp_path).sha256 == SHA


REFUSED = {
    "to-http": ("https://pub.test/to/302?http://pub.test/good", "redirect", "https to http"),
    "inwards": ("https://pub.test/to/302?https://here.test/good", "redirect", "public"),
    "metadata": ("http://pub.test/to/302?http://meta.test/good", "redirect", "public"),
    "partly-inwards": ("https://pub.test/to/302?https://mixed.test/", "redirect", "public"),
    "to-file": ("https://pub.test/to/302?file:///etc/passwd", "url", "must start"),
    "to-user": ("https://pub.test/to/302?https://a:b@pub.test/", "url", "user"),
    "not-found": ("https://pub.test/status/404", "status", "404"),
    "failed": ("https://pub.test/status/500", "status", "500"),
    "redirect-to-nowhere": ("https://pub.test/status/302", "status", "302"),
    "own-password": ("https://a:b@pub.test/good", "url", "user"),
}


@pytest.mark.parametrize(("url", "code", "why"), REFUSED.values(), ids=REFUSED)
def test_forbidden_source_is_refused(
    url: str, code: str, why: str, machine: Machine, tmp_path: Path
) -> None:
    problem = problem_of(lambda: got(machine, url, tmp_path), tmp_path)
    assert problem.code == f"input/source-{code}"
    assert why in problem.message
    assert set(machine.reached) <= {PUBLIC}


UNREACHABLE = {
    "no-such-name": ("https://nowhere.test/good", "not known"),
    "torn": ("https://pub.test/torn", "incomplete"),
    "no-http": ("https://pub.test/garbage", "ssh-2.0"),
    "no-answer": ("https://pub.test/silent", "closed"),
    "dead": ("https://dead.test/good", "refused"),
}


@pytest.mark.parametrize(("url", "why"), UNREACHABLE.values(), ids=UNREACHABLE)
def test_a_server_that_does_not_answer_is_unreachable(
    url: str, why: str, machine: Machine, tmp_path: Path
) -> None:
    machine.names["dead.test"] = machine.dead = ("1.0.0.1",)
    problem = problem_of(lambda: got(machine, url, tmp_path), tmp_path)
    assert problem.code == "source/unreachable"
    assert why in problem.message
    assert FabricError(problem).exit_code is ExitCode.UNREACHABLE


@pytest.mark.parametrize("path", ["good", "endless", "chunked"])
def test_a_source_that_is_too_large_is_given_up(
    path: str, machine: Machine, tmp_path: Path
) -> None:
    limits = FetchLimits(size=len(BODY) - 1)
    problem = problem_of(
        lambda: fetch(f"https://pub.test/{path}", tmp_path / "s", limits=limits, network=machine),
        tmp_path,
    )
    assert problem.code == "input/source-too-large"


def test_a_source_that_takes_too_long_is_given_up(machine: Machine, tmp_path: Path) -> None:
    limits = FetchLimits(seconds=-1)
    problem = problem_of(
        lambda: fetch("https://pub.test/good", tmp_path / "s", limits=limits, network=machine),
        tmp_path,
    )
    assert "takes longer" in problem.message


@pytest.mark.parametrize("sha256", ["ab" * 32, "abc", "z" * 64])
def test_another_content_than_the_pinned_one_is_refused(
    sha256: str, machine: Machine, tmp_path: Path
) -> None:
    problem = problem_of(lambda: got(machine, "http://pub.test/good", tmp_path, sha256), tmp_path)
    assert problem.code == "input/source-hash"


def test_a_file_that_is_there_is_not_written_to(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "source").write_text("mine")
    with pytest.raises(FabricError) as caught:
        got(machine, "https://pub.test/good", tmp_path)
    assert caught.value.exit_code is ExitCode.CANNOT_WRITE
    assert (tmp_path / "source").read_text() == "mine"


def test_tls_uses_the_requested_hostname(tmp_path: Path) -> None:
    """The first bytes of a TLS talk hold the name; an answer that is no TLS ends it."""
    heard: list[bytes] = []

    def listen(server: socket.socket) -> None:
        channel, _ = server.accept()
        with channel:
            heard.append(channel.recv(4096))
            channel.sendall(b"HTTP/1.0 200 OK\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=listen, args=(server,))
        thread.start()
        url = f"https://localhost:{server.getsockname()[1]}/a.zip"
        problem = problem_of(lambda: fetch(url, tmp_path / "source"), tmp_path)
        thread.join()
    assert problem.code == "source/unreachable"
    assert b"localhost" in heard[0]
