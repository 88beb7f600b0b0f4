"""Functions in node and python, kept warm: a few at a time, for each is a process."""

import base64
import io
import os
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from fabric.runtimes.nodejs.toolchain import find_node
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.servers.cloud4.account import Account, HeldFunction, Row
from tests.support.servers.whisk.running import Child

_MOST_WARM = 8
_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Ended:
    """What a call gave: its bytes, or what was thrown; and the lines written meanwhile."""

    content: bytes
    thrown: Row | None
    lines: tuple[str, ...]


class Instances:
    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._warm: OrderedDict[tuple[str, ...], Child] = OrderedDict()

    def call(self, account: Account, held: HeldFunction, qualifier: str, event: bytes) -> Ended:
        with account.guard:
            version = held.version_at(qualifier)
            row, code = held.config_at(version), held.code_at(version)
        key = (row["functionId"], version or f"latest {hash(code)}")
        with self._guard:
            child = self._warm.get(key) or _begun(row, code)
            self._warm[key] = child
            self._warm.move_to_end(key)
            while len(self._warm) > _MOST_WARM:
                self._warm.popitem(last=False)[1].end()
        ended = self._ended(child, row, event)
        if ended.thrown and ended.thrown["errorType"] == "FunctionTimedOut":
            with self._guard:
                self._warm.pop(key, child).end()
        account.lines.setdefault(row["functionName"], []).extend(ended.lines)
        return ended

    def _ended(self, child: Child, row: Row, event: bytes) -> Ended:
        log = child.folder / ".log"
        with child.guard:
            before = log.stat().st_size
            said = child.call({"event": base64.b64encode(event).decode()}, row["timeout"])
            lines = tuple(log.read_bytes()[before:].decode(errors="replace").splitlines())
        if said is None:
            late = {"errorMessage": "Function timed out", "errorType": "FunctionTimedOut"}
            return Ended(b"", late, lines)
        if "answer" in said:
            return Ended(base64.b64decode(said["answer"]), None, lines)
        gone = {"errorMessage": "the instance ended", "errorType": "UnhandledInvocationError"}
        return Ended(b"", said.get("thrown", gone), lines)

    def end(self) -> None:
        with self._guard:
            for child in self._warm.values():
                child.end()
            self._warm.clear()


def _begun(row: Row, code: bytes) -> Child:
    folder = Path(tempfile.mkdtemp(prefix="cloud4-"))
    own = folder / "code"
    own.mkdir()
    with zipfile.ZipFile(io.BytesIO(code)) as archive:
        archive.extractall(own)
    reading, writing = os.pipe()
    argv = [*_program(row["runtime"]), str(own), row["handler"], str(writing)]
    env = {"PATH": ENVIRONMENT["PATH"], "HOME": str(folder), **row.get("environmentVariables", {})}
    with (folder / ".log").open("ab") as log:
        process = subprocess.Popen(
            argv, cwd=own, env=env, stdin=subprocess.PIPE, stdout=log, stderr=log,
            pass_fds=(writing,),
        )  # fmt: skip
    os.close(writing)
    answers = os.fdopen(reading)
    # To begin has a time of its own; one that ended says so when it is called.
    answers.readline()
    return Child(process, answers, folder)


def _program(runtime: str) -> list[str]:
    if runtime.startswith("python"):
        return [sys.executable, str(_HERE / "runner.py")]
    return [str(find_node(ENVIRONMENT)), str(_HERE / "runner.cjs")]
