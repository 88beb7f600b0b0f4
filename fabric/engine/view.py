"""The folders where people see outputs: made to match the content store, never read as input."""

import contextlib
import os
from pathlib import Path

from fabric.engine.files import FileIndex
from fabric.model.task import Output, OutputFile
from fabric.system.disk import file_lock, write_atomic


def is_shown(output: Output, files: FileIndex) -> bool:
    """Whether the files on disk are those of this output (as far as their stat tells)."""
    return all(files.digest(f"{output.view}/{one.path}") == one.digest for one in output.files)


def show(output: Output, contents: dict[str, bytes], workspace: Path, files: FileIndex) -> None:
    """Write what is missing or different; a file that already has the bytes is left alone."""
    if not output.view:
        return
    folder = workspace / output.view
    with file_lock(lock_path(folder, whole=output.whole_folder)):
        for one in output.files:
            _show_file(one, contents, folder, files, f"{output.view}/{one.path}")
        if output.whole_folder:
            _sweep(folder, {one.path for one in output.files})


def copy_out(output: Output, workspace: Path, folder: Path) -> None:
    """A second copy of what is shown, in a folder of the user's choice."""
    for one in output.files:
        content = (workspace / output.view / one.path).read_bytes()
        mode = 0o755 if one.executable else 0o644
        write_atomic(folder / one.path, content, mode=mode)


def lock_path(folder: Path, *, whole: bool) -> Path:
    """One lock for each folder that tasks of one service write into."""
    return (folder.parent if whole else folder) / ".lock"


def _show_file(
    one: OutputFile, contents: dict[str, bytes], folder: Path, files: FileIndex, path: str
) -> None:
    if files.fresh(path) == one.digest:
        return
    mode = 0o755 if one.executable else 0o644
    write_atomic(folder / one.path, contents[one.digest], mode=mode)
    files.note(path, one.digest)


def _sweep(folder: Path, keep: set[str]) -> None:
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
