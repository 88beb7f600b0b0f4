"""A snapshot as a checkout on this machine, updated from one snapshot to the next.

The directory serves one build at a time. Changes of a build are reverted before the next.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from fabric.model.hashing import hash_bytes
from fabric.remote.snapshots import Snapshot, SnapshotFile
from fabric.system.files.disk import make_folder

# mtime_ns, ctime_ns, size, inode and mode: what a write cannot leave as it was.
_Stat = tuple[int, int, int, int, int]
_ALL = os.R_OK | os.W_OK | os.X_OK
_MODES = {False: 0o644, True: 0o755}


class DamagedSnapshotError(Exception):
    """A content differs from the snapshot."""


class LaidOut:
    """`content` brings the bytes of a file. It raises where they are not to be had."""

    def __init__(self, folder: Path, content: Callable[[Snapshot, SnapshotFile], bytes]) -> None:
        self.folder = folder
        self._content = content
        self._files: dict[str, tuple[str, bool, _Stat]] = {}

    def bring(self, snapshot: Snapshot) -> None:
        """Update the directory so that it contains exactly the snapshot."""
        make_folder(self.folder, 0o700)
        links = dict(snapshot.links)
        wanted = {one.path: one for one in snapshot.files}
        self._clear(links, wanted)
        for one in snapshot.files:
            if not self._is_there(one):
                self._write(snapshot, one)
        for path, target in links.items():
            place = self.folder / path
            if not place.is_symlink():
                make_folder(place.parent, 0o700)
                place.symlink_to(target)
        for path in snapshot.empty_folders:
            make_folder(self.folder / path, 0o700)

    def _clear(self, links: dict[str, str], wanted: dict[str, SnapshotFile]) -> None:
        """Delete files, links and empty directories that the snapshot does not contain."""
        _make_writable(str(self.folder))
        for path, entry in list(_list_entries(str(self.folder), "")):
            if path in links:
                keep = entry.is_symlink() and os.readlink(entry.path) == links[path]  # noqa: PTH115
            else:
                keep = path in wanted and entry.is_file(follow_symlinks=False)
            if not keep:
                self._files.pop(path, None)
                os.unlink(entry.path)  # noqa: PTH108 - thousands of them
        for parent, _, _ in os.walk(self.folder, topdown=False):
            if not os.listdir(parent) and parent != str(self.folder):
                os.rmdir(parent)  # noqa: PTH106

    def _is_there(self, one: SnapshotFile) -> bool:
        known = self._files.get(one.path)
        if known is None or known[:2] != (one.digest, one.executable):
            return False
        try:
            return _read_stat(self.folder / one.path) == known[2]
        except OSError:
            return False

    def _write(self, snapshot: Snapshot, one: SnapshotFile) -> None:
        content = self._content(snapshot, one)
        if hash_bytes(content) != one.digest:
            raise DamagedSnapshotError(one.path)
        place = self.folder / one.path
        make_folder(place.parent, 0o700)
        if place.exists():
            place.unlink()
        place.write_bytes(content)
        place.chmod(_MODES[one.executable])
        self._files[one.path] = (one.digest, one.executable, _read_stat(place))

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def _make_writable(folder: str) -> None:
    """Make files and directories writable, because tools create read-only ones."""
    for parent, folders, _ in os.walk(folder):
        for name in folders:
            path = f"{parent}/{name}"
            if not os.path.islink(path) and not os.access(path, _ALL):  # noqa: PTH114
                os.chmod(path, 0o700)  # noqa: PTH101


def _read_stat(place: Path) -> _Stat:
    found = place.lstat()
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_mode


def _list_entries(folder: str, prefix: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """List all entries except directories. Links are not followed."""
    with os.scandir(folder) as found:
        entries = list(found)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _list_entries(entry.path, f"{prefix}{entry.name}/")
        else:
            yield f"{prefix}{entry.name}", entry
