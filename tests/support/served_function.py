"""A handler in the server that a container runs: the same files, without the container."""

import contextlib
import http.client
import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.bundler_cache import ENVIRONMENT
from tests.support.project import REPO
from tests.support.servers.process import free_port

_RUNTIMES = REPO / "fabric" / "runtimes"
_COMMANDS = {
    "nodejs": ("node", str(_RUNTIMES / "nodejs" / "server.mjs")),
    "python": (sys.executable, "-u", "-P", "-S", str(_RUNTIMES / "python" / "serve.py")),
}
_COMMANDS["program"] = _COMMANDS["python"]
_SECONDS = 20


@dataclass(frozen=True)
class Reply:
    """Headers as they came, each by itself."""

    status: int
    body: bytes
    headers: list[tuple[str, str]]

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def header(self, name: str) -> list[str]:
        return [value for own, value in self.headers if own.lower() == name]


@dataclass
class Served:
    port: int
    child: subprocess.Popen[bytes]
    log_file: Path

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | Iterator[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        with contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", self.port, timeout=_SECONDS)
        ) as connection:
            connection.request(method, path, body, dict(headers or {}))
            answer = connection.getresponse()
            return Reply(answer.status, answer.read(), answer.getheaders())

    @property
    def log(self) -> str:
        return self.log_file.read_text(errors="replace")

    def is_ready(self) -> bool:
        try:
            return self.ask("GET", "/.fabric/ready").status == 200
        except OSError:
            return False

    def end(self) -> int:
        self.child.send_signal(signal.SIGTERM)
        return self.child.wait(_SECONDS)


def laid_out(folder: Path, files: Mapping[str, str]) -> Path:
    """An archive in two parts."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o755 if name == "bootstrap" else 0o644) << 16
            archive.writestr(entry, text, zipfile.ZIP_DEFLATED)
    content, parts = packed.getvalue(), folder / "code"
    parts.mkdir()
    (parts / "archive.00").write_bytes(content[:50])
    (parts / "archive.01").write_bytes(content[50:])
    return parts


def started(
    language: str, folder: Path, files: Mapping[str, str], said: Mapping[str, Any], **env: str
) -> Served:
    port = free_port()
    conventions = {"nodejs": "request-response", "python": "app", "program": "event"}
    document = {
        "module": "index",
        "name": "handler",
        "functionName": "hello",
        "convention": conventions[language],
        "names": ["default", "app"],
        "methods": ["fetch"],
        "drain": 0.1,
        "program": language == "program",
        **said,
    }
    given = {
        "PATH": ENVIRONMENT["PATH"],
        "PORT": str(port),
        "FABRIC_SAID": json.dumps(document),
        "FABRIC_CODE": str(laid_out(folder, files)),
        "FABRIC_WORK": str(folder / "work"),
        **env,
    }
    with (folder / "log").open("ab") as log:
        child = subprocess.Popen(
            _COMMANDS[language],
            cwd=folder,
            env=given,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    return Served(port, child, folder / "log")


@contextlib.contextmanager
def serving(
    language: str, folder: Path, files: Mapping[str, str], said: Mapping[str, Any], **env: str
) -> Iterator[Served]:
    """Ready, until this is left."""
    served = started(language, folder, files, said, **env)
    try:
        deadline = time.monotonic() + _SECONDS
        while not served.is_ready():
            assert served.child.poll() is None, served.log
            assert time.monotonic() < deadline, served.log
            time.sleep(0.02)
        yield served
    finally:
        if served.child.poll() is None:
            os.killpg(served.child.pid, signal.SIGKILL)
        served.child.wait()
