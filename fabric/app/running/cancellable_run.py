"""A cancellable run: its id is known before it begins, and a call stops it."""

import contextlib
import threading
from collections.abc import Iterator
from contextvars import ContextVar

from fabric.engine.run import Run
from fabric.system.process.child_group import ChildGroup

GRACE_SECONDS = 30.0


class CancellableRun:
    """A cancellable run. Use cases called inside `held` belong to it: events and files have its id.
    Thread-safe.

    A first `stop` works like Ctrl-C: nothing new starts, and running tasks have `grace` seconds. A
    second `stop` aborts. A stop before the run begins applies when it begins.
    """

    def __init__(self, run_id: str, grace: float = GRACE_SECONDS) -> None:
        self.id = run_id
        self._grace = grace
        self._children = ChildGroup()
        self._lock = threading.Lock()
        self._wishes = 0
        self._run: Run | None = None

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        token = _HELD.set(self)
        try:
            with self._children.join():
                yield
        finally:
            _HELD.reset(token)

    @property
    def is_stopping(self) -> bool:
        return self._wishes > 0

    def stop(self) -> None:
        with self._lock:
            self._wishes += 1
            if self._run is not None:
                # It cuts its tasks off by itself, and tells them so first.
                self._run.ask_to_stop(self._grace)
            elif self._wishes >= _CUTTING:
                self._children.close()

    def cut(self) -> None:
        """Stop the run without waiting for running tasks."""
        while self._wishes < _CUTTING:
            self.stop()

    @contextlib.contextmanager
    def carries(self, run: Run) -> Iterator[None]:
        """Apply earlier stop requests to this run."""
        with self._lock:
            self._run = run
            for _ in range(self._wishes):
                run.ask_to_stop(self._grace)
        try:
            yield
        finally:
            with self._lock:
                self._run = None


def get_held_run() -> CancellableRun | None:
    """Return the cancellable run of this thread, if there is one."""
    return _HELD.get()


_CUTTING = 2
_HELD: ContextVar[CancellableRun | None] = ContextVar("held_run", default=None)
