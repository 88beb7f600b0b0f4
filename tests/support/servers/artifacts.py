"""The server of Turborepo's artifacts from npm, and turbo itself: installed once for all runs."""

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fabric.runtimes.nodejs.toolchain import find_node, find_npm_command
from fabric.system.files.disk import lock_file, make_folder
from fabric.system.process.process import run_child
from tests.support.bundler_cache import ENVIRONMENT, TOOLCHAIN
from tests.support.servers.process import Command, free_port, listens, running

_SERVER = "turborepo-remote-cache@2.12.0"
_TURBO = "turbo@2.11.11"
_CACHE = TOOLCHAIN.parent
TEAM = "team_of_tests"
TOKEN = "token-of-the-tests"  # noqa: S105
READ_TOKEN = "another-token"  # noqa: S105


@dataclass(frozen=True)
class ArtifactServer:
    port: int
    folder: Path

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def objects(self, team: str = TEAM) -> list[Path]:
        return sorted(path for path in (self.folder / "store" / team).glob("*") if path.is_file())


@contextlib.contextmanager
def artifact_server(folder: Path, env: Mapping[str, str] | None = None) -> Iterator[ArtifactServer]:
    server = ArtifactServer(free_port(), folder)
    script = installed() / "node_modules" / "turborepo-remote-cache" / "dist" / "index.js"
    settings = {
        "NODE_ENV": "production",
        "HOST": "127.0.0.1",
        "PORT": str(server.port),
        "TURBO_TOKEN": TOKEN,
        "STORAGE_PROVIDER": "local",
        "STORAGE_PATH": str(folder / "store"),
        "STORAGE_PATH_USE_TMP_FOLDER": "false",
        "LOG_LEVEL": "error",
        **(env or {}),
    }
    command = Command([str(find_node(ENVIRONMENT)), str(script)], folder, settings)
    with running(command, lambda: listens(server.port)):
        yield server


def turbo_program() -> Path:
    return installed() / "node_modules" / ".bin" / "turbo"


def installed() -> Path:
    """The folder that has its `node_modules`."""
    folder = _CACHE / f"artifacts-{_SERVER.rpartition('@')[2]}-{_TURBO.rpartition('@')[2]}"
    if not folder.exists():
        with lock_file(_CACHE / "artifacts.lock", 600):
            if not folder.exists():
                _install(folder)
    return folder


def _install(folder: Path) -> None:
    fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
    argv = [*find_npm_command(ENVIRONMENT), "install", "--no-audit", "--no-fund", "--no-save"]
    argv += ["--ignore-scripts", "--prefix", str(fresh), _SERVER, _TURBO]
    env = {**ENVIRONMENT, "PATH": f"{find_node(ENVIRONMENT).parent}:{ENVIRONMENT['PATH']}"}
    make_folder(fresh)
    if run_child(argv, cwd=fresh, env=env, timeout=300).code:
        shutil.rmtree(fresh, ignore_errors=True)
        raise RuntimeError(f"cannot install {_SERVER}: see npm's log, or run {argv}")
    fresh.rename(folder)
