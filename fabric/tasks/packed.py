"""Packed files as the output of a task: an archive, and the index beside it."""

from collections.abc import Iterator

from fabric.model.task import Output
from fabric.model.task_id import TaskId
from fabric.runtimes.archive import Packed, PackedFile, list_packed_paths, read_packed
from fabric.tasks.contract import TaskTools, WrittenFile

_ARCHIVE = ".packages.zip"
_INDEX = ".packages.json"


def write_packed(packed: Packed) -> tuple[WrittenFile, ...]:
    return WrittenFile(_ARCHIVE, packed.archive), WrittenFile(_INDEX, packed.index)


def has_packed(output: Output) -> bool:
    return any(one.path == _ARCHIVE for one in output.files)


def read_packed_paths(owner: TaskId, output: Output, tools: TaskTools) -> tuple[str, ...]:
    """Return the paths of packed files, without their contents."""
    found = [tools.content(owner, one) for one in output.files if one.path == _INDEX]
    return tuple(path for index in found for path in list_packed_paths(index))


def read_packed_output(owner: TaskId, output: Output, tools: TaskTools) -> Iterator[PackedFile]:
    contents = {one.path: tools.content(owner, one) for one in output.files}
    return read_packed(contents[_ARCHIVE], contents[_INDEX])
