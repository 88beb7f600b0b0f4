"""The unit, the image and the stack: what stands in them is run as it stands, with its own
environment, and without a container engine."""

import configparser
import json
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabric.cli.daemon.flags import DaemonFlags
from fabric.cli.daemon.orders import build_daemon_order
from fabric.cli.flags_of import fill_flags
from fabric.daemon.process.serving import EndingTimes
from tests.cli.daemon.test_orders import settings_in
from tests.cli.test_flags import line
from tests.support.daemons import Workspace, asked, ended, workspace
from tests.support.project import REPO, environment
from tests.support.until import until

TIMES = EndingTimes()
LONGEST = TIMES.to_end + TIMES.when_asked + TIMES.when_cut + TIMES.answers
LED = """
import ctypes, os, subprocess, sys, time
from fabric.daemon.process.pid1 import run_supervised

def run():
    # One whose parent ends before it does is the first process' from then on.
    subprocess.run(["sh", "-c", "sleep 0.05 & echo $!"], check=True)
    os.write(1, b"ready\\n")
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        return 7

ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # orphans come to us, as they come to process 1
sys.exit(run_supervised(run))
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Workspace]:
    with workspace(tmp_path) as found:
        yield found


def unit() -> dict[str, str]:
    found = configparser.ConfigParser(interpolation=None)
    found.optionxform = str  # type: ignore[assignment, method-assign]
    found.read(REPO / "contrib" / "fabricd.service")
    return dict(found["Service"])


def image() -> list[tuple[str, str]]:
    """The instructions of the last stage."""
    text = (REPO / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [row for row in text.splitlines() if row and not row.startswith("#")]
    last = max(number for number, row in enumerate(lines) if row.startswith("FROM"))
    return [(row.split(" ", 1)[0], row.split(" ", 1)[1].strip()) for row in lines[last:]]


def of_image(word: str) -> str:
    return next(rest for name, rest in image() if name == word)


def stack() -> dict[str, Any]:
    found = yaml.safe_load((REPO / "contrib" / "compose.yml").read_text())
    return dict(found["services"])


def test_unit_command_notifies_readiness_and_exits_cleanly(
    place: Workspace,
) -> None:
    service = unit()
    (place.root / "keys").write_text("a-key\n")
    words = service["ExecStart"].replace("${CREDENTIALS_DIRECTORY}", str(place.root))
    program, *rest = shlex.split(words.replace(service["WorkingDirectory"], str(place.root)))
    assert Path(program).name == "fabricd"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.settimeout(60)
        heard.bind(f"{place.root}/notify")
        env = {"NOTIFY_SOCKET": f"{place.root}/notify", "WATCHDOG_USEC": "200000"}
        child = place.begun(*rest, "--port", "0", **env)
        assert [heard.recv(100), heard.recv(100)] == [b"READY=1", b"WATCHDOG=1"]
        assert asked(place.status["port"], "/version", **{"X-API-Key": "a-key"})[0] == 200
        child.send_signal(signal.SIGTERM)
        assert ended(child).code == 0


def test_the_unit_waits_as_long_as_runs_may_take_to_end() -> None:
    service = unit()
    assert (service["Type"], service["KillMode"]) == ("notify", "mixed")
    assert int(service["TimeoutStopSec"]) > LONGEST
    assert int(service["WatchdogSec"]) >= 10
    assert service["ReadWritePaths"] == service["WorkingDirectory"]


def test_image_runs_unprivileged_on_the_documented_port() -> None:
    assert of_image("USER") not in ("root", "0")
    assert of_image("EXPOSE") == "8766"
    entry, more = json.loads(of_image("ENTRYPOINT")), json.loads(of_image("CMD"))
    assert entry == ["fabricd"]
    assert line(DaemonFlags, *more)["port"] == 8766
    assert of_image("WORKDIR") == "/workspace"


def test_files_copied_into_the_image_exist() -> None:
    rows = (REPO / "Dockerfile").read_text().splitlines()
    copied = [row.split()[1:-1] for row in rows if row.startswith("COPY") and "--from" not in row]
    assert copied
    assert [one for names in copied for one in names if not (REPO / one).exists()] == []


def test_image_health_check_detects_a_stopped_daemon(place: Workspace) -> None:
    words = json.loads(of_image("HEALTHCHECK").split("CMD ", 1)[1])
    started = place.start()

    def checked() -> int:
        program = words[2].replace(":8766", f":{started['port']}")
        command = [sys.executable, words[1], program]
        done = subprocess.run(
            command, check=False, capture_output=True, env=environment(place.root)
        )
        return done.returncode

    assert words[0] == "python"
    assert checked() == 0
    assert place.fabricd("stop").code == 0
    assert checked() != 0


def test_the_stack_is_a_daemon_with_a_key_and_the_address_of_its_cache(tmp_path: Path) -> None:
    services = stack()
    env = dict(services["daemon"]["environment"])
    assert env.pop("FABRIC_DAEMON_API_KEY").startswith("${FABRIC_DAEMON_API_KEY:?")
    flags = fill_flags(DaemonFlags, line(DaemonFlags))
    given = {**env, "FABRIC_DAEMON_API_KEY": "k"}
    order = build_daemon_order(flags, settings_in(tmp_path, given)).order
    assert order.options.cache.url == "redis://cache:6379/0"
    assert not order.is_insecure
    assert set(services["daemon"]["depends_on"]) == {"cache"}


def test_stack_allows_enough_stop_time_and_grants_minimal_permissions() -> None:
    services = stack()
    assert int(services["daemon"]["stop_grace_period"].rstrip("s")) > LONGEST
    for service in services.values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
    assert services["daemon"]["ports"] == ["127.0.0.1:8766:8766"]


def test_the_first_process_hands_signals_on_and_fetches_orphans() -> None:
    led = subprocess.Popen(
        [sys.executable, "-c", LED],
        stdout=subprocess.PIPE,
        env=environment(REPO),
        text=True,
    )
    assert led.stdout
    orphan = int(led.stdout.readline())
    assert led.stdout.readline() == "ready\n"
    until(lambda: not Path(f"/proc/{orphan}").exists())
    led.send_signal(signal.SIGINT)
    assert led.wait(60) == 7
    led.stdout.close()


def test_killed_server_is_reported_by_the_exit_code_of_the_init_process() -> None:
    program = LED.replace("time.sleep(60)", "os.kill(os.getpid(), 9)")
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, env=environment(REPO)
    )
    assert done.returncode == 137
