"""Digests of files, remembered by stat: a file that did not move is not read again."""

import marshal
import os
import stat
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from fabric.graph.traces import ABSENT
from fabric.model.hashing import digest_bytes, digest_fields, sealed, unsealed
from fabric.model.problems import FabricError
from fabric.model.task import EXECUTABLE, Pairs
from fabric.runtimes.globs import list_files
from fabric.runtimes.seen import Probe, place
from fabric.system.disk import read_bytes, write_atomic

# mtime_ns, ctime_ns, size, inode, and 1 for what may be run
Stat = tuple[int, int, int, int, int]

# A file written within this time before it was hashed may be written again in the same clock tick.
_RACY_NS = 20_000_000
_TICKS = 20
_COARSE_CLOCK = 5  # CLOCK_REALTIME_COARSE: what the kernel stamps files with
_NO_STAT: Stat = (0, 0, 0, 0, 0)
_FOLDER = "folder"
UNREADABLE = "unreadable"


class FileIndex:
    """One run's view of the workspace: each path is looked at once, unless asked for afresh."""

    def __init__(
        self, workspace: Path, store: Path, *, now_ns: int, remembered: bool = True
    ) -> None:
        """Without `remembered` nothing is loaded or saved: a few files cost less to read anew."""
        self._remembered = remembered
        self._prefix = f"{workspace}/"
        self._real_workspace = os.path.realpath(workspace)
        self._probe = Probe(self._real_workspace)
        self._reals: dict[str, str] = {}
        self._store = store
        self.locks = f"{store.parent}/locks"
        self.started_ns = now_ns
        self._known = _load(store) if remembered else {}
        self._seen: dict[str, str] = {}
        self._listings: dict[tuple[str, str, tuple[str, ...]], str] = {}
        self._lock = threading.Lock()
        self._moved = False

    def full(self, path: str) -> str:
        return path if path.startswith("/") else self._prefix + path

    def digest(self, path: str) -> str:
        seen = self._seen.get(path)
        return self.fresh(path) if seen is None else seen

    def fresh(self, path: str) -> str:
        """Look again, whatever was seen before in this run."""
        found = self._digest_now(path)[0]
        self._seen[path] = found
        return found

    def listing(self, folder: str, pattern: str, ignore: tuple[str, ...]) -> str:
        key = (folder, pattern, ignore)
        if key not in self._listings:
            self._listings[key] = digest_fields(list_files(self.full(folder), pattern, ignore))
        return self._listings[key]

    def real(self, path: str) -> str:
        found = self._reals.get(path)
        if found is None:
            full = os.path.normpath(f"{self._real_workspace}/{path}")
            found = self._reals[path] = place(self._real_workspace, self._probe.real(full))
        return found

    def note(self, path: str, digest: str) -> None:
        """Fabric itself has just written these bytes: no need to read them back."""
        try:
            moment = _stat(self._prefix + path)
        except OSError:
            return
        with self._lock:
            self._known[path] = (moment, digest)
            self._moved = True
        self._seen[path] = digest

    def after(self, paths: Iterable[str], began_ns: int) -> tuple[Pairs, bool]:
        """Look again after a task: digests as they are, and whether any moved meanwhile.

        A file counts as moved from one clock granule before the task began.
        """
        limit = began_ns - _RACY_NS
        pairs, moved = [], False
        for path in sorted(set(paths)):
            digest, moment = self._digest_now(path)
            self._seen[path] = digest
            pairs.append((path, digest))
            moved = moved or moment[1] >= limit
        return tuple(pairs), moved

    def settled_digest(self, path: str) -> str:
        """The digest as it is now, read again if the file was written since the run began."""
        try:
            now = _stat(self._prefix + path)
        except OSError:
            return ABSENT
        known = self._known.get(path)
        if known is not None and known[0] == now and now[1] < self.started_ns - _RACY_NS:
            return known[1]
        return self._read(path, self._prefix + path, now, keep=True)

    @property
    def unsaved(self) -> bool:
        return self._moved and self._remembered

    def save(self) -> None:
        """Keep what was learnt; a store that cannot be written only costs time."""
        if not self.unsaved:
            return
        with self._lock:
            content = marshal.dumps(self._known)
        try:
            write_atomic(self._store, sealed(self._store.name, content), mode=0o600)
        except FabricError:
            return

    def _digest_now(self, path: str) -> tuple[str, Stat]:
        full = self._prefix + path
        try:
            now = _stat(full)
        except (FileNotFoundError, NotADirectoryError):
            return ABSENT, _NO_STAT
        except OSError:
            return UNREADABLE, _NO_STAT
        known = self._known.get(path)
        if known is not None and known[0] == now:
            return known[1], now
        return self._read(path, full, now), now

    def _read(self, path: str, full: str, now: Stat, *, keep: bool = False) -> str:
        if now[3] < 0:
            return _FOLDER
        try:
            digest = digest_bytes(read_bytes(full)) + (EXECUTABLE if now[4] else "")
        except (FileNotFoundError, NotADirectoryError):
            return ABSENT
        except OSError:
            return UNREADABLE
        with self._lock:
            if keep or now[1] < self.started_ns - _RACY_NS:
                self._known[path] = (now, digest)
                self._moved = True
            elif self._known.pop(path, None):
                self._moved = True
        return digest


def is_racy(full: str, started_ns: int) -> bool:
    """Whether a file was written in or just before a run, so that its stat proves nothing."""
    try:
        found = os.stat(full)  # noqa: PTH116
    except OSError:
        return False
    return found.st_ctime_ns >= started_ns - _RACY_NS


def settled(newest_ns: int) -> bool:
    """Whether the file systems' clock is past a time, so that a later write would show.

    If it is not, wait for it (a tick is a few milliseconds) and say so: look again.
    """
    if time.clock_gettime_ns(_COARSE_CLOCK) > newest_ns:
        return True
    for _ in range(_TICKS):
        time.sleep(0.001)
        if time.clock_gettime_ns(_COARSE_CLOCK) > newest_ns:
            break
    return False


def _stat(path: str) -> Stat:
    found = os.stat(path)  # noqa: PTH116: a Path per look costs four times the look
    if stat.S_ISDIR(found.st_mode):
        return (0, 0, 0, -1, 0)
    runs = 1 if found.st_mode & stat.S_IXUSR else 0
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, runs)


def _load(store: Path) -> dict[str, tuple[Stat, str]]:
    try:
        content = unsealed(store.name, read_bytes(store))
        known = marshal.loads(content) if content else {}  # noqa: S302: sealed by us
    except (OSError, ValueError, EOFError, TypeError):
        return {}
    return known if isinstance(known, dict) else {}
