"""Output contents: from the store, from the output directory, or rebuilt."""

import threading
from collections.abc import Callable, Sequence
from typing import TypeAlias

from fabric.engine.memory.blobs import Blobs
from fabric.engine.memory.file_index import FileIndex
from fabric.engine.memory.traces import TraceStore
from fabric.engine.output_folders import read_visible_content
from fabric.model.hashing import hash_bytes
from fabric.model.names import Digest
from fabric.model.problems import FabricError, Problem
from fabric.model.task import Output, OutputFile, Task
from fabric.model.task_id import TaskId
from fabric.tasks.contract import TaskResult, TaskTools

Upstream: TypeAlias = Sequence[tuple[Task, Output]]
Make: TypeAlias = Callable[[Task, Upstream, TaskTools], TaskResult]


class OutputContents:
    """Reads output contents. Thread-safe. A content is rebuilt by one thread only."""

    def __init__(self, blobs: Blobs, files: FileIndex, trace_store: TraceStore, make: Make) -> None:
        self._blobs = blobs
        self._files = files
        self._trace_store = trace_store
        self._make = make
        self._ways: dict[TaskId, tuple[Task, Upstream]] = {}
        self._locks: dict[TaskId, threading.Lock] = {}

    def know_way(self, task: Task, upstream: Upstream) -> None:
        """Remember how to rebuild a task's output if its content is missing."""
        self._ways[task.id] = (task, upstream)

    def find_content(self, task: Task, file: OutputFile) -> bytes | None:
        """Return the content without a rebuild: from the store or the output directory."""
        found = self._blobs.get(file.digest)
        if found is not None or not task.inputs.shown_in:
            return found
        content = read_visible_content(task.inputs, file, self._files)
        if content is not None:
            self._blobs.put(content)
        return content

    def content(self, owner: TaskId, file: OutputFile, tools: TaskTools) -> bytes:
        found = self._blobs.get(file.digest)
        if found is not None:
            return found
        task, upstream = self._ways[owner]
        with self._locks.setdefault(owner, threading.Lock()):
            found = self.find_content(task, file)
            if found is None:
                found = self._rebuild_output(task, upstream, tools).get(file.digest)
        if found is None:
            self._trace_store.forget(owner)
            raise FabricError(_content_mismatch_problem(owner))
        return found

    def _rebuild_output(
        self, task: Task, upstream: Upstream, tools: TaskTools
    ) -> dict[Digest, bytes]:
        """Rebuild all files of an output, because the others are usually needed soon."""
        made = self._make(task, upstream, tools).files
        contents = {hash_bytes(one.content): one.content for one in made}
        for content in contents.values():
            self._blobs.put(content)
        return contents


def _content_mismatch_problem(owner: TaskId) -> Problem:
    return Problem(
        "cache/damaged",
        f"the cached output of {owner} is damaged, and a rebuild produced different bytes",
        hint="run the command again: the damaged entry was deleted",
    )
