"""Which children belong together: those of one run can be ended without anybody else's."""

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
    """Children of whatever is done inside of `joined`, in this thread and in those that are given
    its context. Thread-safe; once it is closed nobody joins it any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_closed = False

    @contextlib.contextmanager
    def joined(self) -> Iterator[None]:
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
            signal_group(child, signal.SIGKILL)

    @contextlib.contextmanager
    def ended_with(self, end: Callable[[], object]) -> Iterator[None]:
        """Inside, `end` is called when all of them are ended: for what is done elsewhere."""
        self.refuse_if_closed()
        _ELSEWHERE[end] = self
        try:
            yield
        finally:
            _ELSEWHERE.pop(end, None)

    def kill(self) -> None:
        """End all of them that live now. Waits for nothing."""
        for end, group in tuple(_ELSEWHERE.items()):
            if group is self:
                end()
        for child, group in tuple(_LIVE.items()):
            if group is self and child.poll() is None:
                signal_group(child, signal.SIGKILL)

    def close(self) -> None:
        """End all of them, those too that are about to be started."""
        with self._lock:
            self._is_closed = True
        self.kill()


def child_group() -> ChildGroup:
    """The group of what this thread does now; without a run of somebody's that of the process."""
    return _GROUP.get() or _OF_THE_PROCESS


def forget(child: subprocess.Popen[bytes]) -> None:
    """The child has ended: there is nothing left to kill."""
    _LIVE.pop(child, None)


def signal_group(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal the child's whole session, as far as there is any of it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, number)


_OF_THE_PROCESS = ChildGroup()
_GROUP: ContextVar[ChildGroup | None] = ContextVar("child_group", default=None)
