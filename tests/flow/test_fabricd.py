"""`fabricd` as processes: started, looked at, stopped, killed."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.daemons import Workspace, asked, ended, posted, workspace
from tests.support.project import REPO
from tests.support.until import is_alive, until

KEY = "a-key-that-nobody-sees"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Workspace]:
    with workspace(tmp_path) as found:
        yield found


def command_lines() -> str:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_text())
        except OSError:
            continue
    return "\n".join(found)


def test_start_status_and_stop_control_the_daemon(place: Workspace) -> None:
    assert place.status == {"running": False}
    started = place.start()
    assert started["started"]
    assert asked(started["port"], "/healthz") == (200, {"ok": True})
    status = place.status
    assert status["pid"] == started["pid"] == int((place.own / "daemon.pid").read_text())
    assert (status["port"], status["version"]) == (started["port"], "0.1.0")
    assert os.getsid(started["pid"]) == started["pid"]
    assert Path(f"/proc/{started['pid']}/fd/0").readlink() == Path(os.devnull)
    stopped = place.fabricd("stop", "--json").result
    assert stopped == {"running": False, "stopped": True, "pid": started["pid"]}
    assert place.status == {"running": False}
    assert not (place.own / "daemon.pid").exists()
    assert (place.own / "daemon.log").stat().st_mode & 0o777 == 0o600
    assert '"event": "stopped"' in place.log


def test_start_of_a_running_daemon_reports_it_and_starts_no_second(place: Workspace) -> None:
    started = place.start()
    again = place.start()
    assert (again["pid"], again["started"]) == (started["pid"], False)
    words = place.fabricd("start", "--port", "0", "--address", "127.0.0.1")
    assert words.code == 0
    assert "is already running" in words.out


def test_here_too_only_one_serves_a_folder(place: Workspace) -> None:
    place.start()
    refused = place.fabricd("--json", "--port", "0", "--address", "127.0.0.1")
    assert (refused.code, refused.error["code"]) == (1, "daemon/running")


def test_stop_and_restart_without_a_daemon_succeed(place: Workspace) -> None:
    stopped = place.fabricd("stop")
    assert (stopped.code, stopped.out) == (0, "fabricd is not running here\n")
    words = ("restart", "--address", "127.0.0.1", "--port", "0", "--json")
    first = place.fabricd(*words).result
    second = place.fabricd(*words).result
    assert first["pid"] != second["pid"]
    assert place.status["pid"] == second["pid"]


def test_of_many_starts_at_once_exactly_one_wins(place: Workspace) -> None:
    words = ("start", "--json", "--address", "127.0.0.1", "--port", "0")
    for _ in range(4):
        begun = [place.begun(*words) for _ in range(3)]
        results = [ended(one).result for one in begun]
        assert sorted(one["started"] for one in results) == [False, False, True]
        assert len({(one["pid"], one["port"]) for one in results}) == 1
        assert place.fabricd("stop").code == 0


def test_workspace_folder_selects_the_daemon(place: Workspace, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "other")
    started = place.start("--workspace", "other")
    assert place.status == {"running": False}
    found = place.fabricd("--workspace", "link", "--json", "status").result
    assert found["pid"] == started["pid"]
    assert (tmp_path / "other" / ".fabric" / "daemon.pid").exists()
    assert place.fabricd("stop", "--workspace", "other").code == 0


@pytest.mark.parametrize("content", ["", "nonsense", "-1", "0", "1", "99999999", "{pid}"])
def test_pid_file_of_a_foreign_process_is_never_signalled(content: str, place: Workspace) -> None:
    bystander = subprocess.Popen(["sleep", "600"])
    try:
        place.own.mkdir()
        (place.own / "daemon.pid").write_text(content.format(pid=bystander.pid))
        (place.own / "daemon.lock").write_text(content.format(pid=bystander.pid))
        assert place.status == {"running": False}
        assert place.fabricd("stop").code == 0
        started = place.start()
        (place.own / "daemon.pid").write_text(content.format(pid=bystander.pid))
        assert place.fabricd("stop", "--json").result["pid"] == started["pid"]
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_after_a_kill_the_next_start_serves(place: Workspace) -> None:
    killed = place.start()
    os.kill(killed["pid"], signal.SIGKILL)
    until(lambda: not place.status["running"])
    assert (place.own / "daemon.pid").exists()
    started = place.start()
    assert started["pid"] != killed["pid"]
    assert asked(started["port"], "/healthz")[0] == 200


BUILDING = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
functions: [{name: one, entry: src/one.handler}]
build: {command: [sh, -c, "trap '' TERM; echo $$ > pid.new; mv pid.new pid; sleep 600"]}
"""


def test_a_build_ends_with_a_daemon_that_was_killed(place: Workspace) -> None:
    (place.root / "src").mkdir()
    (place.root / "src" / "one.py").write_text("def handler(event, context): pass\n")
    (place.root / "fabric.yml").write_text(BUILDING)
    killed = place.start()
    assert posted(killed["port"], "/deploy?wait=0")[0] == 202
    until((place.root / "pid").exists)
    build = int((place.root / "pid").read_text())
    assert is_alive(build)
    os.kill(killed["pid"], signal.SIGKILL)
    until(lambda: not is_alive(build))


def test_api_key_is_not_visible_to_other_users(place: Workspace) -> None:
    started = place.start("--api-key", KEY)
    assert asked(started["port"], "/version")[0] == 401
    assert asked(started["port"], "/version", **{"X-API-Key": KEY})[0] == 200
    assert asked(started["port"], f"/nothing?key={KEY}", **{"X-API-Key": KEY})[0] == 404
    environ = Path(f"/proc/{started['pid']}/environ").read_bytes().decode()
    files = "".join(path.read_text() for path in place.own.iterdir() if path.is_file())
    assert KEY not in command_lines() + environ + files


def test_api_key_variable_is_enforced_and_not_inherited(place: Workspace) -> None:
    started = place.start(FABRIC_DAEMON_API_KEY=KEY)
    assert asked(started["port"], "/version")[0] == 401
    assert asked(started["port"], "/version", **{"X-API-Key": KEY})[0] == 200
    assert KEY not in Path(f"/proc/{started['pid']}/environ").read_bytes().decode()


def test_start_prints_why_the_daemon_cannot_start(place: Workspace) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = place.fabricd("start", "--address", "127.0.0.1", "--port", port, "--json")
        assert (refused.code, refused.error["code"]) == (1, "daemon/port-taken")
        assert "--port" in refused.error["hint"]
    nowhere = place.fabricd("start", "--address", "192.0.2.1", "--json")
    assert (nowhere.code, nowhere.error["code"]) == (1, "daemon/bad-address")
    assert place.status == {"running": False}


def test_unwritable_folder_is_reported(place: Workspace) -> None:
    place.own.write_text("in the way")
    refused = place.fabricd("start", "--address", "127.0.0.1", "--json")
    assert (refused.code, refused.error["code"]) == (73, "disk/cannot-write")
    assert place.status == {"running": False}
    here = place.fabricd("--address", "127.0.0.1", "--json")
    assert (here.code, here.error["code"]) == (73, "disk/cannot-write")


def test_daemon_that_exits_at_once_is_reported_with_its_last_output(
    place: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "bottle.py").write_text("raise SystemExit('no luck today')")
    paths = f"{tmp_path / 'broken'}:{REPO}"
    refused = place.fabricd("start", "--address", "127.0.0.1", "--json", PYTHONPATH=paths)
    assert refused.code == 1
    assert refused.error["code"] == "daemon/not-started"
    assert "no luck today" in refused.error["message"]


def test_in_the_foreground_it_serves_until_a_signal(place: Workspace) -> None:
    child = place.begun("--address", "127.0.0.1", "--port", "0", "--json")
    until(lambda: (place.own / "daemon.pid").exists() or child.poll() is not None)
    assert place.status["pid"] == child.pid
    assert asked(place.status["port"], "/healthz")[0] == 200
    child.send_signal(signal.SIGTERM)
    done = ended(child)
    assert done.result["url"].startswith("http://127.0.0.1:")
    assert "Serving at http://127.0.0.1:" in done.err
    events = [json.loads(line)["event"] for line in done.err.splitlines() if line[0] == "{"]
    assert (events[0], events[-1]) == ("started", "stopped")


def test_config_api_serves_beside_a_daemon_and_writes_no_pid(place: Workspace) -> None:
    place.start()
    call = "import sys; from fabric.__main__ import main; sys.exit(main())"
    child = subprocess.Popen(
        [sys.executable, "-c", call, "config-api", "--address", "127.0.0.1", "--port", "0"],
        cwd=place.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stderr
    line = child.stderr.readline()
    port = int(line.split("127.0.0.1:")[1].split()[0])
    assert asked(port, "/version")[1]["server"] == "config-api"
    (place.root / "fabric.yml").write_text("service: nobody-asks-for-this\n")
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    client.request("POST", "/validate")
    assert json.loads(client.getresponse().read())["code"] == "input/no-config"
    client.close()
    child.send_signal(signal.SIGINT)
    done = ended(child)
    assert done.code == 0
    assert place.status["pid"] != child.pid


def test_warnings_stand_on_stderr_before_anything_else(place: Workspace) -> None:
    done = place.fabricd("start", "--port", "0", "--json")
    assert done.result["started"]
    assert len(done.err.splitlines()) == 3
    assert done.err.startswith("warning: no API key is set")


def test_systemd_is_notified_on_start_and_stop(place: Workspace) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.settimeout(60)
        heard.bind(f"{place.root}/notify")
        env = {"NOTIFY_SOCKET": f"{place.root}/notify", "WATCHDOG_USEC": "200000"}
        child = place.begun("--address", "127.0.0.1", "--port", "0", **env)
        assert heard.recv(100) == b"READY=1"
        assert heard.recv(100) == b"WATCHDOG=1"
        child.send_signal(signal.SIGTERM)
        words = b""
        while words != b"STOPPING=1":
            words = heard.recv(100)
        assert ended(child).code == 0
