"""Create several files that do not exist yet: all or none."""

import contextlib
import itertools
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from fabric.system.files.disk import write_all, write_atomic, write_problem

# Whatever lies below a folder of this name is for its owner alone.
_OWN = ".fabric"


def write_new_files(folder: Path, files: Sequence[tuple[str, bytes]]) -> None:
    """Write the files and their directories. If one fails, created ones are deleted; a file that
    appeared meanwhile stays."""
    made: list[Path] = []
    path = folder
    try:
        for name, content in files:
            path = folder / name
            _make_folders(path.parent, made)
            _create(path, content, made)
    except OSError as error:
        _take_back(made)
        raise write_problem(path, error) from error
    except BaseException:
        _take_back(made)
        raise


def _make_folders(folder: Path, made: list[Path]) -> None:
    missing = list(itertools.takewhile(lambda one: not one.is_dir(), (folder, *folder.parents)))
    for one in reversed(missing):
        one.mkdir(0o700 if _OWN in one.parts else 0o777)
        made.append(one)


def _create(path: Path, content: bytes, made: list[Path]) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    made.append(path)
    try:
        write_all(fd, content)
    finally:
        os.close(fd)


def _take_back(made: Sequence[Path]) -> None:
    """Delete created files, newest first. A directory that contains other new files stays."""
    for path in reversed(made):
        with contextlib.suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                path.rmdir()
            else:
                path.unlink()


# Files that the user names on a command line: a device or a pipe is written to, never replaced.


def write_named(path: Path, content: bytes, *, mode: int = 0o644, durable: bool = False) -> None:
    if not _is_special(path):
        write_atomic(path, content, mode=mode, durable=durable)
        return
    try:
        with path.open("wb") as file:
            file.write(content)
    except OSError as error:
        raise write_problem(path, error) from error


def _is_special(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
