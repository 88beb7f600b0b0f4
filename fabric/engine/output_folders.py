"""The folders where people see outputs: made to match the content store, never read as input."""

import contextlib
import os
import zlib
from collections.abc import Mapping
from pathlib import Path

from fabric.engine.memory.file_index import FileIndex
from fabric.model.hashing import digest_bytes
from fabric.model.task import Output, OutputFile, TaskInputs
from fabric.model.task_inputs import BuildInputs
from fabric.system.disk import check_no_links, file_lock, read_bytes, write_atomic

_LOCKS = 16


def shown_files(inputs: TaskInputs, output: Output) -> dict[str, str]:
    """The paths where people see an output, each with what it is to be there; none if nowhere."""
    if not inputs.shown_in:
        return {}
    return {f"{inputs.shown_in}/{one.path}": one.shown_as for one in output.files}


def stays_away(inputs: TaskInputs, files: FileIndex) -> bool:
    """Whether nobody asked to see it, and nobody does: it need not be brought here to be shown."""
    unasked = isinstance(inputs, BuildInputs) and not inputs.is_wanted
    return unasked and not os.path.lexists(files.full(inputs.shown_in))


def is_shown(inputs: TaskInputs, output: Output, files: FileIndex) -> bool:
    """Whether the files on disk are those of this output, and nothing else is in its own folder."""
    there = shown_files(inputs, output).items()
    if any(files.digest(path) != shown_as for path, shown_as in there):
        return False
    return not inputs.owns_folder or _count(files.full(inputs.shown_in)) == len(output.files)


def _count(folder: str) -> int:
    return sum(len(names) for _, _, names in os.walk(folder))


def shown_content(inputs: TaskInputs, file: OutputFile, files: FileIndex) -> bytes | None:
    """The bytes of an output where people see it, if they are what was made."""
    try:
        content = read_bytes(files.full(f"{inputs.shown_in}/{file.path}"))
    except OSError:
        return None
    return content if digest_bytes(content) == file.digest else None


def show(
    inputs: TaskInputs, output: Output, contents: Mapping[str, bytes], files: FileIndex
) -> None:
    """Write what is missing or different; a file that already has the bytes is left alone."""
    folder = inputs.shown_in
    if not folder:
        return
    check_no_links(files.full(folder))
    with file_lock(_lock_path(folder, files)):
        for one in output.files:
            _show_file(one, contents[one.digest], f"{folder}/{one.path}", files)
        if inputs.owns_folder:
            _sweep(files.full(folder), {one.path for one in output.files})


def copy_out(inputs: TaskInputs, output: Output, workspace: Path, folder: Path) -> None:
    """A second copy of what is shown, in a folder of the user's choice."""
    for one in output.files:
        content = read_bytes(workspace / inputs.shown_in / one.path)
        mode = 0o755 if one.executable else 0o644
        write_atomic(folder / one.path, content, mode=mode)


def _lock_path(folder: str, files: FileIndex) -> str:
    """A few locks for all folders: one beside each would double the files of a small build."""
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
