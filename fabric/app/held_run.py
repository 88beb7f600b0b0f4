"""A run that somebody holds: known by its id before it begins, and stopped by a call."""

import contextlib
import threading
from collections.abc import Iterator
from contextvars import ContextVar

from fabric.engine.run import Run
from fabric.system.child_group import ChildGroup

GRACE_SECONDS = 30.0


class HeldRun:
    """A use case that is called inside of `held` is this run: its events and files bear the id, and
    the children that are started for it are nobody else's. Thread-safe.

    To `stop` it once is a first Ctrl-C: nothing new starts, and what runs has `grace` seconds to
    end. Once more cuts it off. A wish that comes before the run begins counts when it does.
    """

    def __init__(self, run_id: str, grace: float = GRACE_SECONDS) -> None:
        self.id = run_id
        self._grace = grace
        self._children = ChildGroup()
        self._lock = threading.Lock()
        self._wishes = 0
        self._run: Run | None = None

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        token = _HELD.set(self)
        try:
            with self._children.joined():
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
        """Stop it, and do not wait for what runs."""
        while self._wishes < _CUTTING:
            self.stop()

    @contextlib.contextmanager
    def carries(self, run: Run) -> Iterator[None]:
        """What was wished before is wished of this run."""
        with self._lock:
            self._run = run
            for _ in range(self._wishes):
                run.ask_to_stop(self._grace)
        try:
            yield
        finally:
            with self._lock:
                self._run = None


def held_run() -> HeldRun | None:
    """The run that this thread works for, if somebody holds it."""
    return _HELD.get()


_CUTTING = 2
_HELD: ContextVar[HeldRun | None] = ContextVar("held_run", default=None)
