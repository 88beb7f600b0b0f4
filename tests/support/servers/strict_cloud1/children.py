"""Runtimes that are kept warm: each is a process of one version, and runs one event at a time.

The numbers of the runtimes are not: whichever Node is on PATH, and the Python of the tests, without
the packages that are installed for the tests.
"""

import contextlib
import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.bundler_cache import ENVIRONMENT
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.functions import Version

_HERE = Path(__file__).parent
_PYTHON = Path(sys.base_prefix) / "bin" / "python3"
_DONE = b"\0\n"


@dataclass(frozen=True)
class Outcome:
    """`answer` is None where the runtime ended before it said anything."""

    answer: Fields | None
    printed: list[str]
    is_late: bool = False


class Child:
    def __init__(self, folder: Path, runtime: str, env: Mapping[str, str]) -> None:
        reader, writer = os.pipe()
        self._process = subprocess.Popen(
            _command(runtime),
            cwd=folder,
            env={**env, "RESULT_FD": str(writer)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[writer],
            start_new_session=True,
        )
        os.close(writer)
        self._answers = os.fdopen(reader)
        self._is_late = self._is_there = False

    def call(self, event: object, context: Fields) -> Outcome:
        """The time that a runtime takes to start is not the function's."""
        if not self._is_there:
            self._answers.readline()
            self._is_there = True
        timer = threading.Timer(context["seconds"], self._end_late)
        timer.start()
        try:
            return self._call(json.dumps({"event": event, "context": context}).encode())
        finally:
            timer.cancel()

    def _call(self, line: bytes) -> Outcome:
        given, printed = self._process.stdin, self._process.stdout
        assert given
        assert printed
        lines: list[str] = []
        with contextlib.suppress(BrokenPipeError):
            given.write(line + b"\n")
            given.flush()
        for said in printed:
            text = said.removesuffix(_DONE).decode(errors="replace").removesuffix("\n")
            lines += [text] if text else []
            if said.endswith(_DONE):
                return Outcome(json.loads(self._answers.readline()), lines)
        return Outcome(None, lines, self._is_late)

    def _end_late(self) -> None:
        self._is_late = True
        self.kill()

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> None:
        self.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._answers):
            with contextlib.suppress(BrokenPipeError):
                if stream:
                    stream.close()


def _command(runtime: str) -> list[str]:
    if runtime.startswith("python"):
        return [str(_PYTHON), "-S", "-u", str(_HERE / "python_child.py")]
    if runtime.startswith("provided"):
        return [str(_PYTHON), "-S", "-u", str(_HERE / "bootstrap_child.py")]
    return ["node", str(_HERE / "node_child.cjs")]


def _restore_modes(archive: zipfile.ZipFile, folder: Path) -> None:
    for one in archive.infolist():
        if one.external_attr >> 16 & 0o111:
            (folder / one.filename).chmod(0o755)


@dataclass
class Children:
    """`folder` holds the unpacked archives; a version's children are found by its ARN."""

    folder: Path
    most_idle: int = 24
    _idle: dict[str, list[Child]] = field(default_factory=dict)
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def call(
        self, version: Version, layers: list[bytes], env: Mapping[str, str], line: Fields
    ) -> Outcome:
        key = f"{version.arn} {version.settings['RevisionId']}"
        child = self._warm(key) or self._start(version, layers, env)
        outcome = child.call(line["event"], line["context"])
        if outcome.answer is None:
            child.end()
        else:
            self._keep(key, child)
        return outcome

    def _keep(self, key: str, child: Child) -> None:
        """For the next call; the oldest makes room."""
        with self._turn:
            self._idle.setdefault(key, []).append(child)
            surplus = self._oldest() if self._count() > self.most_idle else None
        if surplus:
            surplus.end()

    def _count(self) -> int:
        return sum(len(idle) for idle in self._idle.values())

    def _oldest(self) -> Child:
        key = next(key for key, idle in self._idle.items() if idle)
        child = self._idle[key].pop(0)
        if not self._idle[key]:
            del self._idle[key]
        return child

    def _warm(self, key: str) -> Child | None:
        with self._turn:
            idle = self._idle.get(key)
            return idle.pop() if idle else None

    def _start(self, version: Version, layers: list[bytes], env: Mapping[str, str]) -> Child:
        folder = self._unpacked(version, layers)
        own = {
            "PATH": ENVIRONMENT["PATH"],
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "TZ": ":UTC",
            "LAMBDA_TASK_ROOT": str(folder / "task"),
            "NODE_PATH": str(folder / "opt" / "nodejs" / "node_modules"),
            "PYTHONPATH": str(folder / "opt" / "python"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return Child(folder / "task", version.runtime, {**own, **env})

    def _unpacked(self, version: Version, layers: list[bytes]) -> Path:
        digest = hashlib.sha256()
        for content in (version.content, *layers):
            digest.update(hashlib.sha256(content).digest())
        folder = self.folder / digest.hexdigest()[:24]
        with self._turn:
            if not folder.exists():
                made = folder.with_suffix(".new")
                shutil.rmtree(made, ignore_errors=True)
                (made / "opt").mkdir(parents=True)
                for name, content in (("task", version.content), *(("opt", one) for one in layers)):
                    with zipfile.ZipFile(io.BytesIO(content)) as archive:
                        archive.extractall(made / name)
                        _restore_modes(archive, made / name)
                made.rename(folder)
        return folder

    def forget(self, arn: str) -> None:
        """Those of a function that is gone, or of one version of it."""
        self._end(lambda key: key.startswith((f"{arn} ", f"{arn}:")))

    def forget_account(self, number: str) -> None:
        self._end(lambda key: f":{number}:" in key)

    def close(self) -> None:
        self._end(lambda _: True)

    def _end(self, concerns: Callable[[str], bool]) -> None:
        with self._turn:
            keys = [one for one in self._idle if concerns(one)]
            children = [child for key in keys for child in self._idle.pop(key)]
        for child in children:
            child.end()
