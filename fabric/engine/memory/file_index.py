"""Digests of files, remembered by stat: a file that did not move is not read again."""

import marshal
import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fabric.engine.memory.memo import SealedPath
from fabric.graph.traces import ABSENT, RowsTrace, list_current_rows
from fabric.model.hashing import hash_bytes, hash_fields
from fabric.model.problems import FabricError
from fabric.model.task import EXECUTABLE, UNREADABLE, Pairs
from fabric.runtimes.contract import FileRows
from fabric.runtimes.globs import list_files
from fabric.runtimes.recorded_inputs import Probe, place
from fabric.system.clock import read_file_time_ns
from fabric.system.files.disk import read_bytes, write_atomic

if TYPE_CHECKING:
    from fabric.runtimes.file_rows import Rows

# mtime_ns, ctime_ns, size, inode, and 1 for what may be run
Stat = tuple[int, int, int, int, int]

KnownHashes = dict[str, tuple[Stat, str]]
# Hashes of rows by file, with the hash of the file that they are from.
KnownRows = dict[str, tuple[str, dict[str, str]]]

# A file written within this time before it was hashed may be written again in the same clock tick.
_RACY_NS = 20_000_000
# So it may where a file system keeps whole seconds, or every second one of them.
_SECOND_NS = 1_000_000_000
_RACY_SECONDS_NS = 2 * _SECOND_NS
_TICKS = 20
_NO_STAT: Stat = (0, 0, 0, 0, 0)
_FOLDER = "folder"


class FileIndex:
    """One run's view of the workspace. Each path is read once, unless a fresh read is requested."""

    def __init__(
        self,
        workspace: Path,
        store: SealedPath,
        *,
        now_ns: int,
        remembered: "bool | tuple[KnownHashes, KnownRows]" = True,
        stamp: Callable[[str], int] = read_file_time_ns,
    ) -> None:
        """Without `remembered` nothing is loaded or saved, because a few files are read faster.
        It can be the hashes of an earlier view instead of the stored ones.

        `now_ns` is the command's start, and `stamp` returns the time, both on the file system's
        clock.
        """
        self._remembered = remembered is not False
        self._stamp = stamp
        self._prefix = f"{workspace}/"
        self._real_workspace = os.path.realpath(workspace)
        self._probe = Probe(self._real_workspace)
        self._reals: dict[str, str] = {}
        self._store = store.path
        self.seal = store.seal
        self.locks = f"{store.path.parent}/locks"
        self.started_ns = now_ns
        self._workspace = workspace
        self._known: KnownHashes = {}
        self._rows: KnownRows = {}
        if remembered is True:
            self._known, self._rows = _load(store)
        elif isinstance(remembered, tuple):
            self._known, self._rows = remembered
        self._seen: dict[str, str] = {}
        # The rows of files that were read in this run.
        self._read_files: dict[str, tuple[str, Rows | None]] = {}
        self._listings: dict[tuple[str, str, tuple[str, ...]], str] = {}
        self._lock = threading.Lock()
        self._moved = False

    def look_again(self) -> "FileIndex":
        """Return a new view that looks at every file again. It reads only files that changed."""
        store = SealedPath(self._store, self.seal)
        return FileIndex(
            self._workspace,
            store,
            now_ns=self.started_ns,
            remembered=(self._known, self._rows) if self._remembered else False,
            stamp=self._stamp,
        )

    def forget_reads(self) -> None:
        """Look at every file again: a command of the run wrote files that others read."""
        self._seen, self._listings, self._reals = {}, {}, {}
        self._probe = Probe(self._real_workspace)

    @property
    def folders_above(self) -> int:
        return len(Path(self._real_workspace).parts) - 1

    def full(self, path: str) -> str:
        return path if path.startswith("/") else self._prefix + path

    def digest(self, path: str) -> str:
        seen = self._seen.get(path)
        return self.fresh(path) if seen is None else seen

    def fresh(self, path: str) -> str:
        """Hash the file again, ignoring earlier reads of this run."""
        found = self._hash_now(path)[0]
        self._seen[path] = found
        return found

    def row(self, file: str, selector: str) -> str:
        """Return the hash of a row. An unchanged file is not read again."""
        whole = self.digest(file)
        if whole in (ABSENT, UNREADABLE, _FOLDER):
            return whole
        known = self._rows.get(file)
        found = known[1].get(selector) if known and known[0] == whole else None
        return self._read_row(file, whole, selector) if found is None else found

    def rows(self, asked: Iterable[FileRows]) -> tuple[RowsTrace, ...]:
        """Return the current hashes of rows."""
        files = tuple(RowsTrace(one.file, tuple((name, "") for name in one.rows)) for one in asked)
        return list_current_rows(files, self)

    def _read_row(self, file: str, whole: str, selector: str) -> str:
        from fabric.runtimes.file_rows import hash_row  # only if a file with rows changed

        with self._lock:
            if file not in self._read_files or self._read_files[file][0] != whole:
                self._read_files[file] = (whole, _read_rows(file, self.full(file), whole))
            rows = self._read_files[file][1]
            known = self._rows.get(file)
            if known is None or known[0] != whole:
                known = self._rows[file] = (whole, {})
            found = known[1][selector] = whole if rows is None else hash_row(rows, selector)
            self._moved = True
        return found

    def listing(self, folder: str, pattern: str, ignore: tuple[str, ...]) -> str:
        key = (folder, pattern, ignore)
        found = self._listings.get(key)
        return self.listing_now(*key) if found is None else found

    def listing_now(self, folder: str, pattern: str, ignore: tuple[str, ...]) -> str:
        """Search again, ignoring earlier searches of this run."""
        found = hash_fields(list_files(self.full(folder), pattern, ignore))
        self._listings[folder, pattern, ignore] = found
        return found

    def real(self, path: str) -> str:
        found = self._reals.get(path)
        if found is None:
            found = self._reals[path] = self._resolve_now(path)
        return found

    def _resolve_now(self, path: str) -> str:
        plain = f"{self._real_workspace}/{path}"
        is_odd = not path or path[0] in "./" or path[-1] == "/" or "/." in path or "//" in path
        real = self._probe.real(os.path.normpath(plain) if is_odd else plain)
        # Thousands of files lead nowhere else: that is told without taking paths apart.
        return path if real == plain else place(self._real_workspace, real)

    def now_ns(self) -> int:
        """Return the time of the workspace's file system."""
        return self._stamp(self._real_workspace)

    def note(self, path: str, digest: str) -> None:
        """Record bytes that fabric has just written, so that they are not read back."""
        try:
            moment = _read_stat(self._prefix + path)
        except OSError:
            return
        self._seen[path] = digest
        if moment[1] % _SECOND_NS == 0:
            # Somebody may write to it within the same second yet.
            return
        with self._lock:
            self._known[path] = (moment, digest)
            self._moved = True

    def after(
        self, paths: Iterable[str], began_ns: int, before: Pairs = ()
    ) -> tuple[Pairs, tuple[str, ...]]:
        """Hash files again after a task. Returns the current hashes and the changed files.

        A file changed if its hash differs from the one before the task, or from the decision.
        Without either, its timestamp since one clock tick before `began_ns` counts.
        """
        known = dict(before)
        pairs, moved = [], list[str]()
        for path in sorted(set(paths)):
            looked_at = self._seen.get(path)
            digest, moment = self._hash_now(path)
            self._seen[path] = digest
            pairs.append((path, digest))
            same = known.get(path, looked_at) in (None, digest)
            if not same or (path not in known and _compute_tick_end(moment[1]) >= began_ns):
                moved.append(path)
        return tuple(pairs), tuple(moved)

    def read_settled_digest(self, path: str) -> str:
        """Return the current hash, read again if the file was written since the run began."""
        try:
            now = _read_stat(self._prefix + path)
        except OSError:
            return ABSENT
        known = self._known.get(path)
        if known is not None and known[0] == now and _compute_tick_end(now[1]) < self.started_ns:
            return known[1]
        return self._read(path, self._prefix + path, now, keep=True)

    @property
    def unsaved(self) -> bool:
        return self._moved and self._remembered

    def save(self) -> None:
        """Store new hashes. A write failure only costs time."""
        if not self.unsaved:
            return
        with self._lock:
            content = marshal.dumps((self._known, self._rows))
        try:
            write_atomic(self._store, self.seal.seal(self._store.name, content), mode=0o600)
        except FabricError:
            return

    def _hash_now(self, path: str) -> tuple[str, Stat]:
        full = self._prefix + path
        try:
            now = _read_stat(full)
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
            digest = hash_bytes(read_bytes(full)) + (EXECUTABLE if now[4] else "")
        except (FileNotFoundError, NotADirectoryError):
            return ABSENT
        except OSError:
            return UNREADABLE
        with self._lock:
            if keep or _compute_tick_end(now[1]) < self.started_ns:
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
    return _compute_tick_end(found.st_ctime_ns) >= started_ns


def _compute_tick_end(stamp_ns: int) -> int:
    """Return the time from which a later write certainly has another timestamp."""
    return stamp_ns + (_RACY_NS if stamp_ns % _SECOND_NS else _RACY_SECONDS_NS)


def is_settled(stamps_ns: Sequence[int], now_ns: Callable[[], int]) -> bool:
    """Return whether the file system's clock is past all timestamps, so that a later write would
    show.

    Otherwise wait for the next tick (a few milliseconds) and return false: read again. Whole
    seconds are not waited for.
    """
    finest = max(stamps_ns, default=0)
    coarse = max((one for one in stamps_ns if not one % _SECOND_NS), default=-_RACY_SECONDS_NS)
    limit = max(finest, coarse + _RACY_SECONDS_NS)
    now = now_ns()
    if now > limit or limit - now > _RACY_NS:
        return now > limit
    for _ in range(_TICKS):
        time.sleep(0.001)
        if now_ns() > limit:
            break
    return False


def let_settle(now_ns: Callable[[], int]) -> None:
    """Wait until recent writes are distinguishable for a command that begins then."""
    limit = now_ns() + _RACY_NS
    for _ in range(2 * _TICKS):
        if now_ns() > limit:
            return
        time.sleep(0.001)


def _read_stat(path: str) -> Stat:
    found = os.stat(path)  # noqa: PTH116: a Path per look costs four times the look
    if stat.S_ISDIR(found.st_mode):
        return (0, 0, 0, -1, 0)
    runs = 1 if found.st_mode & stat.S_IXUSR else 0
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, runs)


def _read_rows(file: str, full: str, whole: str) -> "Rows | None":
    """Read the rows of a file that has this hash; None if it has none, or changed meanwhile."""
    from fabric.runtimes.file_rows import read_rows

    try:
        content = read_bytes(full)
    except OSError:
        return None
    return (
        read_rows(file, content) if hash_bytes(content) == whole.removesuffix(EXECUTABLE) else None
    )


def _load(store: SealedPath) -> tuple[KnownHashes, KnownRows]:
    try:
        content = store.seal.unseal(store.path.name, read_bytes(store.path))
        known = marshal.loads(content) if content else ({}, {})  # noqa: S302: sealed by us
    except (OSError, ValueError, EOFError, TypeError):
        return {}, {}
    # Earlier versions stored no rows.
    return known if isinstance(known, tuple) else (known if isinstance(known, dict) else {}, {})
