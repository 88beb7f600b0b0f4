"""Published packages as processes: a package is unpacked, and a stand-in for the host of Azure
Functions serves it.

Processes of equal packages and settings are shared and stay warm for a while.
"""

import contextlib
import hashlib
import http.client
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fabric.runtimes.nodejs.toolchain import find_node
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.servers.process import free_port

_STANDIN = Path(__file__).parent / "standin"
_MOST_WARM = 12
_READY_SECONDS = 20.0


@dataclass
class Host:
    process: subprocess.Popen[bytes]
    port: int
    folder: Path

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def await_ready(self) -> bool:
        deadline = time.monotonic() + _READY_SECONDS
        while self.process.poll() is None and time.monotonic() < deadline:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)
            with contextlib.closing(connection), contextlib.suppress(OSError):
                connection.connect()
                return True
            time.sleep(0.01)
        return False

    def trigger(self, function: str, text: str) -> tuple[int, str]:
        """Call a function as its trigger does."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        with contextlib.closing(connection):
            body = json.dumps({"input": text})
            connection.request("POST", f"/admin/functions/{function}", body)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Hosts:
    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._warm: OrderedDict[str, Host] = OrderedDict()

    def find(self, package: bytes, runtime: str, settings: Mapping[str, str]) -> Host:
        """The host of this package, begun if there is none."""
        own = {name: text for name, text in settings.items() if name.startswith("FABRIC_")}
        told = json.dumps([runtime, sorted(own.items())]).encode()
        key = hashlib.sha256(package + told).hexdigest()
        with self._guard:
            host = self._warm.get(key)
            if host is None or host.process.poll() is not None:
                host = _begun(package, runtime, own)
            self._warm[key] = host
            self._warm.move_to_end(key)
            while len(self._warm) > _MOST_WARM:
                self._warm.popitem(last=False)[1].end()
        host.await_ready()
        return host

    def end(self) -> None:
        with self._guard:
            for host in self._warm.values():
                host.end()
            self._warm.clear()


def _begun(package: bytes, runtime: str, settings: Mapping[str, str]) -> Host:
    folder = Path(tempfile.mkdtemp(prefix="cloud3-"))
    app, port = folder / "wwwroot", free_port()
    with zipfile.ZipFile(io.BytesIO(package)) as archive:
        archive.extractall(app)
    if runtime == "python":
        argv = [sys.executable, "-u", str(_STANDIN / "host.py.txt"), str(app), str(port)]
    else:
        argv = [os.fspath(find_node(ENVIRONMENT)), str(_STANDIN / "host.mjs"), str(app), str(port)]
    env = {"PATH": ENVIRONMENT["PATH"], **settings}
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            argv,
            cwd=app,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    return Host(process, port, folder)
