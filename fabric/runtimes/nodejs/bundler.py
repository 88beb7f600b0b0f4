"""One warm Node child per run: requests are sent as lines, and answers arrive in any order."""

import collections
import contextlib
import itertools
import json
import os
import threading
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.system.process.process import end_child, start_child

_WORKER = Path(__file__).with_name("worker.mjs")
_STDERR_LINES = 20
# Modules of the worker's own, each for a package of a layer.
_LAYERED = "fabric-layer:"


class Bundler:
    """A warm bundler. Thread-safe. The child starts with the first request and ends with
    `close`."""

    def __init__(self, node: Path, environment: Mapping[str, str]) -> None:
        # No NODE_OPTIONS and no bundler's own variables: they would change what is built.
        env = {
            name: environment[name] for name in ("PATH", "HOME", "TMPDIR") if name in environment
        }
        self._child = start_child([str(node), str(_WORKER)], cwd=_WORKER.parent, env=env)
        self._ids = itertools.count()
        # Two locks: a writer that waits for a full pipe must not keep answers from being taken.
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._waiting: dict[int, Future[Any]] = {}
        self._stderr: collections.deque[bytes] = collections.deque(maxlen=_STDERR_LINES)
        self._dead = False
        self._threads = [
            threading.Thread(target=work, name=f"bundler-{work.__name__}", daemon=True)
            for work in (self._read_answers, self._read_stderr)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def is_dead(self) -> bool:
        return self._dead

    def ask(self, bundler: Path, options: Mapping[str, Any]) -> Any:
        """Run one build and return the worker's answer. Raises if the child has ended."""
        answer: Future[Any] = Future()
        with self._lock:
            if self._dead:
                raise self._exit_error()
            number = next(self._ids)
            self._waiting[number] = answer
        self._send({"id": number, "bundler": str(bundler), "options": options})
        return answer.result()

    def close(self) -> None:
        stdin = self._child.stdin
        if stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                stdin.close()
        end_child(self._child)
        for thread in self._threads:
            thread.join(5)
        for stream in (self._child.stdout, self._child.stderr):
            if stream is not None:
                stream.close()

    def _send(self, request: Mapping[str, Any]) -> None:
        assert self._child.stdin is not None  # noqa: S101 - start_child always pipes
        line = json.dumps(request).encode() + b"\n"
        # Where the child is gone, the reader thread sees its end and fails this request with it.
        with self._writing, contextlib.suppress(BrokenPipeError, ValueError):
            self._child.stdin.write(line)
            self._child.stdin.flush()

    def _read_answers(self) -> None:
        for line in self._child.stdout or ():
            if not self._take(line):
                end_child(self._child)
                break
        self._child.wait()
        self._threads[1].join(5)
        with self._lock:
            self._dead = True
            waiting, self._waiting = self._waiting, {}
        for waiter in waiting.values():
            waiter.set_exception(self._exit_error())

    def _take(self, line: bytes) -> bool:
        """Deliver an answer to its waiting caller; False if the line is not an answer."""
        try:
            answer = json.loads(line)
            with self._lock:
                waiter = self._waiting.pop(answer["id"])
        except (ValueError, KeyError, TypeError):
            self._stderr.append(line)
            return False
        waiter.set_result(answer)
        return True

    def _read_stderr(self) -> None:
        self._stderr.extend(self._child.stderr or ())

    def _exit_error(self) -> FabricError:
        last = b"".join(self._stderr).decode(errors="replace").strip()
        return FabricError(
            Problem(
                "runtime/bundler-died",
                f"the bundler process exited (exit code {self._child.poll()})",
                hint="run the command again; the lines above are its last output",
                frame=last,
            )
        )


class Import(Struct, frozen=True):
    """An import."""

    specifier: str
    # The absolute path of the match; empty if nothing was resolved (external).
    path: str = ""


class Module(Struct, frozen=True):
    path: str
    imports: tuple[Import, ...] = ()


def read_modules(root: str, inputs: Mapping[str, Any]) -> tuple[Module, ...]:
    """Read the modules of a metafile's `inputs`, whose paths are relative to `root`.

    Sorted, because the bundler's order depends on other files and on timing.
    """
    return tuple(
        Module(_make_absolute(root, name), tuple(_convert_imports(root, entry["imports"])))
        for name, entry in sorted(inputs.items())
        if not name.startswith(_LAYERED)
    )


def select_bundled(modules: Iterable[Module], outside: Collection[str]) -> tuple[Module, ...]:
    """Return the modules without external imports that the bundle does not contain. A metafile's
    `inputs` list imports of types and of removed code as external ones."""
    return tuple(
        replace(one, imports=tuple(i for i in one.imports if i.path or i.specifier in outside))
        for one in modules
    )


def _convert_imports(root: str, entries: list[Mapping[str, Any]]) -> list[Import]:
    return [_import(root, entry) for entry in entries]


def _import(root: str, entry: Mapping[str, Any]) -> Import:
    if entry.get("external") or entry["path"].startswith(_LAYERED):
        return Import(entry.get("original", entry["path"]))
    return Import(entry.get("original", entry["path"]), _make_absolute(root, entry["path"]))


def _make_absolute(root: str, name: str) -> str:
    # A module that a `browser` field turned off keeps its path behind this prefix.
    return os.path.normpath(os.path.join(root, name.removeprefix("(disabled):")))
