"""Machines as processes: files and images are laid out below a folder, and the command of the
config is run.

Processes of equal configs are shared and stay warm for a while: most tests make many machines of
one content.
"""

import base64
import contextlib
import hashlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabric.runtimes.nodejs.toolchain import find_node
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.servers.process import free_port
from tests.support.servers.pulled_images import pull

_MOST_WARM = 12
_READY_SECONDS = 20.0
# Paths of the machine in commands and variables.
_ROOTS = ("/fabric", "/tmp/fabric")  # noqa: S108 - the machine's own


@dataclass
class Child:
    process: subprocess.Popen[bytes]
    port: int
    folder: Path

    @property
    def exit_code(self) -> int | None:
        return self.process.poll()

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def is_ready(self, path: str) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)
        try:
            connection.request("GET", path)
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def await_ready(self, path: str) -> bool:
        """Whether its check passed, and not its end came first."""
        deadline = time.monotonic() + _READY_SECONDS
        while self.exit_code is None and time.monotonic() < deadline:
            if self.is_ready(path):
                return True
            time.sleep(0.01)
        return False

    def end(self) -> None:
        # Functions in Python have processes of their own.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Children:
    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._warm: OrderedDict[str, Child] = OrderedDict()

    def find(self, config: Mapping[str, Any], secrets: Mapping[str, str]) -> Child:
        """The process of this content, begun if there is none."""
        names = ("image", "init", "files", "env", "processes", "services")
        parts = {name: config.get(name) for name in names}
        content = json.dumps([parts, sorted(secrets.items())], sort_keys=True)
        key = hashlib.sha256(content.encode()).hexdigest()
        with self._guard:
            child = self._warm.get(key)
            if child is None or child.exit_code is not None:
                child = _begun(config, secrets)
            self._warm[key] = child
            self._warm.move_to_end(key)
            while len(self._warm) > _MOST_WARM:
                self._warm.popitem(last=False)[1].end()
        return child

    def end(self) -> None:
        with self._guard:
            for child in self._warm.values():
                child.end()
            self._warm.clear()


def _begun(config: Mapping[str, Any], secrets: Mapping[str, str]) -> Child:
    folder = Path(tempfile.mkdtemp(prefix="host3-"))
    if "@" in config["image"]:
        for file in pull(config["image"]).files("fabric"):
            path = folder / "fabric" / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.content)
    for one in config.get("files", ()):
        path = folder / one["guest_path"].lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(one["raw_value"], validate=True))
        path.chmod(one.get("mode", 0o644))
    (process,) = config["processes"]
    argv = [_below(folder, word) for word in process["exec"]]
    program = _program(config["image"], argv[0])
    env = {name: _below(folder, text) for name, text in config.get("env", {}).items()}
    if not config.get("services"):
        env.update(_early_minute(folder))

    port = free_port()
    with (folder / "log").open("ab") as log:
        running = subprocess.Popen(
            [program, *argv[1:]],
            cwd=folder,
            env={"PATH": ENVIRONMENT["PATH"], **env, **secrets, "PORT": str(port)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    return Child(running, port, folder)


def _early_minute(folder: Path) -> dict[str, str]:
    """The next minute begins about a second after a process starts."""
    (folder / "early.mjs").write_text(
        "const now = Date.now, ahead = 59_000 - (now() % 60_000);\n"
        "Date.now = () => now() + (process.env.FABRIC_CLOCK ? ahead : 0);\n"
    )
    (folder / "sitecustomize.py").write_text(
        "import os, time\n"
        "if 'FABRIC_CLOCK' in os.environ:\n"
        "    now = time.time\n"
        "    ahead = 59 - now() % 60\n"
        "    time.time = lambda: now() + ahead\n"
    )
    return {"NODE_OPTIONS": f"--import={folder / 'early.mjs'}", "PYTHONPATH": str(folder)}


def _below(folder: Path, text: str) -> str:
    return f"{folder}{text}" if text.startswith(_ROOTS) else text


def _program(image: str, name: str) -> str:
    """The program of the image, which is that of this machine."""
    family = image.partition(":")[0] if "@" not in image else name
    assert name == {"node": "node", "python": "python"}.get(family, name), (image, name)
    return sys.executable if name == "python" else os.fspath(find_node(ENVIRONMENT))
