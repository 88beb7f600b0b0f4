"""Change several files together: all or none, without losing changes of other processes."""

import contextlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from fabric.model.problems import FabricError, Place, Problem
from fabric.system.files.disk import (
    lock_file,
    make_folder,
    read_bytes,
    remove_empty_folders,
    write_atomic,
    write_problem,
)

_NEW_FILE = 0o644


class FileChange(Struct, frozen=True):
    """The new content of a file; `old` is the content that was read, None for no file."""

    path: Path
    old: bytes | None
    new: bytes

    @property
    def mode(self) -> int:
        return _NEW_FILE if self.old is None else stat.S_IMODE(self.path.stat().st_mode)


def change_files(changes: Sequence[FileChange], top: Path) -> None:
    """Write in this order while the last file is locked against other writers.

    If a write fails, earlier ones are rolled back. New directories are created below `top`.
    """
    last = changes[-1].path
    for change in changes:
        _refuse_moved(change)
    _refuse_read_only(changes)
    with lock_file(last):
        for change in changes:
            _refuse_moved(change)
        done: list[FileChange] = []
        try:
            for change in changes:
                make_folder(change.path.parent)
                done.append(change)
                write_atomic(change.path, change.new, mode=change.mode, durable=True)
        except BaseException:
            for change in reversed(done):
                _put_back(change, top)
            raise


def _refuse_read_only(changes: Sequence[FileChange]) -> None:
    """Raise for a read-only file: a rename would replace it against its owner's intention."""
    for change in changes:
        if change.old is not None and not _is_writable(change.path):
            message = f"cannot write `{change.path}`: the file is read-only"
            hint = "check its owner and permissions; nothing was changed"
            where = Place(str(change.path))
            raise FabricError(Problem("disk/read-only", message, hint, where))


def _is_writable(path: Path) -> bool:
    """Return whether the mode allows writing: root can write everything, so the mode shows the
    intention."""
    return bool(path.stat().st_mode & 0o222) and os.access(path, os.W_OK)


def _refuse_moved(change: FileChange) -> None:
    if _read_content(change.path) != change.old:
        message = f"`{change.path}` was changed by another process"
        hint = "nothing was written; run the command again"
        raise FabricError(Problem("disk/changed", message, hint, Place(str(change.path))))


def _read_content(path: Path) -> bytes | None:
    try:
        return read_bytes(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise write_problem(path, error) from error


def _put_back(change: FileChange, top: Path) -> None:
    # What cannot be put back was not written either, as a rule; the first error is the one to tell.
    with contextlib.suppress(OSError, FabricError):
        if change.old is not None:
            write_atomic(change.path, change.old, mode=change.mode)
            return
        change.path.unlink(missing_ok=True)
        remove_empty_folders(change.path.parent, top)
