"""Groups of children: those of one run can be ended without affecting others."""

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from fabric.model.problems import Problem, StoppedError

# Children that live now. They have sessions of their own, so nobody else would end them.
_LIVE: dict[subprocess.Popen[bytes], "ChildGroup"] = {}
# What is done on other machines, and how it is ended.
_ELSEWHERE: dict[Callable[[], object], "ChildGroup"] = {}


class ChildGroup:
    """The children of everything inside `joined`, in this thread and in threads with its context.

    Thread-safe. A closed group rejects new children.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_closed = False

    @contextlib.contextmanager
    def join(self) -> Iterator[None]:
        token = _GROUP.set(self)
        try:
            yield
        finally:
            _GROUP.reset(token)

    def refuse_if_closed(self) -> None:
        if self._is_closed:
            raise StoppedError(Problem("run/cancelled", "the run was stopped"))

    def add(self, child: subprocess.Popen[bytes]) -> None:
        with self._lock:
            _LIVE[child] = self
            is_late = self._is_closed
        if is_late:
            send_signal(child, signal.SIGKILL)

    @contextlib.contextmanager
    def end_with(self, end: Callable[[], object]) -> Iterator[None]:
        """Call `end` when the children are ended, for work in other places."""
        self.refuse_if_closed()
        _ELSEWHERE[end] = self
        try:
            yield
        finally:
            _ELSEWHERE.pop(end, None)

    def kill(self) -> None:
        """End all running children without waiting."""
        for end, group in tuple(_ELSEWHERE.items()):
            if group is self:
                end()
        for child, group in tuple(_LIVE.items()):
            if group is self and child.poll() is None:
                send_signal(child, signal.SIGKILL)

    def close(self) -> None:
        """End all children, including those about to start."""
        with self._lock:
            self._is_closed = True
        self.kill()


def get_child_group() -> ChildGroup:
    """Return the group of the current work; without a run, the group of the process."""
    return _GROUP.get() or _OF_THE_PROCESS


def forget(child: subprocess.Popen[bytes]) -> None:
    """Remove an ended child: there is nothing left to kill."""
    _LIVE.pop(child, None)


def send_signal(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal the child's whole session, if any of it still exists."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, number)


_OF_THE_PROCESS = ChildGroup()
_GROUP: ContextVar[ChildGroup | None] = ContextVar("child_group", default=None)
