"""Sources that were uploaded, in the real functions framework: a process for each revision."""

import contextlib
import hashlib
import http.client
import io
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fabric.runtimes.nodejs.toolchain import find_node
from tests.support import functions_framework
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.servers.cloud2.refusals import BuildFailedError
from tests.support.servers.process import free_port, listens
from tests.support.servers.pulled_images import PulledImage

_SECONDS = 60
_OURS = frozenset(("connection", "content-length", "transfer-encoding", "host"))
# Sources that have run once need not show again that they do.
_GOOD: set[str] = set()


@dataclass(frozen=True)
class Passed:
    """A request, or its answer; headers as they came."""

    content: bytes
    headers: Sequence[tuple[str, str]]
    status: int = 200


@dataclass
class Instance:
    """What serves a revision, while it does."""

    folder: Path
    source: bytes
    runtime: str
    env: Mapping[str, str]
    child: subprocess.Popen[bytes] | None = None
    port: int = 0
    guard: threading.Lock = field(default_factory=threading.Lock)

    @property
    def log(self) -> str:
        file = self.folder / "log"
        return file.read_text(errors="replace") if file.is_file() else ""

    def check(self) -> None:
        """BuildFailedError for what does not start."""
        key = hashlib.sha256(self.source + self.runtime.encode()).hexdigest()
        if key not in _GOOD:
            self.start()
            _GOOD.add(key)

    def start(self) -> None:
        with self.guard:
            if self.child is None or self.child.poll() is not None:
                self._start()

    def _prepare(self, workspace: Path) -> tuple[list[str], dict[str, str]]:
        """Lay out the source, and return the command and its variables."""
        with zipfile.ZipFile(io.BytesIO(self.source)) as archive:
            archive.extractall(workspace)
        argv, own = _command(self.runtime, workspace, self.port)
        return argv, {**own, **self.env}

    def _start(self) -> None:
        workspace = self.folder / "workspace"
        self.port = free_port()
        argv, given = self._prepare(workspace)
        env = {"PATH": ENVIRONMENT["PATH"], "HOME": str(workspace), **given}
        with (self.folder / "log").open("ab") as log:
            self.child = subprocess.Popen(
                argv,
                cwd=workspace,
                env={**env, "PORT": str(self.port)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + _SECONDS
        while not listens(self.port):
            if self.child.poll() is not None or time.monotonic() > deadline:
                said = " ".join(self.log.split())[-1500:]
                raise BuildFailedError(f"Container Healthcheck failed. Logs: {said}")
            time.sleep(0.01)

    def ask(self, method: str, target: str, given: Passed) -> Passed:
        self.start()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_SECONDS)
        with contextlib.closing(connection):
            headers = [one for one in given.headers if one[0].lower() not in _OURS]
            connection.putrequest(method, target, skip_accept_encoding=True)
            for name, value in headers:
                connection.putheader(name, value)
            if given.content or method in ("POST", "PUT", "PATCH"):
                connection.putheader("Content-Length", str(len(given.content)))
            connection.endheaders(given.content or None)
            answer = connection.getresponse()
            return Passed(answer.read(), answer.getheaders(), answer.status)

    def stop(self) -> None:
        if self.child is not None and self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()
        self.child = None


class ImageInstance(Instance):
    """A container without its base: paths of the container are below the workspace."""

    def __init__(
        self, folder: Path, pulled: PulledImage, command: tuple[str, ...], env: Mapping[str, str]
    ) -> None:
        super().__init__(folder, pulled.layers[-1], "image", env)
        self._pulled, self._argv = pulled, command

    def check(self) -> None:
        self.start()

    def _prepare(self, workspace: Path) -> tuple[list[str], dict[str, str]]:
        for top in ("fabric", "var"):
            for one in self._pulled.files(top):
                path = workspace / top / one.path
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(one.content)
                path.chmod(one.mode)
        programs = {"python": sys.executable, "node": str(find_node(ENVIRONMENT))}
        argv = [programs.get(one, _inside(workspace, one)) for one in self._argv]
        env = {name: _inside(workspace, text) for name, text in self.env.items()}
        return argv, env


def _inside(workspace: Path, text: str) -> str:
    """A path of the container as a path of this machine."""
    is_own = text.startswith(("/fabric/", "/var/task", "/tmp/"))  # noqa: S108 - the container's own
    return f"{workspace}{text}" if is_own else text


def _command(runtime: str, workspace: Path, port: int) -> tuple[list[str], dict[str, str]]:
    asked = ("--target=fabric", f"--port={port}")
    if runtime.startswith("nodejs"):
        if not (workspace / "package.json").is_file():
            raise BuildFailedError("Build failed: function.js does not exist")
        main = functions_framework.node_framework() / "build" / "src" / "main.js"
        return [str(find_node(ENVIRONMENT)), str(main), f"--source={workspace}", *asked], {}
    if not (workspace / "main.py").is_file():
        raise BuildFailedError("Build failed: missing main.py and GOOGLE_FUNCTION_SOURCE not set")
    argv = [sys.executable, "-u", "-m", "functions_framework", *asked]
    packages = {"PYTHONPATH": str(functions_framework.python_framework())}
    return [*argv, f"--source={workspace / 'main.py'}"], packages
