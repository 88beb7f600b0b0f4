"""Python builds in more than one interpreter, because each interpreter computes in one thread at a
time.

The first interpreter is this process. Once its builds take longer than starting another one, an
idle child process is preferred. The parser holds the interpreter lock, so a child that needed
replies from here would mostly wait. Results are the same as of a build in this process.
"""

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.contract import Builder, Built, InputTrace, Toolchain

if TYPE_CHECKING:
    from fabric.runtimes.subprocess_builder.child import BuildChild

# A child costs some 0.2 s of a processor. Asking it costs a millisecond or so; and where builds are
# short, a run mostly writes what they made, which all threads can do at once.
_ALL_SECONDS = 1.0
_EACH_SECONDS = 0.01


class Spreading(Struct, frozen=True):
    """Limits: the maximum number of `children`, and the processor time of local builds that
    justifies them, in total and on average."""

    children: int
    # That of this process.
    environment: Mapping[str, str]
    all_seconds: float = _ALL_SECONDS
    each_seconds: float = _EACH_SECONDS


class ManyInterpreters:
    """A builder around another one, for one run. Thread-safe.

    A lost child is not replaced: its builds, and all remaining ones, run in this process.
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
        """The process ids of the running children."""
        with self._lock:
            return tuple(one.pid for one in self._all)

    @property
    def problem(self) -> Problem | None:
        """The warning of the run about lost children, in addition to task messages."""
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

    def record_inputs(self, workspace: Path, inputs: BuildInputs) -> InputTrace:
        return self._builder.record_inputs(workspace, inputs)

    def build(self, workspace: Path, inputs: BuildInputs) -> Built:
        """Build one function in any of the interpreters."""
        if inputs.command or not inputs.runtime.startswith("python"):
            return self._builder.build(workspace, inputs)
        child = self._take_child()
        built = self._build_in_child(child, workspace, inputs) if child else None
        if built is not None:
            return built
        return self._build_locally(workspace, inputs)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            children, self._all, self._free = self._all, [], []
        for child in children:
            child.close()

    def _take_child(self) -> "BuildChild | None":
        """Return an idle child, or a new one if that pays off."""
        with self._lock:
            self._threads.add(threading.get_ident())
            if self._free:
                return self._free.pop()
            if self._left_to_start <= 0 or not self._is_worth_it():
                return None
            self._left_to_start -= 1
        return self._start_child()

    def _is_worth_it(self) -> bool:
        """Return whether another child pays off. A single thread would only wait for it."""
        most = max(self._spreading.all_seconds, self._built * self._spreading.each_seconds)
        return len(self._threads) > 1 and self._spent >= most

    def _start_child(self) -> "BuildChild | None":
        """Start a child, or return None if the machine cannot create a process: the build must not
        fail for that."""
        from fabric.runtimes.subprocess_builder.child import (
            BuildChild,
            select_import_variables,
        )  # few runs want one

        try:
            child = BuildChild(select_import_variables(self._spreading.environment))
        except (FabricError, OSError):
            return None
        with self._lock:
            if not self._is_closed:
                self._all.append(child)
                return child
        child.close()
        return None

    def _build_in_child(
        self, child: "BuildChild", workspace: Path, inputs: BuildInputs
    ) -> Built | None:
        """Build in a child, or return None if the build must run here."""
        from fabric.runtimes.subprocess_builder.child import LostChildError

        try:
            answer = child.answer(workspace, inputs)
        except LostChildError:
            self._remove_child(child)
            return None
        with self._lock:
            if not self._is_closed:
                self._free.append(child)
        if answer.problems:
            raise FabricError(*answer.problems)
        return answer.built

    def _remove_child(self, child: "BuildChild") -> None:
        with self._lock:
            is_ours = child in self._all
            if is_ours:
                self._all.remove(child)
                self.lost += 1
        if is_ours:
            child.close()

    def _build_locally(self, workspace: Path, inputs: BuildInputs) -> Built:
        began = time.thread_time()
        try:
            return self._builder.build(workspace, inputs)
        finally:
            with self._lock:
                self._built += 1
                self._spent += time.thread_time() - began
