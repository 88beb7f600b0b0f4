"""Read the archive of a function that another stage has deployed."""

from collections.abc import Callable, Mapping

from fabric.model.names import Digest
from fabric.model.task import EntryKind, InputEntry, Output, OutputFile, Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import StoredArchiveInputs
from fabric.tasks.contract import TaskResult, TaskTools, WrittenFile, require_inputs


class StoredArchiveKind:
    def __init__(self, read: Callable[[StoredArchiveInputs], bytes]) -> None:
        self._read = read

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        del task
        return (InputEntry(EntryKind.CODE, "stored-archive", "1"),)

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        del upstream
        inputs = require_inputs(task, StoredArchiveInputs)
        with task_tools.away():
            content = self._read(inputs)
        output = build_archive_output(inputs, len(content))
        files = (WrittenFile(output.files[0].path, content),)
        return TaskResult(output.digest, files, output.facts, keep=False)


def build_archive_output(inputs: StoredArchiveInputs, size: int) -> Output:
    """Build the output, which is known without the content of the archive."""
    return Output(
        Digest(inputs.content),
        (OutputFile(f"{inputs.function}.zip", Digest(inputs.sha256), size),),
        (("sha256", inputs.sha256), ("handler", inputs.handler)),
    )
