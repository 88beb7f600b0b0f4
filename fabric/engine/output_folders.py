"""The folders where people see outputs: made to match the content store, never read as input."""

import contextlib
import os
import zlib
from collections.abc import Mapping
from pathlib import Path

from fabric.engine.memory.file_index import FileIndex
from fabric.model.hashing import hash_bytes
from fabric.model.task import Output, OutputFile, TaskInputs
from fabric.model.task_inputs import BuildInputs
from fabric.system.files.disk import check_no_links, lock_file, read_bytes, write_atomic

_LOCKS = 16


def list_visible_files(inputs: TaskInputs, output: Output) -> dict[str, str]:
    """Map the visible output paths to their hashes; empty if the output is not visible."""
    if not inputs.shown_in:
        return {}
    return {join_visible_path(inputs, one.path): one.shown_as for one in output.files}


def join_visible_path(inputs: TaskInputs, path: str) -> str:
    return path if inputs.shown_in == "." else f"{inputs.shown_in}/{path}"


def is_left_unwritten(inputs: TaskInputs, files: FileIndex) -> bool:
    """Return whether the output was not requested and does not exist, so that it need not be
    fetched."""
    unasked = isinstance(inputs, BuildInputs) and not inputs.is_wanted
    return unasked and not os.path.lexists(files.full(inputs.shown_in))


def is_shown(inputs: TaskInputs, output: Output, files: FileIndex) -> bool:
    """Return whether the files on disk are exactly those of this output."""
    there = list_visible_files(inputs, output).items()
    if any(files.digest(path) != shown_as for path, shown_as in there):
        return False
    return not inputs.owns_folder or _count(files.full(inputs.shown_in)) == len(output.files)


def _count(folder: str) -> int:
    return sum(len(names) for _, _, names in os.walk(folder))


def read_visible_content(inputs: TaskInputs, file: OutputFile, files: FileIndex) -> bytes | None:
    """Read output bytes from the visible directory, if they match."""
    try:
        content = read_bytes(files.full(join_visible_path(inputs, file.path)))
    except OSError:
        return None
    return content if hash_bytes(content) == file.digest else None


def show(
    inputs: TaskInputs, output: Output, contents: Mapping[str, bytes], files: FileIndex
) -> None:
    """Write missing or different files. Files with equal bytes are left alone."""
    folder = inputs.shown_in
    if not folder:
        return
    check_no_links(files.full(folder))
    with lock_file(_lock_path(folder, files)):
        for one in output.files:
            _show_file(one, contents[one.digest], join_visible_path(inputs, one.path), files)
        if inputs.owns_folder:
            _sweep(files.full(folder), {one.path for one in output.files})


def copy_out(inputs: TaskInputs, output: Output, workspace: Path, folder: Path) -> None:
    """Copy visible output to a directory of the user's choice."""
    for one in output.files:
        content = read_bytes(workspace / inputs.shown_in / one.path)
        mode = 0o755 if one.executable else 0o644
        write_atomic(folder / one.path, content, mode=mode)


def _lock_path(folder: str, files: FileIndex) -> str:
    """Return one of a few lock files for all directories, to keep the file count small."""
    return f"{files.locks}/view-{zlib.crc32(os.fsencode(folder)) % _LOCKS}"


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
