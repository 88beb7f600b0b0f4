"""Download and pack one wheel, once for all functions and services that need it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from fabric.model.task import EntryKind, InputEntry, Output, Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import WheelInputs
from fabric.runtimes.archive import pack_file, pack_files
from fabric.runtimes.contract import BuiltFile, ListMissing
from fabric.tasks.contract import TaskResult, TaskTools, require_inputs
from fabric.tasks.packed import write_packed

_VERSION = "1"


class Downloads(Protocol):
    """The wheels of a run."""

    def expect(self, list_missing: ListMissing) -> None:
        """Set the wheels of this run that are not cached. They are listed when one is needed."""

    def fetch(self, workspace: Path, wanted: WheelInputs) -> Iterator[BuiltFile]: ...


class WheelKind:
    def __init__(self, downloads: Downloads) -> None:
        self._downloads = downloads
        self.expect = downloads.expect

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        del task
        return (InputEntry(EntryKind.CODE, "wheel", _VERSION),)

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        del upstream
        inputs = require_inputs(task, WheelInputs)
        # One file at a time: only deflated contents are in memory together.
        unpacked = self._downloads.fetch(task_tools.workspace, inputs)
        files = {file.path: pack_file(file) for file in unpacked}
        packed = pack_files(files.values())
        return TaskResult(digest=packed.digest, files=write_packed(packed))
