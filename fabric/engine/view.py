"""The folders where people see outputs: made to match the content store, never read as input."""

import contextlib
import os
import zlib
from collections.abc import Mapping
from pathlib import Path

from fabric.engine.files import FileIndex
from fabric.model.task import Output, OutputFile
from fabric.system.disk import file_lock, write_atomic

_LOCKS = 16


def is_shown(output: Output, files: FileIndex) -> bool:
    """Whether the files on disk are those of this output, and nothing else is in its own folder."""
    if any(files.digest(f"{output.view}/{one.path}") != one.shown_as for one in output.files):
        return False
    return not output.whole_folder or _count(files.full(output.view)) == len(output.files)


def _count(folder: str) -> int:
    return sum(len(names) for _, _, names in os.walk(folder))


def show(output: Output, contents: Mapping[str, bytes], files: FileIndex) -> None:
    """Write what is missing or different; a file that already has the bytes is left alone."""
    if not output.view:
        return
    with file_lock(_lock_path(output.view, files)):
        for one in output.files:
            _show_file(one, contents[one.digest], f"{output.view}/{one.path}", files)
        if output.whole_folder:
            _sweep(files.full(output.view), {one.path for one in output.files})


def copy_out(output: Output, workspace: Path, folder: Path) -> None:
    """A second copy of what is shown, in a folder of the user's choice."""
    for one in output.files:
        content = (workspace / output.view / one.path).read_bytes()
        mode = 0o755 if one.executable else 0o644
        write_atomic(folder / one.path, content, mode=mode)


def _lock_path(view: str, files: FileIndex) -> str:
    """A few locks for all folders: one beside each would double the files of a small build."""
    return f"{files.locks}/view-{zlib.crc32(view.encode()) % _LOCKS}"


def _show_file(one: OutputFile, content: bytes, path: str, files: FileIndex) -> None:
    if files.fresh(path) == one.shown_as:
        return
    mode = 0o755 if one.executable else 0o644
    write_atomic(files.full(path), content, mode=mode)
    files.note(path, one.shown_as)


def _sweep(folder: str, keep: set[str]) -> None:
    """Files of an earlier build that this one does not have."""
    for base, folders, names in os.walk(folder, topdown=False):
        for name in names:
            path = Path(base, name)
            if path.relative_to(folder).as_posix() not in keep:
                with contextlib.suppress(OSError):
                    path.unlink()
        for name in folders:
            with contextlib.suppress(OSError):
                Path(base, name).rmdir()
