"""Query logs, metrics or traces of one provider. Results are never cached."""

from collections.abc import Callable, Mapping

from fabric.model.hashing import hash_bytes
from fabric.model.task import EntryKind, InputEntry, Output, Task
from fabric.model.task_id import TaskId
from fabric.providers.core.contract import CallContext
from fabric.tasks.contract import TaskResult, TaskTools
from fabric.tasks.deploy_tools import watch_of

Observation = Callable[[CallContext], None]


class ObserveKind:
    """`observations` are the queries by task. Their owner stores the results."""

    def __init__(self, observations: Mapping[TaskId, Observation]) -> None:
        self._observations = observations

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        return (InputEntry(EntryKind.CODE, task.kind, "1"),)

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        del upstream
        with task_tools.away():
            self._observations[task.id](watch_of(task, task_tools))
        return TaskResult(hash_bytes(b""), keep=False)
