"""Functions in node, kept warm: a few at a time, for each is a process."""

import contextlib
import http.client
import os
import shutil
import subprocess
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabric.runtimes.nodejs.toolchain import find_node
from tests.support.bundler_cache import ENVIRONMENT

_MOST_WARM = 8
_SECONDS = 30
_SCRIPT = Path(__file__).with_name("serve.mjs")
_OURS = frozenset(("connection", "content-length", "transfer-encoding", "keep-alive"))


@dataclass(frozen=True)
class Passed:
    """A request, or its answer; headers as they came."""

    content: bytes
    headers: Sequence[tuple[str, str]]
    status: int = 200


@dataclass(frozen=True)
class FunctionFiles:
    """What a function is made of: contents with their modes, and which of them is its handler."""

    files: Mapping[str, tuple[bytes, int]]
    handler: str
    env: Mapping[str, str]
    log: Path


@dataclass(frozen=True)
class Instance:
    process: subprocess.Popen[bytes]
    folder: Path
    port: int

    def ask(self, method: str, target: str, given: Passed) -> Passed:
        if not self.port:
            return Passed(b"FUNCTION_INVOCATION_FAILED", [], 500)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_SECONDS)
        with contextlib.closing(connection):
            connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
            for name, value in given.headers:
                if name.lower() not in _OURS:
                    connection.putheader(name, value)
            if given.content or method in ("POST", "PUT", "PATCH"):
                connection.putheader("Content-Length", str(len(given.content)))
            connection.endheaders(given.content or None)
            answer = connection.getresponse()
            found = [one for one in answer.getheaders() if one[0].lower() not in _OURS]
            return Passed(answer.read(), found, answer.status)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Instances:
    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._warm: OrderedDict[tuple[str, str], Instance] = OrderedDict()

    def of(self, key: tuple[str, str], files: FunctionFiles) -> Instance:
        """`key` is a deployment and a name."""
        with self._guard:
            found = self._warm.get(key)
            if found is None or found.process.poll() is not None:
                found = _begun(files)
            self._warm[key] = found
            self._warm.move_to_end(key)
            while len(self._warm) > _MOST_WARM:
                self._warm.popitem(last=False)[1].end()
            return found

    def end(self) -> None:
        with self._guard:
            for one in self._warm.values():
                one.end()
            self._warm.clear()


def _begun(given: FunctionFiles) -> Instance:
    folder = Path(tempfile.mkdtemp(prefix="host1-"))
    for path, (content, mode) in given.files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(mode & 0o777)
    reading, writing = os.pipe()
    argv = [str(find_node(ENVIRONMENT)), str(_SCRIPT), given.handler, str(writing)]
    env = {"PATH": ENVIRONMENT["PATH"], "HOME": str(folder), **given.env, "VERCEL": "1"}
    with given.log.open("ab") as log:
        process = subprocess.Popen(
            argv, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            pass_fds=(writing,),
        )  # fmt: skip
    os.close(writing)
    with os.fdopen(reading) as told:
        port = told.readline().strip()
    return Instance(process, folder, int(port or 0))
