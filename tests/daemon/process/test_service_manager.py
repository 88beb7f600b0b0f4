"""What systemd is told."""

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric.daemon.process.serving import ServiceManager


@contextlib.contextmanager
def systemd(path: str) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.settimeout(30)
        heard.bind(f"\0{path[1:]}" if path.startswith("@") else path)
        yield heard


@pytest.mark.parametrize("is_abstract", [False, True])
def test_status_is_sent_through_the_notify_socket(tmp_path: Path, *, is_abstract: bool) -> None:
    path = f"@{tmp_path}/notify" if is_abstract else f"{tmp_path}/notify"
    with systemd(path) as heard:
        manager = ServiceManager({"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "3000000"})
        manager.say("READY=1")
        manager.beat()
        assert [heard.recv(100), heard.recv(100)] == [b"READY=1", b"WATCHDOG=1"]
        assert manager.beat_seconds == 1.5


def test_without_a_socket_nothing_is_sent() -> None:
    manager = ServiceManager({"WATCHDOG_USEC": "3000000"})
    manager.say("READY=1")
    manager.beat()
    assert manager.beat_seconds > 60


def test_missing_socket_is_ignored(tmp_path: Path) -> None:
    ServiceManager({"NOTIFY_SOCKET": f"{tmp_path}/gone"}).say("READY=1")


def test_the_beat_of_another_process_is_not_ours(tmp_path: Path) -> None:
    own, other = str(os.getpid()), str(os.getpid() + 1)
    env = {"NOTIFY_SOCKET": f"{tmp_path}/n", "WATCHDOG_USEC": "3000000"}
    assert ServiceManager({**env, "WATCHDOG_PID": own}).beat_seconds == 1.5
    assert ServiceManager({**env, "WATCHDOG_PID": other}).beat_seconds > 60
