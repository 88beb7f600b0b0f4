"""Builds of Python in more than one interpreter: of each, only one thread computes at a time.

The first is this one. Once builds have held it for longer than it takes to start another, a child
process that is free builds first, and this one beside it: a parser lets no other thread go on, so a
child that had to wait for a word from here would mostly wait. What comes back is what would have
been built here.
"""

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.contract import Builder, Built, Seen, Toolchain

if TYPE_CHECKING:
    from fabric.runtimes.elsewhere.child import BuildChild

# A child costs some 0.2 s of a processor. Asking it costs a millisecond or so; and where builds are
# short, a run mostly writes what they made, which all threads can do at once.
_ALL_SECONDS = 1.0
_EACH_SECONDS = 0.01


class Spreading(Struct, frozen=True):
    """How many `children` there may be at most. They are worth it once builds took so long here,
    of a processor: all of this run, and each on average. `environment` is that of this process."""

    children: int
    environment: Mapping[str, str]
    all_seconds: float = _ALL_SECONDS
    each_seconds: float = _EACH_SECONDS


class ManyInterpreters:
    """A builder around another one, for one run. Thread-safe.

    A child that is lost is not replaced: what it was asked for is built here, and so is the rest.
    """

    def __init__(self, builder: Builder, spreading: Spreading) -> None:
        self._builder = builder
        self._spreading = spreading
        self._lock = threading.Lock()
        self._threads: set[int] = set()
        self._built = 0
        self._spent = 0.0
        self._left_to_start = spreading.children
        self._free: list[BuildChild] = []
        self._all: list[BuildChild] = []
        self._is_closed = False
        self.lost = 0

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes of the children that live."""
        with self._lock:
            return tuple(one.pid for one in self._all)

    @property
    def problem(self) -> Problem | None:
        """What is to be told of the run, beside what its tasks say."""
        if not self.lost:
            return None
        return Problem(
            "build/child-lost",
            "a parallel build process exited early; its function was built in the main process",
            hint="use --concurrency 1 to disable parallel processes; a common cause is too "
            "little memory",
        )

    def toolchain(self, workspace: Path, inputs: BuildInputs) -> Toolchain:
        return self._builder.toolchain(workspace, inputs)

    def entry(self, workspace: Path, inputs: BuildInputs) -> str:
        return self._builder.entry(workspace, inputs)

    def seen(self, workspace: Path, inputs: BuildInputs) -> Seen:
        return self._builder.seen(workspace, inputs)

    def build(self, workspace: Path, inputs: BuildInputs) -> Built:
        """One function's files, wherever they are made."""
        if inputs.command or not inputs.runtime.startswith("python"):
            return self._builder.build(workspace, inputs)
        child = self._child()
        built = self._built_by(child, workspace, inputs) if child else None
        if built is not None:
            return built
        return self._built_here(workspace, inputs)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            children, self._all, self._free = self._all, [], []
        for child in children:
            child.close()

    def _child(self) -> "BuildChild | None":
        """One that is free, or a new one where that is worth it."""
        with self._lock:
            self._threads.add(threading.get_ident())
            if self._free:
                return self._free.pop()
            if self._left_to_start <= 0 or not self._is_worth_it():
                return None
            self._left_to_start -= 1
        return self._started()

    def _is_worth_it(self) -> bool:
        """One thread alone would only wait for a child."""
        most = max(self._spreading.all_seconds, self._built * self._spreading.each_seconds)
        return len(self._threads) > 1 and self._spent >= most

    def _started(self) -> "BuildChild | None":
        """None where this machine gives no process more: that is no reason to fail."""
        from fabric.runtimes.elsewhere.child import BuildChild, needed_of  # few runs want one

        try:
            child = BuildChild(needed_of(self._spreading.environment))
        except (FabricError, OSError):
            return None
        with self._lock:
            if not self._is_closed:
                self._all.append(child)
                return child
        child.close()
        return None

    def _built_by(self, child: "BuildChild", workspace: Path, inputs: BuildInputs) -> Built | None:
        """None where it has to be built here."""
        from fabric.runtimes.elsewhere.child import LostChildError

        try:
            answer = child.answer(workspace, inputs)
        except LostChildError:
            self._lose(child)
            return None
        with self._lock:
            if not self._is_closed:
                self._free.append(child)
        if answer.problems:
            raise FabricError(*answer.problems)
        return answer.built

    def _lose(self, child: "BuildChild") -> None:
        with self._lock:
            is_ours = child in self._all
            if is_ours:
                self._all.remove(child)
                self.lost += 1
        if is_ours:
            child.close()

    def _built_here(self, workspace: Path, inputs: BuildInputs) -> Built:
        began = time.thread_time()
        try:
            return self._builder.build(workspace, inputs)
        finally:
            with self._lock:
                self._built += 1
                self._spent += time.thread_time() - began
