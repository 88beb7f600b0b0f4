"""Temporary directories whose names identify their process, so that those of killed processes can
be deleted."""

import contextlib
import functools
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fabric.system.files.disk import make_folder
from fabric.system.process.process_identity import Mark, build_this_mark, is_mark_dead

# Whose process cannot be proved dead from here: no run takes this long.
_DAY = 24 * 3600.0
# Its process, then what keeps folders of one process apart; or the name that they had before.
_NAME = re.compile(r"(\d+-\d+-[0-9a-f]{12})\.[a-z0-9_]{8}|fabric-payload-[a-z0-9_]{8}")


@contextlib.contextmanager
def create_owned_folder(above: Path) -> Iterator[Path]:
    """Provide a new directory for this process, deleted at the end."""
    make_folder(above, 0o700)
    with tempfile.TemporaryDirectory(prefix=f"{build_this_mark()}.", dir=above) as made:
        yield Path(made)


@contextlib.contextmanager
def create_temporary_folder(purpose: str, top: Path | None = None) -> Iterator[Path]:
    """Provide a new directory in the system's temporary place, for this process.

    The first call for a purpose deletes directories of killed processes.
    """
    top = top or Path(tempfile.gettempdir())
    _sweep_temporary(purpose, top)
    prefix = f"fabric-{purpose}-{build_this_mark()}."
    with tempfile.TemporaryDirectory(prefix=prefix, dir=top) as made:
        yield Path(made)


@functools.cache
def _sweep_temporary(purpose: str, top: Path) -> None:
    """Delete only fabric's own directories and no links, because the place is shared with other
    users."""
    prefix = f"fabric-{purpose}-"
    for one in top.glob(f"{prefix}*"):
        found = _NAME.fullmatch(one.name.removeprefix(prefix))
        if found and found[1] and is_mark_dead(Mark(found[1])) and _is_own_folder(one):
            shutil.rmtree(one, ignore_errors=True)


def _is_own_folder(path: Path) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def sweep_owned(above: Path, now: float) -> None:
    """Delete directories of dead processes, identified only by name.

    Unreadable ones wait for the next sweep. Links are not followed: they can point to another
    user's directory.
    """
    try:
        left = [] if above.is_symlink() else sorted(above.iterdir())
    except OSError:
        return
    for one in left:
        if _is_left(one, now):
            shutil.rmtree(one, ignore_errors=True)
    with contextlib.suppress(OSError):
        above.rmdir()


def _is_left(folder: Path, now: float) -> bool:
    found = _NAME.fullmatch(folder.name)
    if found is None or folder.is_symlink():
        return False
    if found[1] and is_mark_dead(Mark(found[1])):
        return True
    try:
        return now - folder.stat().st_mtime > _DAY
    except OSError:
        return False
