"""Functions in node, kept warm: a few at a time, for each is a process."""

import contextlib
import io
import json
import os
import shutil
import subprocess
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

_MOST_WARM = 8
_RUNNER = Path(__file__).with_name("runner.mjs")


@dataclass
class Child:
    """One call at a time."""

    process: subprocess.Popen[bytes]
    answers: IO[str]
    folder: Path
    guard: threading.Lock = field(default_factory=threading.Lock)

    def call(self, event: Mapping[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"event": event}).encode() + b"\n")
        self.process.stdin.flush()
        line = self.answers.readline()
        return dict(json.loads(line)) if line else {"error": {"errorMessage": "it ended"}}

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
        self._warm: OrderedDict[tuple[str, str], Child] = OrderedDict()

    def call(
        self, key: tuple[str, str], content: bytes, env: Mapping[str, str], event: dict[str, Any]
    ) -> tuple[dict[str, Any], list[str]]:
        """What it answered, and what it has written meanwhile; `key` is a deploy and a name."""
        with self._guard:
            child = self._warm.get(key) or _begun(key[1], content, env)
            self._warm[key] = child
            self._warm.move_to_end(key)
            while len(self._warm) > _MOST_WARM:
                self._warm.popitem(last=False)[1].end()
        log = child.folder / ".log"
        with child.guard:
            before = log.stat().st_size
            answer = child.call(event)
            return answer, log.read_text(errors="replace")[before:].splitlines()

    def end(self) -> None:
        with self._guard:
            for child in self._warm.values():
                child.end()
            self._warm.clear()


def _begun(name: str, content: bytes, env: Mapping[str, str]) -> Child:
    folder = Path(tempfile.mkdtemp(prefix="host2-"))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(folder)
    reading, writing = os.pipe()
    node = find_node(ENVIRONMENT)
    argv = [str(node), str(_RUNNER), name, str(writing)]
    given = {"PATH": ENVIRONMENT["PATH"], "HOME": str(folder), **env}
    with (folder / ".log").open("ab") as log:
        process = subprocess.Popen(
            argv, cwd=folder, env=given, stdin=subprocess.PIPE, stdout=log, stderr=log,
            pass_fds=(writing,),
        )  # fmt: skip
    os.close(writing)
    return Child(process, os.fdopen(reading), folder)
