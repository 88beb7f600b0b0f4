"""The warm children of many functions: starts, calls and ends."""

import collections
import itertools
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from fabric.model.problems import FabricError
from fabric.runtimes.calls.bootstrap import find_bootstrap_command
from fabric.runtimes.calls.call_end import NO_CALL, CallEnd, CallFailure, Failing, redact_call
from fabric.runtimes.calls.child import ChildLife, HandlerChild
from fabric.runtimes.calls.child_process import ChildStart
from fabric.runtimes.calls.differences import LocalCall, list_differences
from fabric.runtimes.calls.environment import build_environment, build_harness_settings
from fabric.runtimes.calls.folder import FunctionFolder
from fabric.runtimes.calls.function import LocalFunction
from fabric.runtimes.calls.program import find_program
from fabric.system.event_loop import EventLoop
from fabric.system.files.disk import write_problem
from fabric.system.process.child_reaper import ChildReaper

_LOOK = 5.0


class PoolLimits(Struct, frozen=True):
    """Limits: children per function, children in total, and idle time of a child."""

    instances: int = 4
    most: int = 40
    idle_seconds: float = 600


USUAL = PoolLimits()
Done = Callable[[CallEnd], None]


def _ignore_end(_name: str, _end: CallEnd) -> None:
    pass


class _WaitingCall(Struct):
    event: bytes
    done: Done


class _Version:
    """One version of a function. Its directory is created for the first child and deleted with the
    last."""

    def __init__(self, function: LocalFunction) -> None:
        self.function = function
        self.folder: FunctionFolder | None = None
        self.emulator = ""
        self.children: list[HandlerChild] = []

    @property
    def lives(self) -> bool:
        return any(child.life is not ChildLife.ENDED for child in self.children)

    @property
    def loading(self) -> int:
        return sum(child.life is ChildLife.LOADING for child in self.children)

    @property
    def idle(self) -> HandlerChild | None:
        """The idle child with the most recent call: its caches are warmest."""
        found = [child for child in self.children if child.life is ChildLife.IDLE]
        return max(found, key=lambda child: child.idle_since) if found else None


class _Entry:
    """A function: its active version, its next version, and waiting calls."""

    def __init__(self, function: LocalFunction) -> None:
        self.name = function.name
        self.now = _Version(function)
        self.next: _Version | None = None
        self.waiting: collections.deque[_WaitingCall] = collections.deque()
        self.calls: dict[HandlerChild, Done] = {}
        self.at_take_over: list[Callable[[], None]] = []


class HandlerPool:
    """A pool of children, used only by the thread of its event loop. Children start with the first
    call of their function."""

    def __init__(
        self,
        loop: EventLoop,
        parent: Mapping[str, str],
        limits: PoolLimits = USUAL,
        told: Callable[[str, CallEnd], None] = _ignore_end,
    ) -> None:
        """Create a pool. `told` receives the output and cause of a child that ended between two
        calls."""
        self._loop, self._parent, self._limits = loop, parent, limits
        self._told = told
        self._entries: dict[str, _Entry] = {}
        self._owners: dict[HandlerChild, tuple[_Entry, _Version]] = {}
        self._folder: Path | None = None
        self._keeper: ChildReaper | None = None
        self._numbers = itertools.count()
        self._is_looking = False

    def put(self, function: LocalFunction) -> None:
        """Add a function or a new version of one. A child of it loads beside the old ones and then
        takes over."""
        entry = self._entries.get(function.name)
        if entry is None:
            self._entries[function.name] = _Entry(function)
            return
        if (entry.next or entry.now).function.is_as(function):
            return
        if entry.next is not None:
            self._end_idle_children(entry.next)
        entry.next = _Version(function)
        if not entry.now.lives or not self._start(entry, entry.next):
            self._take_over(entry)

    def drop(self, name: str) -> None:
        """Remove a function. Running calls finish; waiting calls fail."""
        entry = self._entries.pop(name, None)
        if entry is None:
            return
        versions = (entry.now, entry.next)
        # None of its children is of the version that answers: they end with their calls.
        entry.now, entry.next = _Version(entry.now.function), None
        for version in filter(None, versions):
            self._end_idle_children(version)
        message = "no longer exists"
        self._fail_waiting(entry, CallFailure(Failing.CANNOT_START, message))

    def call(self, name: str, event: bytes, done: Done) -> None:
        """Start a call. `event` is JSON text in one line; the event loop calls `done` once."""
        entry = self._entries[name]
        entry.waiting.append(_WaitingCall(event, done))
        self._serve(entry)

    def when_ready(self, name: str, call: Callable[[], None]) -> None:
        """Call back immediately, or once the new version of a function has taken over."""
        entry = self._entries[name]
        if entry.next is None:
            call()
        else:
            entry.at_take_over.append(call)

    @property
    def pids(self) -> Mapping[str, tuple[int, ...]]:
        """Return the process ids of each function's running children."""
        return {
            name: tuple(child.pid for child in entry.now.children)
            for name, entry in self._entries.items()
        }

    def close(self) -> None:
        """Close the pool. All children have ended when it returns; waiting calls are abandoned."""
        for entry in self._entries.values():
            entry.waiting.clear()
        for child in tuple(self._owners):
            child.end()
        self._loop.run_until(lambda: not self._owners)
        if self._keeper is not None:
            self._keeper.close()
        elif self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _serve(self, entry: _Entry) -> None:
        """Assign waiting calls to idle children, and start more children within the limits."""
        while entry.waiting:
            child = entry.now.idle
            if child is None:
                break
            one = entry.waiting.popleft()
            entry.calls[child] = one.done
            child.call(one.event)
        if entry.next is not None and not entry.now.lives:
            return
        while len(entry.waiting) > entry.now.loading:
            if len(entry.now.children) >= self._limits.instances or not self._has_room():
                break
            if not self._start(entry, entry.now):
                break

    def _has_room(self) -> bool:
        """Return whether one more child can start, possibly after ending the child that is idle
        longest."""
        if len(self._owners) < self._limits.most:
            return True
        if any(child.life is ChildLife.ENDED for child in self._owners):
            return False  # one is about to go
        idle = [child for child in self._owners if child.life is ChildLife.IDLE]
        if idle:
            min(idle, key=lambda child: child.idle_since).end()
        return False

    def _start(self, entry: _Entry, version: _Version) -> bool:
        try:
            child = self._start_child(version)
        except FabricError as error:
            failure = CallFailure(Failing.CANNOT_START, error.first.message, problem=error.first)
            self._fail_waiting(entry, failure)
            return False
        version.children.append(child)
        self._owners[child] = (entry, version)
        self._look_after_idle()
        return True

    def _start_child(self, version: _Version) -> HandlerChild:
        function = version.function
        program = find_program(function, self._parent)
        if version.folder is None:
            top = self._ensure_folder() / f"{next(self._numbers)}-{function.name}"
            version.folder = FunctionFolder(function, top, program.python)
        folder = version.folder.for_child()
        env = build_environment(function, folder, self._parent)
        argv = program.argv
        if program.is_bootstrap:
            argv = find_bootstrap_command(function, folder.code, self._parent)
            version.emulator = "".join(Path(one).name for one in argv[:-1])
        start = ChildStart(
            argv=argv,
            folder=folder.code,
            env=env,
            said=msgspec.json.encode(build_harness_settings(function, folder, env)) + b"\n",
            seconds=function.timeout,
            memory=function.memory,
            freezes=function.caller.facts.freezes,
            is_bootstrap=program.is_bootstrap,
            resource=function.caller.resource,
        )
        child = HandlerChild(self._loop, start, self._handle_settled, self._handle_gone)
        self._keeper = self._keeper or ChildReaper(self._ensure_folder())
        self._keeper.begun(child.pid)
        return child

    def _ensure_folder(self) -> Path:
        if self._folder is None:
            try:
                self._folder = Path(tempfile.mkdtemp(prefix="fabric-invoke-")).resolve()
            except OSError as error:
                raise write_problem(Path(tempfile.gettempdir()), error) from error
        return self._folder

    def _handle_settled(self, child: HandlerChild, end: CallEnd) -> None:
        entry, version = self._owners[child]
        done = entry.calls.pop(child, None)
        end = redact_call(end, version.function.hide)
        foreign = version.folder.foreign if version.folder else ()
        warnings = list_differences(LocalCall(version.function, end, foreign, version.emulator))
        end = msgspec.structs.replace(end, warnings=warnings)
        if done is not None:
            done(end)
        if version is entry.next:
            self._take_over(entry)
        elif done is None and end.failure is not None and version is entry.now:
            # It did not load: neither would the next.
            self._fail_waiting(entry, end.failure, end)
        if version is not entry.now and child.life is ChildLife.IDLE:
            child.end()
        self._serve(entry)
        if len(self._owners) >= self._limits.most:
            self._serve_all()

    def _take_over(self, entry: _Entry) -> None:
        """Make the next version active. The last calls of the old one continue."""
        old, new = entry.now, entry.next
        assert new is not None  # noqa: S101 - callers looked
        entry.now, entry.next = new, None
        self._end_idle_children(old)
        waiting, entry.at_take_over = entry.at_take_over, []
        for call in waiting:
            call()
        self._serve(entry)

    def _end_idle_children(self, version: _Version) -> None:
        for child in version.children:
            if child.life in (ChildLife.IDLE, ChildLife.LOADING):
                child.end()
        self._tidy(version)

    def _tidy(self, version: _Version) -> None:
        """Delete the directory of an unused version in the background, because a large one takes
        time."""
        folder = version.folder
        if folder is not None and not version.children:
            version.folder = None
            threading.Thread(target=folder.remove, name="folder-remover").start()

    def _handle_gone(self, child: HandlerChild) -> None:
        entry, version = self._owners.pop(child)
        version.children.remove(child)
        if self._keeper is not None:
            self._keeper.report_end(child.pid)
        if version is not entry.now and version is not entry.next:
            self._tidy(version)
        if child.last_words is not None:
            self._told(entry.name, redact_call(child.last_words, version.function.hide))
        self._serve_all()

    def _serve_all(self) -> None:
        """Serve waiting calls, because a slot is possibly free now."""
        for entry in tuple(self._entries.values()):
            if entry.waiting:
                self._serve(entry)

    def _fail_waiting(self, entry: _Entry, failure: CallFailure, end: CallEnd = NO_CALL) -> None:
        while entry.waiting:
            one = entry.waiting.popleft()
            one.done(msgspec.structs.replace(end, failure=failure))

    def _look_after_idle(self) -> None:
        """Check all idle children together, and again while there are any."""
        if self._is_looking:
            return
        self._is_looking = True
        self._loop.later(min(_LOOK, self._limits.idle_seconds), self._end_idle)

    def _end_idle(self) -> None:
        self._is_looking = False
        latest = time.monotonic() - self._limits.idle_seconds
        for child in self._owners:
            if child.life is ChildLife.IDLE and child.idle_since < latest:
                child.end()
        if self._owners:
            self._look_after_idle()
