"""Daemons in processes of their own, and none of them left over."""

import contextlib
import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.project import Done, environment
from tests.support.until import until

_CALL = "import sys; from fabric.__main__ import daemon_main; sys.exit(daemon_main())"
_SECONDS = 60


@dataclass
class Workspace:
    """A folder, and `fabricd` to be called from there."""

    root: Path
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def own(self) -> Path:
        return self.root / ".fabric"

    @property
    def log(self) -> str:
        return (self.own / "daemon.log").read_text()

    def begun(self, *words: str, **env: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", _CALL, *words],
            cwd=self.root,
            env={**environment(self.root), **self.env, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def fabricd(self, *words: str, **env: str) -> Done:
        return ended(self.begun(*words, **env))

    def start(self, *words: str, **env: str) -> dict[str, Any]:
        said = ("start", "--json", "--address", "127.0.0.1", "--port", "0", *words)
        return self.fabricd(*said, **env).result

    @property
    def status(self) -> dict[str, Any]:
        done = self.fabricd("status", "--json")
        document = done.document["result"]
        assert done.code == (0 if document["running"] else 3)
        return dict(document)

    def end(self) -> None:
        """Whatever the test did: it lives no longer than the test."""
        with contextlib.suppress(OSError, ValueError, KeyError, AssertionError):
            pid = int(self.status["pid"])
            os.kill(pid, 9)
            until(lambda: not Path(f"/proc/{pid}/exe").exists())


def ended(child: "subprocess.Popen[str]") -> Done:
    out, err = child.communicate(timeout=_SECONDS)
    return Done(child.returncode, out, err)


@contextlib.contextmanager
def workspace(folder: Path) -> Iterator[Workspace]:
    found = Workspace(folder)
    try:
        yield found
    finally:
        found.end()


def asked(port: int, path: str, **headers: str) -> tuple[int, Any]:
    return _answer(port, "GET", path, headers)


def posted(port: int, path: str, **headers: str) -> tuple[int, Any]:
    """Without a body."""
    return _answer(port, "POST", path, headers)


def _answer(port: int, method: str, path: str, headers: Mapping[str, str]) -> tuple[int, Any]:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    with contextlib.closing(client):
        client.request(method, path, headers=headers)
        answer = client.getresponse()
        return answer.status, json.loads(answer.read())
