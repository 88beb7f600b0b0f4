"""Run one environment check of a service. Results are never cached."""

from collections.abc import Callable, Iterable, Mapping

from fabric.model.checks import Check, decode_checks, encode_checks
from fabric.model.hashing import hash_bytes
from fabric.model.task import EntryKind, InputEntry, Output, Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import ProbeInputs
from fabric.providers.core.contract import CallContext
from fabric.tasks.contract import TaskResult, TaskTools, require_inputs
from fabric.tasks.deploy_tools import watch_of

Look = Callable[[], Iterable[Check]]
_FACT = "checks"


class ProbeKind:
    """`looks` by the name of the check."""

    def __init__(self, looks: Mapping[str, Look]) -> None:
        self._looks = looks

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        del task
        return (InputEntry(EntryKind.CODE, "probe", "1"),)

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        del upstream, task_tools
        inputs = require_inputs(task, ProbeInputs)
        found = encode_checks(self._looks[inputs.check]())
        return TaskResult(hash_bytes(found.encode()), facts=((_FACT, found),), keep=False)


def read_probe_checks(output: Output) -> tuple[Check, ...]:
    """Decode the checks of a probe."""
    return decode_checks(output.fact(_FACT, "[]"))


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
