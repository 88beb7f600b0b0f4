"""Remove a function that nobody asks for any more, or a whole service, from a provider."""

from collections.abc import Mapping

from fabric.graph.decide import Decision
from fabric.graph.judge import GONE, judge_remove
from fabric.graph.plan import Known
from fabric.model.names import TaskId
from fabric.model.problems import FabricError
from fabric.model.records.changes import FunctionGone, FunctionUnsure, ReleaseDone
from fabric.model.records.record import Mode
from fabric.model.task import EntryKind, InputEntry, Output, RemoveInputs, Task
from fabric.tasks.contract import Made, TaskTools
from fabric.tasks.deploy import ref_of
from fabric.tasks.deploy_tools import DeployTools, OpenRecord
from fabric.tasks.release import lives_of

_VERSION = "1"


class RemoveKind:
    def __init__(self, desk: DeployTools) -> None:
        self._desk = desk

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        del task
        return (InputEntry(EntryKind.CODE, "remove", _VERSION),)

    def judge(self, known: Known) -> Decision:
        inputs = _inputs(known.task)
        return judge_remove(known, inputs, self._desk.record(ref_of(inputs)))

    def claim(self, task: Task) -> None:
        self._desk.page(ref_of(_inputs(task)))

    def run(self, task: Task, upstream: Mapping[TaskId, Output], shop: TaskTools) -> Made:
        del upstream
        inputs = _inputs(task)
        page = self._desk.page(ref_of(inputs))
        page.require_lock()
        names = tuple(one.name for one in page.record.functions)
        gone = (inputs.function,) if inputs.function else names
        try:
            with shop.away():
                talk = self._taken_away(inputs, page, gone)
            shop.say(task.id, talk)
        except FabricError:
            if inputs.mode != Mode.SIMULATED:
                for name in gone:
                    page.add(FunctionUnsure(task.id, name))
            raise
        for name in gone:
            page.add(FunctionGone(task.id, name))
        if not inputs.function:
            page.add(ReleaseDone(task.id, "", (), ""))
        return Made(GONE.digest, keep=False)

    def _taken_away(self, inputs: RemoveInputs, page: OpenRecord, names: tuple[str, ...]) -> str:
        ref = ref_of(inputs)
        deployer = self._desk.deployer(ref, Mode(inputs.mode))
        site, functions = self._desk.address(ref), lives_of(page, names)
        if inputs.function:
            return deployer.destroy(site, functions)
        return deployer.dissolve(site, functions)


def _inputs(task: Task) -> RemoveInputs:
    if not isinstance(task.inputs, RemoveInputs):
        raise TypeError(f"{task.id} is not a removal")
    return task.inputs
