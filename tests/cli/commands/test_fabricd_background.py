"""A daemon in the background, started and stopped by command lines of this process."""

import contextlib
import fcntl
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from fabric.app.settings import Settings
from fabric.cli.daemon.main import run
from fabric.cli.start import CommandStart
from fabric.daemon.options import ServedProject, ServerKind
from fabric.daemon.process.control import launch_daemon, start
from fabric.daemon.process.order import ServeDoor, ServeOrder
from fabric.daemon.process.running import RunningDaemon, StartNote, lock_path
from fabric.system.files.pid_lock import LifeLock
from fabric.system.process.process_identity import identify_this_process
from tests.cli.commands.test_fabricd import fabricd
from tests.support.daemons import asked, workspace
from tests.support.in_process import signals_as_before
from tests.support.project import REPO, Done, environment

HERE = ("--address", "127.0.0.1", "--port", "0")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with workspace(tmp_path):
        yield tmp_path


def settings_in(folder: Path, **env: str) -> Settings:
    known = {**environment(folder), **env}
    return Settings(known, folder, 2, stdout_is_terminal=False, stderr_is_terminal=False)


def command(folder: Path, *words: str, **env: str) -> Done:
    """With the variables that a process of its own needs."""
    settings = settings_in(folder, **env)
    with signals_as_before(), CliRunner().isolation() as (out, err, _):
        code = run([*words, "--json"], CommandStart(words, settings))
        sys.stdout.flush()
        return Done(code, out.getvalue().decode(), err.getvalue().decode())


def test_it_is_started_once_looked_at_and_stopped(folder: Path) -> None:
    started = command(folder, "start", *HERE).result
    assert asked(started["port"], "/healthz")[0] == 200
    again = command(folder, "start", *HERE).result
    assert (again["started"], again["pid"]) == (False, started["pid"])
    assert command(folder, "status").result["port"] == started["port"]
    assert command(folder, "restart", *HERE).result["pid"] != started["pid"]
    assert command(folder, "stop").result["stopped"] is True
    assert command(folder, "stop").result["stopped"] is False
    words = fabricd(folder, "status")
    assert (words.code, words.out) == (3, "fabricd is not running here\n")


def test_start_command_prints_why_the_daemon_failed(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = command(folder, "start", "--address", "127.0.0.1", "--port", port)
        assert refused.error["code"] == "daemon/port-taken"
        here = command(folder, "--address", "127.0.0.1", "--port", port)
        assert here.error["code"] == "daemon/port-taken"
    (folder / "broken").mkdir()
    (folder / "broken" / "bottle.py").write_text("raise SystemExit('no luck today')")
    died = command(folder, "start", *HERE, PYTHONPATH=f"{folder / 'broken'}:{REPO}")
    assert died.error["code"] == "daemon/not-started"
    assert "no luck today" in died.error["message"]


def held(folder: Path, content: bytes) -> LifeLock:
    lock = LifeLock.take(lock_path(folder))
    assert lock is not None
    lock.say(content)
    return lock


def test_starting_daemon_without_identity_is_not_signalled(tmp_path: Path) -> None:
    with held(tmp_path, b"nonsense"):
        assert command(tmp_path, "stop").error["code"] == "daemon/unknown"
        assert command(tmp_path, "status").result == {"running": True}
        assert fabricd(tmp_path, "status").out == "fabricd is starting\n"
        assert command(tmp_path, *HERE).error["code"] == "daemon/running"


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"nonsense"])
def test_lock_holder_that_never_identifies_itself_is_not_taken_for_a_daemon(
    content: bytes, tmp_path: Path
) -> None:
    with held(tmp_path, content):
        refused = command(tmp_path, "start", *HERE)
    assert (refused.code, refused.error["code"]) == (1, "daemon/not-started")
    assert str(lock_path(tmp_path)) in refused.error["message"]
    assert "lsof" in refused.error["hint"]


@contextlib.contextmanager
def looked_at(folder: Path) -> Iterator[contextlib.ExitStack]:
    """Its lock is never free, and nobody holds it for a daemon."""
    lock_path(folder).parent.mkdir(mode=0o700)
    lock_path(folder).touch(mode=0o600)
    with contextlib.ExitStack() as looking:
        fcntl.flock(looking.enter_context(lock_path(folder).open()), fcntl.LOCK_SH)
        yield looking


def test_start_that_lost_the_lock_to_no_daemon_is_retried_once(folder: Path) -> None:
    with looked_at(folder) as looking:
        notes: list[StartNote | None] = []

        def launch(order: ServeOrder, settings: Settings) -> StartNote | None:
            notes.append(launch_daemon(order, settings))
            looking.close()
            return notes[-1]

        order = ServeOrder(
            ServerKind.DAEMON,
            str(folder),
            project=ServedProject(str(folder)),
            door=ServeDoor(address="127.0.0.1", port=0),
        )
        started = start(order, settings_in(folder), launch)
    assert [note.is_other for note in notes if note] == [True, False]
    assert isinstance(started.daemon, RunningDaemon)
    assert not started.was_running
    assert asked(started.daemon.port, "/healthz")[0] == 200


def test_start_that_loses_the_lock_twice_fails(folder: Path) -> None:
    with looked_at(folder):
        refused = command(folder, "start", *HERE)
        assert (refused.code, refused.error["code"]) == (1, "daemon/not-started")
    assert fabricd(folder, "status").out == "fabricd is not running here\n"


@pytest.mark.parametrize("change", [{"started": 1}, {"boot": "other"}, {"namespace": "other"}])
def test_process_that_is_not_this_daemon_or_host_is_not_signalled(
    change: dict[str, int | str], tmp_path: Path
) -> None:
    """Its number is that of this very process, which would end."""
    process = replace(identify_this_process(), **change)
    assert process.pid == os.getpid()
    said = RunningDaemon(process, "127.0.0.1", 1, "0.1.0", "2026-01-02T03:04:05.678Z")
    with held(tmp_path, msgspec.json.encode(said)):
        assert command(tmp_path, "stop").error["code"] == "daemon/elsewhere"
        assert command(tmp_path, "status").result["pid"] == process.pid
