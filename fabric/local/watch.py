"""Wait until one of many paths changes: existing paths by stat, missing ones by appearing.

Stats decide. If system events are available (the extra `watch`), they trigger the checks; otherwise
paths are polled ten times a second.
"""

import contextlib
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

LOOK_SECONDS = 0.1
# A burst is over when nothing has moved for so long.
_QUIET_SECONDS = 0.03
# Events may be lost: it is looked once in a while all the same.
_SELDOM_MS = 2000
_PASSED_OVER = frozenset({".git", ".fabric", "node_modules", "__pycache__", ".venv"})

Stats = Mapping[str, tuple[int, ...] | None]


def read_stats(paths: Iterable[str]) -> Stats:
    """Return the stat of each path, None if it does not exist."""
    return {path: _read_stat(path) for path in paths}


def _read_stat(path: str) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - thousands of them, ten times a second
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def find_moved(before: Stats, now: Stats) -> tuple[str, ...]:
    return tuple(sorted(path for path, stat in now.items() if before.get(path, stat) != stat))


def list_all_below(folder: Path) -> Iterator[str]:
    """Yield files and directories, except those of tools."""
    for base, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _PASSED_OVER]
        yield base
        yield from (f"{base}/{name}" for name in names)


class Hint(Protocol):
    """Returns when something has possibly changed, or when `stop` is set."""

    def wait(self, paths: Iterable[str], stop: threading.Event) -> None: ...


class Looking:
    """Polling ten times a second."""

    def wait(self, paths: Iterable[str], stop: threading.Event) -> None:
        del paths
        stop.wait(LOOK_SECONDS)


class Events:
    """System events of the directories that contain the paths."""

    def __init__(self) -> None:
        self._folders: frozenset[str] = frozenset()
        self._notify: object = None

    def wait(self, paths: Iterable[str], stop: threading.Event) -> None:
        folders = frozenset(_find_watch_folder(path) for path in paths)
        try:
            # Between the last look and the first watch something may have moved: look again.
            if not self._is_new(folders):
                self._notify.watch(20, 5, _SELDOM_MS, stop)  # type: ignore[attr-defined]
        except OSError:  # no watches are left, or a folder went meanwhile
            self._folders = frozenset()
            stop.wait(LOOK_SECONDS)

    def _is_new(self, folders: frozenset[str]) -> bool:
        if folders == self._folders and self._notify is not None:
            return False
        from watchfiles._rust_notify import RustNotify  # an extra

        self._notify = RustNotify(sorted(folders), False, False, 0, False, True)  # noqa: FBT003
        self._folders = folders
        return True


def _find_watch_folder(path: str) -> str:
    """Return the directory to watch for a path: the nearest existing one."""
    while path and not os.path.isdir(path):  # noqa: PTH112
        path = os.path.dirname(path)  # noqa: PTH120
    return path or "/"


def choose_watch_hint() -> Hint:
    """Return system events if the extra is installed, otherwise polling."""
    with contextlib.suppress(ImportError):
        import watchfiles  # noqa: F401

        return Events()
    return Looking()


def wait_for_burst(
    hint: Hint, before: Stats, stop: threading.Event
) -> tuple[tuple[str, ...], Stats]:
    """Wait for changes to settle. Returns the changed paths and all stats at that time; no paths if
    stopped."""
    while not stop.is_set():
        now = read_stats(before)
        if found := find_moved(before, now):
            return _wait_until_quiet(before, now, found, stop)
        hint.wait(before, stop)
    return (), before


def _wait_until_quiet(
    before: Stats, now: Stats, found: tuple[str, ...], stop: threading.Event
) -> tuple[tuple[str, ...], Stats]:
    while not stop.wait(_QUIET_SECONDS):
        again = read_stats(before)
        if again == now:
            return found, now
        now, found = again, find_moved(before, again)
    return (), now
