"""Azurite, the emulator of objstore3: from npm, installed once for all workers and runs."""

import base64
import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

from fabric.model.secrets.secret import Secret
from fabric.runtimes.nodejs.toolchain import find_node, find_npm_command
from fabric.system.clock import SystemClock
from fabric.system.crypto.shared_key import Objstore3Account, sign_request
from fabric.system.files.disk import lock_file, make_folder
from fabric.system.http.http_client import HttpRequest
from fabric.system.process.process import run_child
from tests.support.bundler_cache import ENVIRONMENT, TOOLCHAIN
from tests.support.servers.process import Command, free_port, listens, running

_VERSION = "3.35.0"
_CACHE = TOOLCHAIN.parent
_TRIES = 4
_NAME = "fabricstate"
_KEY = base64.b64encode(b"a key that only the tests know of").decode()
CONTAINER = "state"


@dataclass(frozen=True)
class Azurite:
    endpoint: str
    name: str = _NAME
    key: str = _KEY


@contextlib.contextmanager
def azurite(folder: Path) -> Iterator[Azurite]:
    """With one empty container."""
    port = free_port()
    server = Azurite(f"http://127.0.0.1:{port}/{_NAME}")
    script = installed() / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
    argv = [str(find_node(ENVIRONMENT)), str(script), "--blobHost", "127.0.0.1"]
    argv += ["--blobPort", str(port), "--inMemoryPersistence", "--silent"]
    argv += ["--skipApiVersionCheck", "--disableTelemetry"]
    command = Command(argv, folder, {"AZURITE_ACCOUNTS": f"{_NAME}:{_KEY}"})
    with running(command, lambda: listens(port)):
        _make_container(server)
        yield server


def installed() -> Path:
    folder = _CACHE / f"azurite-{_VERSION}"
    with lock_file(_CACHE / "azurite.lock"):
        if not folder.exists():
            _install(folder)
    return folder


def _install(folder: Path) -> None:
    fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
    argv = [*find_npm_command(ENVIRONMENT), "install", "--no-audit", "--no-fund", "--no-save"]
    argv += ["--ignore-scripts", "--prefix", str(fresh), f"azurite@{_VERSION}"]
    env = {**ENVIRONMENT, "PATH": f"{find_node(ENVIRONMENT).parent}:{ENVIRONMENT['PATH']}"}
    make_folder(fresh)
    tries = (run_child(argv, cwd=fresh, env=env, timeout=300) for _ in range(_TRIES))
    if all(result.code for result in tries):
        shutil.rmtree(fresh, ignore_errors=True)
        raise RuntimeError(f"cannot install azurite: see npm's log, or run {argv}")
    fresh.rename(folder)


def _make_container(server: Azurite) -> None:
    account = Objstore3Account(server.name, Secret(base64.b64decode(server.key)), server.endpoint)
    request = HttpRequest("PUT", f"{server.endpoint}/{CONTAINER}?restype=container")
    headers = dict(sign_request(request, account, SystemClock()).headers.reveal())
    httpx.put(request.url, headers=headers).raise_for_status()
