"""A PostgreSQL server of our own: fresh data, a password, a free port of the loopback address."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg

from fabric.system.files.disk import lock_file
from tests.support.bundler_cache import ENVIRONMENT, TOOLCHAIN
from tests.support.servers.process import Command, free_port, running

_SCRIPT = Path(__file__).parents[3] / "scripts" / "test-tools.sh"
_PASSWORD = "p@ss/word of-the tests"  # noqa: S105
_IN_URL = "p%40ss%2Fword%20of-the%20tests"


@dataclass(frozen=True)
class Server:
    port: int
    password: str = _PASSWORD

    @property
    def url(self) -> str:
        return self.url_with(_IN_URL)

    def url_with(self, password: str) -> str:
        return f"postgresql://postgres:{password}@127.0.0.1:{self.port}/postgres"


@contextlib.contextmanager
def postgres() -> Iterator[Server]:
    server = Server(free_port())
    # Not below pytest's folders: those are closed to the user that the server runs as.
    folder = Path(tempfile.mkdtemp(prefix="fabric-pg-", dir="/tmp"))
    try:
        with running(_prepared(folder, server.port), lambda: _answers(server)):
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _prepared(folder: Path, port: int) -> Command:
    user = _unprivileged()
    (folder / "password").write_text(_PASSWORD)
    if user:
        for path in (folder, folder / "password"):
            os.chown(path, *user)
    programs = _programs()
    words = ["-U", "postgres", "-A", "scram-sha-256", "--pwfile", str(folder / "password")]
    subprocess.run(
        [programs / "initdb", "-D", folder / "data", "--no-sync", "-E", "UTF8", *words],
        cwd=folder,
        env={**ENVIRONMENT, "LC_ALL": "C.UTF-8"},
        user=user and user[0],
        group=user and user[1],
        extra_groups=user and [],
        stdout=subprocess.DEVNULL,
        check=True,
    )
    argv = [str(programs / "postgres"), "-D", str(folder / "data"), "-p", str(port)]
    for setting in ("listen_addresses=127.0.0.1", f"unix_socket_directories={folder}", "fsync=off"):
        argv += ["-c", setting]
    return Command(argv, folder, user=user)


def _unprivileged() -> tuple[int, int] | None:
    """The server refuses to run as root."""
    if os.geteuid():
        return None
    nobody = pwd.getpwnam("nobody")
    return nobody.pw_uid, nobody.pw_gid


def _programs() -> Path:
    with lock_file(TOOLCHAIN.parent / "postgres.lock"):
        if found := _found():
            return found
        subprocess.run(["sh", _SCRIPT], check=True)
    found = _found()
    assert found, "PostgreSQL was installed, and is not where Debian puts it"
    return found


def _found() -> Path | None:
    if program := shutil.which("initdb"):
        return Path(program).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return versions[-1].parent if versions else None


def _answers(server: Server) -> bool:
    try:
        psycopg.connect(server.url, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True
