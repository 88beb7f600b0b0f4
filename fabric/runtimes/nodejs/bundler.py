"""One warm Node child per run: requests are sent as lines, and answers arrive in any order."""

import collections
import contextlib
import itertools
import json
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from fabric.model.problems import FabricError, Problem
from fabric.system.process import end_child, start_child

_WORKER = Path(__file__).with_name("worker.mjs")
_STDERR_LINES = 20


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
