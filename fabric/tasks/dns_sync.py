"""Lead a router's name to the endpoints of a service, once they are released."""

from collections.abc import Mapping

from fabric.graph.decide import UP_TO_DATE, Action, Decision, wait_for
from fabric.graph.plan import Known
from fabric.model.hashing import hash_fields
from fabric.model.task import EntryKind, InputEntry, Output, Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import DnsSyncInputs
from fabric.tasks.contract import TaskResult, TaskTools, require_inputs
from fabric.tasks.deploy_tools import DnsSync

_VERSION = "1"


class DnsSyncKind:
    """Decides by the last applied snapshot, like a deploy by its record. The cache knows nothing of
    DNS.

    Without a name keeper no check is possible.
    """

    def __init__(self, names: DnsSync | None) -> None:
        self._names = names

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        del task
        return (InputEntry(EntryKind.CODE, "dns-sync", _VERSION),)

    def judge(self, known: Known) -> Decision:
        inputs = require_inputs(known.task, DnsSyncInputs)
        count = len(inputs.entries()) + len(known.task.needs)
        if known.upstream is None:
            return wait_for(known.unknown, count)
        if self._names is None:
            return Decision(Action.WAIT, "known once the state can be read", inputs=count)
        standing = self._names.standing(inputs)
        done = Output(hash_fields(("name", standing.wanted)))
        if standing.missing:
            reason = f"targets not deployed: {', '.join(standing.missing)}"
            return Decision(Action.SKIP, reason, inputs=count, known=done)
        if standing.wanted == standing.applied:
            return Decision(Action.SKIP, UP_TO_DATE, standing.wanted, count, known=done)
        reason = "endpoints or weights changed" if standing.applied else "first sync"
        return Decision(Action.RUN, reason, standing.wanted, count)

    def claim(self, task: Task) -> None:
        """Its lock is its own, and is held just while the name is changed."""

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        del upstream
        if self._names is None:
            raise TypeError(f"{task.id} has no DNS provider")
        task_tools.go_on()
        with task_tools.away():
            done = self._names.sync(require_inputs(task, DnsSyncInputs))
        task_tools.say(task.id, done.said)
        return TaskResult(hash_fields(("name", done.wanted)), warnings=done.warnings, keep=False)
