"""Delete a function that the config no longer contains, or a whole service."""

from collections.abc import Mapping

from msgspec.structs import replace

from fabric.graph.decide import Decision
from fabric.graph.judge import GONE, judge_remove
from fabric.graph.plan import Known
from fabric.model.problems import FabricError, Problem
from fabric.model.records.changes import FunctionGone, ReleaseDone, record_failed_release
from fabric.model.records.record import Mode
from fabric.model.task import EntryKind, InputEntry, Output, Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import RemoveInputs
from fabric.providers.core.contract import CallContext
from fabric.tasks.after_failure import list_doubts, record_doubt_on_failure
from fabric.tasks.contract import TaskResult, TaskTools, require_inputs
from fabric.tasks.deploy_tools import DeployTools, OpenRecord, get_record_ref, watch_of
from fabric.tasks.layer import delete_layer_versions
from fabric.tasks.release import list_live_functions

_VERSION = "1"


class RemoveKind:
    def __init__(self, tools: DeployTools) -> None:
        self._tools = tools

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        del task
        return (InputEntry(EntryKind.CODE, "remove", _VERSION),)

    def judge(self, known: Known) -> Decision:
        inputs = require_inputs(known.task, RemoveInputs)
        return judge_remove(known, inputs, self._tools.records.record(get_record_ref(inputs)))

    def claim(self, task: Task) -> None:
        self._tools.records.lock_record(get_record_ref(require_inputs(task, RemoveInputs)))

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        del upstream
        inputs = require_inputs(task, RemoveInputs)
        locked_record = self._tools.records.lock_record(get_record_ref(inputs))
        locked_record.require_lock()
        names = tuple(one.name for one in locked_record.record.functions)
        gone = (inputs.function,) if inputs.function else names
        doubts = list_doubts(task.id, Mode(inputs.mode), gone)
        if inputs.mode == Mode.REAL:
            doubts = (*doubts, record_failed_release(task.id, locked_record.record))
        watch = watch_of(task, task_tools)
        with record_doubt_on_failure(locked_record, *doubts), task_tools.away():
            self._delete_functions(task, locked_record, gone, watch)
            if not inputs.function:
                self._delete_layers(task, locked_record, watch)
        # In one piece: with the first of them the task counts as ended.
        rest = () if inputs.function else (ReleaseDone(task.id, "", (), ""),)
        locked_record.add(*(FunctionGone(task.id, name) for name in gone), *rest)
        return TaskResult(GONE.digest, keep=False)

    def _delete_layers(self, task: Task, locked_record: OpenRecord, watch: CallContext) -> None:
        """Delete the published layers, except for those to keep."""
        rows = [one for one in locked_record.record.layers if not one.retain]
        left = rows and delete_layer_versions(self._tools, task, rows, locked_record, watch)
        if left:
            names = ", ".join(one.address for one in left)
            message = f"layer versions could not be deleted: {names}"
            hint = "check the output above, then run the command again"
            raise FabricError(Problem("provider/failed", message, hint))

    def _delete_functions(
        self, task: Task, locked_record: OpenRecord, names: tuple[str, ...], watch: CallContext
    ) -> None:
        inputs = require_inputs(task, RemoveInputs)
        ref = get_record_ref(inputs)
        deployer = self._tools.deployers.deployer(ref, Mode(inputs.mode))
        address = replace(self._tools.deployers.address(ref), previous=locked_record.record)
        functions = list_live_functions(locked_record, names)
        if inputs.function:
            deployer.destroy(address, functions, watch)
        else:
            deployer.dissolve(address, functions, watch)
