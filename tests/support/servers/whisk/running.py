"""Actions in node and python, kept warm: a few at a time, for each is a process."""

import contextlib
import io
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from fabric.runtimes.nodejs.toolchain import find_node
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.servers.whisk.entities import code_of

_MOST_WARM = 8
_HERE = Path(__file__).parent
# A busy machine delays actions that answer just before their limit.
_GRACE_SECONDS = 2
_LATE = {"error": "The action exceeded its time limits"}


@dataclass
class Child:
    """One call at a time."""

    process: subprocess.Popen[bytes]
    answers: IO[str]
    folder: Path
    guard: threading.Lock = field(default_factory=threading.Lock)

    def call(self, given: Mapping[str, Any], seconds: float) -> dict[str, Any] | None:
        """None where it took too long."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(given).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return {"error": "Initialization has failed due to: it ended"}
        ready, _, _ = select.select([self.answers], [], [], seconds)
        if not ready:
            return None
        line = self.answers.readline()
        return dict(json.loads(line)) if line else {"error": "it ended"}

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.answers.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Children:
    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._warm: OrderedDict[tuple[str, ...], Child] = OrderedDict()

    def call(
        self, key: tuple[str, ...], row: Mapping[str, Any], env: Mapping[str, str], given: Any
    ) -> tuple[dict[str, Any], list[str]]:
        """What it answered, and what it has written meanwhile; `key` is an action's version."""
        with self._guard:
            child = self._warm.get(key) or _begun(row["exec"], env)
            self._warm[key] = child
            self._warm.move_to_end(key)
            while len(self._warm) > _MOST_WARM:
                self._warm.popitem(last=False)[1].end()
        log = child.folder / ".log"
        with child.guard:
            before = log.stat().st_size
            answer = child.call(given, row["limits"]["timeout"] / 1000 + _GRACE_SECONDS)
            lines = log.read_text(errors="replace")[before:].splitlines()
        if answer is None:
            with self._guard:
                self._warm.pop(key, child).end()
        return answer or _LATE, lines

    def end(self) -> None:
        with self._guard:
            for child in self._warm.values():
                child.end()
            self._warm.clear()


def _begun(run: Mapping[str, Any], env: Mapping[str, str]) -> Child:
    folder = Path(tempfile.mkdtemp(prefix="whisk-"))
    own = folder / "own"
    own.mkdir()
    _laid_out(run, own)
    reading, writing = os.pipe()
    is_python = run["kind"].startswith("python")
    begin = [sys.executable, str(_HERE / "runner.py")] if is_python else _node()
    argv = [*begin, str(own), run.get("main") or "main", str(writing)]
    given = {"PATH": ENVIRONMENT["PATH"], "HOME": str(folder), **env}
    with (folder / ".log").open("ab") as log:
        process = subprocess.Popen(
            argv, cwd=folder, env=given, stdin=subprocess.PIPE, stdout=log, stderr=log,
            pass_fds=(writing,),
        )  # fmt: skip
    os.close(writing)
    answers = os.fdopen(reading)
    # To begin has a time of its own; one that ended says so when it is called.
    answers.readline()
    return Child(process, answers, folder)


def _node() -> list[str]:
    return [str(find_node(ENVIRONMENT)), str(_HERE / "runner.cjs")]


def _laid_out(run: Mapping[str, Any], folder: Path) -> None:
    """Code that is no archive is a script."""
    content = code_of(run)
    if content is not None:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            archive.extractall(folder)
        return
    main = run.get("main") or "main"
    (folder / "index.js").write_text(f"{run['code']}\nexports.{main} = {main};\n")
