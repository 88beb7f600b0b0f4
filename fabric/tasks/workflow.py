"""Publish a version of a state machine if its definition or settings changed, or delete it."""

import json
from collections.abc import Mapping

from msgspec.structs import replace

from fabric.graph.decide import (
    UP_TO_DATE,
    Action,
    Change,
    Decision,
    compare_pairs,
    format_reason,
    wait_for,
)
from fabric.graph.plan import Known
from fabric.graph.traces import compute_full_key, compute_static_hash
from fabric.model.hashing import hash_fields
from fabric.model.late_values import find_late_names, require_known_values
from fabric.model.names import Digest
from fabric.model.ownership_tags import mark_of
from fabric.model.problems import FabricError, Problem
from fabric.model.records.changes import WorkflowDone, WorkflowGone
from fabric.model.records.record import Mode, RecordRef, WorkflowRecord
from fabric.model.task import EntryKind, InputEntry, Output, Pairs, Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import WorkflowInputs
from fabric.providers.core.contract import DeployedWorkflow, WorkflowDeployer, WorkflowOrder
from fabric.tasks.contract import TaskResult, TaskTools
from fabric.tasks.deploy_tools import (
    DeployTools,
    OpenRecord,
    WorkflowValues,
    get_record_ref,
    watch_of,
)

# Raise when the same inputs would deploy something else.
_VERSION = "1"
_GONE = Output(hash_fields(("workflow gone",)))
# Settings that no version has.
_OUTSIDE = ("permissions", "triggers", "calls")
# Permissions with the values of their bindings, which only the record contains.
RESOLVED = "resolved"


class WorkflowKind:
    def __init__(self, tools: DeployTools) -> None:
        self._tools = tools

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        del task
        return (InputEntry(EntryKind.CODE, "workflow", _VERSION),)

    def judge(self, known: Known) -> Decision:
        inputs = _require_workflow_inputs(known.task)
        count = len(known.code) + len(inputs.entries()) + len(known.task.needs)
        record = self._tools.records.record(get_record_ref(inputs))
        was = record.workflow(inputs.name) if record else None
        if inputs.is_removed:
            if was is None:
                return Decision(Action.SKIP, "already deleted", None, count, known=_GONE)
            return Decision(Action.RUN, "to be deleted", None, count)
        if known.upstream is None:
            return wait_for(known.unknown, count)
        key = _compute_key(inputs, known.code, known.upstream)
        if was is not None and was.key == key and not self._tools.force:
            return Decision(Action.SKIP, UP_TO_DATE, key, count, known=_build_output(was))
        changes = compare_settings(was, inputs.settings) if was and was.key else ()
        return Decision(Action.RUN, _format_reason(was, key, changes), key, count, changes)

    def claim(self, task: Task) -> None:
        self._tools.records.lock_record(get_record_ref(_require_workflow_inputs(task)))

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        inputs = _require_workflow_inputs(task)
        locked_record = self._tools.records.lock_record(get_record_ref(inputs))
        locked_record.require_lock()
        if inputs.is_removed:
            self._delete(task, locked_record, task_tools)
            return TaskResult(_GONE.digest, keep=False)
        values = self._require_values(inputs)
        settings = _build_settings(values)
        # Refused before the first change: without its record a workflow could not be deleted.
        texts = (*values.triggers, *(text for _, text in settings))
        require_known_values(f"workflow `{inputs.name}`", texts)
        hashes = tuple(sorted((need, one.digest) for need, one in upstream.items()))
        key = _compute_key(inputs, self.code(task), hashes)
        was = locked_record.record.workflow(inputs.name)
        if was is None:
            # Recorded before the first call, so that a removal finds it whatever happens.
            was = WorkflowRecord(name=inputs.name)
            locked_record.add(WorkflowDone(task.id, was))
        content = _hash_content(inputs, values)
        is_same = was.content == content and not self._tools.force
        order = WorkflowOrder(
            name=inputs.name,
            definition=values.definition,
            settings=settings,
            mark=mark_of(content, locked_record.record.salt),
            version=was.version if is_same else "",
        )
        deployed = self._deploy(task, locked_record, order, task_tools)
        row = WorkflowRecord(
            name=inputs.name,
            key=key,
            address=deployed.address,
            version=deployed.version,
            content=content,
            triggers=values.triggers,
            settings=settings,
            updated_at=self._tools.records.now(),
        )
        locked_record.add(WorkflowDone(task.id, row))
        return TaskResult(_build_output(row).digest, keep=False)

    def _require_values(self, inputs: WorkflowInputs) -> WorkflowValues:
        values = self._tools.values.workflow(get_record_ref(inputs), inputs.name)
        if values is None or values.settings != inputs.settings:
            message = f"the config of `{inputs.service}` was edited during the run"
            raise FabricError(Problem("run/moved", message, hint="run the command again"))
        return values

    def _deploy(
        self, task: Task, locked_record: OpenRecord, order: WorkflowOrder, task_tools: TaskTools
    ) -> DeployedWorkflow:
        inputs = _require_workflow_inputs(task)
        ref = get_record_ref(inputs)
        address = replace(self._tools.deployers.address(ref), previous=locked_record.record)
        deployer = _require_deployer(self._tools, ref, Mode(inputs.mode))
        task_tools.go_on()
        with task_tools.away():
            return deployer.deploy_workflow(address, order, watch_of(task, task_tools))

    def _delete(self, task: Task, locked_record: OpenRecord, task_tools: TaskTools) -> None:
        inputs = _require_workflow_inputs(task)
        if locked_record.record.workflow(inputs.name) is None:
            return
        ref = get_record_ref(inputs)
        address = replace(self._tools.deployers.address(ref), previous=locked_record.record)
        deployer = _require_deployer(self._tools, ref, Mode(inputs.mode))
        with task_tools.away():
            deployer.delete_workflow(address, inputs.name, watch_of(task, task_tools))
        locked_record.add(WorkflowGone(task.id, inputs.name))


def _format_reason(was: WorkflowRecord | None, key: Digest, changes: tuple[Change, ...]) -> str:
    if was is None:
        return "first deploy"
    if not was.key:
        return "result of the last deploy unknown"
    if was.key == key:
        return "--force was given"
    return format_reason(changes, len(changes)) if changes else "outputs of the stack changed"


def _build_settings(values: WorkflowValues) -> Pairs:
    """Build the recorded settings: as declared, with the permissions as they are."""
    is_late = bool(find_late_names(values.machine.permissions))
    return (*values.settings, *(((RESOLVED, values.permissions),) if is_late else ()))


def compare_settings(was: WorkflowRecord, settings: Pairs) -> tuple[Change, ...]:
    old = tuple(pair for pair in was.settings if pair[0] != RESOLVED)
    return compare_pairs(EntryKind.OPTION, old, settings)


def _hash_content(inputs: WorkflowInputs, values: WorkflowValues) -> Digest:
    """Hash everything that belongs to a version."""
    settings = {name: text for name, text in values.settings if name not in _OUTSIDE}
    if "logs" in settings:
        logs = json.loads(settings["logs"])
        logs.pop("retentionDays", None)
        settings["logs"] = json.dumps(logs)
    parts = (text for pair in (*inputs.place, *settings.items()) for text in pair)
    return hash_fields((values.definition, *parts))


def _require_deployer(tools: DeployTools, ref: RecordRef, mode: Mode) -> WorkflowDeployer:
    deployer = tools.deployers.deployer(ref, mode)
    if not isinstance(deployer, WorkflowDeployer):
        raise FabricError(no_workflows_problem(ref.service))
    return deployer


def no_workflows_problem(service: str) -> Problem:
    message = f"`{service}` has a workflow with a definition, which only built-in deploys support"
    hint = "remove `definition`, or deploy the service without a custom deploy command"
    return Problem("config/unfit", message, hint)


def _build_output(row: WorkflowRecord) -> Output:
    return Output(hash_fields(row.facts))


def _compute_key(inputs: WorkflowInputs, code: tuple[InputEntry, ...], upstream: Pairs) -> Digest:
    static = compute_static_hash(inputs.kind, (*code, *inputs.entries()))
    return compute_full_key(static, (), upstream)


def _require_workflow_inputs(task: Task) -> WorkflowInputs:
    if not isinstance(task.inputs, WorkflowInputs):
        raise TypeError(f"{task.id} is not a workflow")
    return task.inputs
