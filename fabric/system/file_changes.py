"""Files that change together: all of them or none, and nothing that others wrote is lost."""

import contextlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from fabric.model.problems import FabricError, Place, Problem
from fabric.system.disk import (
    file_lock,
    make_folder,
    read_bytes,
    remove_empty_folders,
    write_atomic,
    write_problem,
)

_NEW_FILE = 0o644


class FileChange(Struct, frozen=True):
    """What a file is to hold; `old` is what it was found with, None for no file."""

    path: Path
    old: bytes | None
    new: bytes

    @property
    def mode(self) -> int:
        return _NEW_FILE if self.old is None else stat.S_IMODE(self.path.stat().st_mode)


def change_files(changes: Sequence[FileChange], top: Path) -> None:
    """Writes in this order, while the last file is held against others who do the same; what was
    written goes back if another cannot be. Folders made for it lie below `top`."""
    last = changes[-1].path
    for change in changes:
        _refuse_moved(change)
    _refuse_read_only(changes)
    with file_lock(last):
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
    """A rename would replace them all the same: their owner does not want that."""
    for change in changes:
        if change.old is not None and not _is_writable(change.path):
            message = f"cannot write `{change.path}`: the file is read-only"
            hint = "check its owner and permissions; nothing was changed"
            where = Place(str(change.path))
            raise FabricError(Problem("disk/read-only", message, hint, where))


def _is_writable(path: Path) -> bool:
    """Root may write everything: the mode says what was meant."""
    return bool(path.stat().st_mode & 0o222) and os.access(path, os.W_OK)


def _refuse_moved(change: FileChange) -> None:
    if _content(change.path) != change.old:
        message = f"`{change.path}` was changed by another process"
        hint = "nothing was written; run the command again"
        raise FabricError(Problem("disk/changed", message, hint, Place(str(change.path))))


def _content(path: Path) -> bytes | None:
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
