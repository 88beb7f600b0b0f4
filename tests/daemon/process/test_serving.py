"""A server from its start to its end, with an application of the test's own."""

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fabric.app.settings import Settings
from fabric.daemon.application import (
    Application,
    ServerSurroundings,
)
from fabric.daemon.composition import build_application
from fabric.daemon.http_types import ApiAnswer, ApiCall, ApiRoute, Right, RouteDocs
from fabric.daemon.options import NetworkOptions, ServedProject, ServerKind
from fabric.daemon.process.foreground import run_daemon
from fabric.daemon.process.listening import format_server_url, listen
from fabric.daemon.process.order import ServeDoor, ServeOrder
from fabric.daemon.process.running import (
    AlreadyRunningError,
    RunningDaemon,
    build_pid_path,
    find_running,
    lock_path,
)
from fabric.daemon.process.serving import (
    EndingTimes,
    ServeTools,
    ServiceManager,
    serve,
    wait_for_end,
)
from fabric.daemon.process.signal_queue import SignalQueue
from fabric.daemon.server.api_server import ServerLimits, compute_connection_limit
from fabric.daemon.server.keys import hash_server_key
from fabric.daemon.web import build_web_app
from fabric.model.problems import FabricError
from tests.support.until import until

QUICK = EndingTimes(to_end=5.0, when_asked=0.2, when_cut=0.1, answers=5.0)


@dataclass
class OneRun:
    """Goes on until it is let go."""

    is_over: threading.Event = field(default_factory=threading.Event)

    def under_way(self) -> int:
        return 0 if self.is_over.is_set() else 1

    def drain(self) -> None:
        return

    def ask_all_to_stop(self) -> None:
        self.is_over.set()

    def cut_all(self) -> None:
        self.is_over.set()


@dataclass
class Around:
    """All that happens around a server while it serves."""

    order: ServeOrder
    settings: Settings
    ear: SignalQueue = field(default_factory=SignalQueue)
    runs: OneRun = field(default_factory=OneRun)
    lines: list[dict[str, Any]] = field(default_factory=list)
    ports: list[int] = field(default_factory=list)
    made: list[ServerSurroundings] = field(default_factory=list)

    def make(self, around: ServerSurroundings) -> Application:
        def health(_: ApiCall) -> ApiAnswer:
            return ApiAnswer(200, {"ok": True})

        def ready(_: ApiCall) -> ApiAnswer:
            return ApiAnswer(503 if around.life.is_draining else 200, {"ok": True})

        def deploy(_: ApiCall) -> ApiAnswer:
            self.runs.is_over.wait(30)
            return ApiAnswer(200, {"ok": True})

        routes = (
            ApiRoute(
                "GET",
                "/healthz",
                "healthz",
                Right.OPEN,
                health,
                docs=RouteDocs(about="Whether it lives."),
            ),
            ApiRoute(
                "GET",
                "/readyz",
                "ready",
                Right.LOOK,
                ready,
                docs=RouteDocs(about="Whether it can work."),
            ),
            ApiRoute(
                "POST", "/deploy", "deploy", Right.CHANGE, deploy, docs=RouteDocs(about="Deploy.")
            ),
        )
        self.made.append(around)
        return Application(build_web_app(routes), routes, self.runs)

    @property
    def tools(self) -> ServeTools:
        def write(line: str) -> None:
            self.lines.append(json.loads(line))

        return ServeTools(
            self.make, self.ear.wait_for_signal, write, self.ports.append, QUICK, LIMITS
        )

    def ask(self, method: str, path: str, **headers: str) -> tuple[int, dict[str, Any]]:
        client = http.client.HTTPConnection("127.0.0.1", self.ports[0], timeout=30)
        with contextlib.closing(client):
            client.request(method, path, headers=headers)
            answer = client.getresponse()
            return answer.status, json.loads(answer.read())


LIMITS = ServerLimits(threads=6)


def order_in(folder: Path) -> ServeOrder:
    project = ServedProject(str(folder))
    return ServeOrder(
        ServerKind.DAEMON, str(folder), project=project, door=ServeDoor(address="127.0.0.1", port=0)
    )


def settings_in(folder: Path) -> Settings:
    secrets = {
        "FABRIC_DAEMON_API_KEY": "k",
        "FABRIC_DAEMON_CACHE_URL": "redis://:p@h",
        "OTHER": "1",
    }
    return Settings(secrets, folder, 2, stdout_is_terminal=False, stderr_is_terminal=False)


@contextlib.contextmanager
def served(folder: Path, *, has_run: bool = False) -> Iterator[Around]:
    found = Around(order_in(folder), settings_in(folder))
    if not has_run:
        found.runs.is_over.set()
    thread = threading.Thread(target=run_daemon, args=(found.order, found.settings, found.tools))
    thread.start()
    until(lambda: bool(found.ports) or not thread.is_alive())
    try:
        yield found
    finally:
        found.runs.is_over.set()
        found.ear.ring()
        thread.join()


def test_daemon_is_identified_while_it_serves(tmp_path: Path) -> None:
    with served(tmp_path) as found:
        daemon = find_running(tmp_path)
        assert isinstance(daemon, RunningDaemon)
        assert daemon.port == found.ports[0]
        assert build_pid_path(tmp_path).read_text() == f"{daemon.process.pid}\n"
        assert build_pid_path(tmp_path).stat().st_mode & 0o777 == 0o600
        assert found.ask("GET", "/healthz") == (200, {"ok": True})
    assert find_running(tmp_path) is None
    assert not build_pid_path(tmp_path).exists()
    assert [line["event"] for line in found.lines if line["event"] != "request"] == [
        "started", "stopping", "stopped",
    ]  # fmt: skip


def test_a_second_one_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    with served(tmp_path) as found, pytest.raises(AlreadyRunningError) as caught:
        run_daemon(found.order, found.settings, found.tools)
    assert isinstance(caught.value.found, RunningDaemon)
    assert "process" in caught.value.first.message


def test_while_runs_end_it_serves_and_is_not_ready(tmp_path: Path) -> None:
    with served(tmp_path, has_run=True) as found:
        answers: list[int] = []
        asking = threading.Thread(target=lambda: answers.append(found.ask("POST", "/deploy")[0]))
        asking.start()
        found.ear.ring()
        until(lambda: found.ask("GET", "/readyz")[0] == 503)
        assert found.ask("GET", "/healthz")[0] == 200
        assert isinstance(find_running(tmp_path), RunningDaemon)
        found.runs.is_over.set()
        asking.join()
        assert answers == [200]


def test_a_second_signal_asks_runs_to_stop_at_once(tmp_path: Path) -> None:
    with served(tmp_path, has_run=True) as found:
        found.ear.ring()
        until(lambda: found.made[0].life.is_draining)
        found.ear.ring()
        until(found.runs.is_over.is_set)
        until(lambda: find_running(tmp_path) is None)


def test_server_only_variables_are_not_passed_on(tmp_path: Path) -> None:
    with served(tmp_path) as found:
        assert dict(found.made[0].settings.env) == {"OTHER": "1"}
        assert not found.made[0].is_insecure


def test_invalid_record_file_means_a_daemon_without_identity(tmp_path: Path) -> None:
    with served(tmp_path):
        lock_path(tmp_path).write_text("nonsense")
        assert find_running(tmp_path) is not None
        assert not isinstance(find_running(tmp_path), RunningDaemon)


def test_both_servers_say_how_they_are_and_which_version(tmp_path: Path) -> None:
    found = Around(order_in(tmp_path), settings_in(tmp_path))
    order = replace(found.order, digests=(hash_server_key("k", "--api-key"),))
    tools = replace(found.tools, make=build_application)
    thread = threading.Thread(target=serve, args=(order, found.settings, tools))
    thread.start()
    until(lambda: bool(found.ports))
    try:
        assert found.ask("GET", "/healthz")[0] == 200
        assert found.ask("GET", "/version")[0] == 401
        key = {"X-API-Key": "k"}
        status, document = found.ask("GET", "/version", **key)
        assert (status, document["server"]) == (200, "fabricd")
        assert found.ask("GET", "/nothing", **key)[0] == 404
        assert found.ask("POST", "/version", **key)[0] == 405
    finally:
        found.ear.ring()
        thread.join()


def test_port_in_use_is_reported_with_the_port_option() -> None:
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(FabricError) as caught:
            listen("127.0.0.1", port)
    assert caught.value.first.code == "daemon/port-taken"
    assert "--port" in caught.value.first.hint
    assert caught.value.exit_code == 1


@pytest.mark.parametrize("address", ["192.0.2.1", "no-such-name.invalid", "a" * 70 + ".x", "::2"])
def test_address_of_another_machine_is_rejected(address: str) -> None:
    with pytest.raises(FabricError) as caught:
        listen(address, 0)
    assert caught.value.first.code == "daemon/bad-address"


def test_server_url_uses_a_reachable_local_address() -> None:
    everywhere = NetworkOptions().address
    assert format_server_url(everywhere, 1) == "http://127.0.0.1:1"
    assert format_server_url("::", 1) == "http://[::1]:1"
    assert format_server_url("host", 1) == "http://host:1"


def test_connection_limit_leaves_room_for_other_files() -> None:
    assert compute_connection_limit(ServerLimits(), 20_000) == 2500
    assert compute_connection_limit(ServerLimits(), 1024) == 768
    assert compute_connection_limit(ServerLimits(), 100) == 64


@dataclass
class Turning:
    """A server of which only is told whether it turns."""

    is_alive: bool = True
    turns: int = 0


def test_server_that_ends_by_itself_is_a_failure() -> None:
    with pytest.raises(FabricError) as caught:
        wait_for_end(Turning(is_alive=False), lambda _: False, ServiceManager({}))
    assert caught.value.first.code == "internal/server-ended"


def test_watchdog_is_notified_only_while_the_server_loop_runs(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(f"{tmp_path}/n")
        heard.settimeout(0)
        server, looks = Turning(), iter((False, False, False, True))
        manager = ServiceManager({"NOTIFY_SOCKET": f"{tmp_path}/n", "WATCHDOG_USEC": "1000000"})
        wait_for_end(server, lambda _: next(looks), manager)
        assert heard.recv(100) == b"WATCHDOG=1"
        with pytest.raises(BlockingIOError):
            heard.recv(100)
