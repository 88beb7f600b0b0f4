"""Publish a version of a state machine if its definition or settings changed, or delete it."""

import json
from collections.abc import Mapping

from fabric.graph.decide import (
    UP_TO_DATE,
    Action,
    Change,
    Decision,
    compare_pairs,
    format_reason,
    wait_for,
)
from fabric.graph.late_outputs import list_trigger_texts
from fabric.graph.plan import Known
from fabric.model.hashing import hash_fields
from fabric.model.late_values import find_late_names, require_known_values
from fabric.model.names import Digest
from fabric.model.ownership_tags import mark_of
from fabric.model.problems import FabricError, Problem, UntouchedError
from fabric.model.records.changes import WorkflowDone, WorkflowGone
from fabric.model.records.record import Mode, RecordRef, WorkflowRecord
from fabric.model.task import EntryKind, InputEntry, Output, Pairs, Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import WorkflowInputs
from fabric.providers.core.contract import WorkflowDeployer, WorkflowDraft, WorkflowOrder
from fabric.tasks.contract import TaskResult, TaskTools, require_inputs
from fabric.tasks.deploy_tools import (
    DeployTools,
    OpenDeployer,
    PartCall,
    WorkflowValues,
    compute_part_key,
    edited_config_error,
    get_record_ref,
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
        inputs = require_inputs(known.task, WorkflowInputs)
        count = len(known.code) + len(inputs.entries()) + len(known.task.needs)
        record = self._tools.records.record(get_record_ref(inputs))
        was = record.workflow(inputs.name) if record else None
        if inputs.is_removed:
            if was is None:
                return Decision(Action.SKIP, "already deleted", None, count, known=_GONE)
            return Decision(Action.RUN, "to be deleted", None, count)
        if known.upstream is None:
            return wait_for(known.unknown, count)
        key = compute_part_key(known.task, known.code, known.upstream)
        if was is not None and was.key == key and not self._tools.force:
            return Decision(Action.SKIP, UP_TO_DATE, key, count, known=_build_output(was))
        changes = compare_settings(was, inputs.settings) if was and was.key else ()
        return Decision(Action.RUN, _format_reason(was, key, changes), key, count, changes)

    def claim(self, task: Task) -> None:
        self._tools.records.lock_record(get_record_ref(require_inputs(task, WorkflowInputs)))

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        inputs = require_inputs(task, WorkflowInputs)
        locked_record = self._tools.records.lock_record(get_record_ref(inputs))
        call = PartCall(self._tools, task, locked_record, task_tools, Mode(inputs.mode))
        if inputs.is_removed:
            _delete(call, inputs)
            return TaskResult(_GONE.digest, keep=False)
        values = self._require_values(inputs)
        settings = _build_settings(values)
        # Refused before the first change: without its record a workflow could not be deleted.
        texts = (*values.triggers, values.role, *(text for _, text in settings))
        require_known_values(f"workflow `{inputs.name}`", texts)
        hashes = tuple(sorted((need, one.digest) for need, one in upstream.items()))
        key = compute_part_key(task, self.code(task), hashes)
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
            settings=_fill_role(settings, values),
            mark=mark_of(content, locked_record.record.salt),
            version=was.version if is_same else "",
        )
        with call.open(_require_deployer) as opened:
            _refuse_bad_triggers(opened, order, values)
            deployed = opened.deployer.deploy_workflow(opened.address, order, opened.watch)
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
            raise edited_config_error(inputs.service)
        return values


def _delete(call: PartCall, inputs: WorkflowInputs) -> None:
    if call.record.record.workflow(inputs.name) is not None:
        with call.open(_require_deployer) as opened:
            opened.deployer.delete_workflow(opened.address, inputs.name, opened.watch)
        call.record.add(WorkflowGone(call.task.id, inputs.name))


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


def _fill_role(settings: Pairs, values: WorkflowValues) -> Pairs:
    """Fill the role, which records contain as declared, because each version has its own."""
    return tuple((name, values.role if name == "role" else text) for name, text in settings)


def compare_settings(was: WorkflowRecord, settings: Pairs) -> tuple[Change, ...]:
    old = tuple(pair for pair in was.settings if pair[0] != RESOLVED)
    return compare_pairs(EntryKind.OPTION, old, settings)


def _hash_content(inputs: WorkflowInputs, values: WorkflowValues) -> Digest:
    """Hash everything that belongs to a version."""
    filled = _fill_role(values.settings, values)
    settings = {name: text for name, text in filled if name not in _OUTSIDE}
    if "logs" in settings:
        logs = json.loads(settings["logs"])
        logs.pop("retentionDays", None)
        settings["logs"] = json.dumps(logs)
    parts = (text for pair in (*inputs.place, *settings.items()) for text in pair)
    return hash_fields((values.definition, *parts))


def _refuse_bad_triggers(
    opened: OpenDeployer[WorkflowDeployer], order: WorkflowOrder, values: WorkflowValues
) -> None:
    """Raise if a late value does not fit its trigger: a plan could not check it."""
    if any(find_late_names(text) for text in list_trigger_texts(values.machine.triggers)):
        draft = WorkflowDraft(order.name, order.settings, values.triggers)
        found = opened.deployer.find_unfit_workflows(opened.address, (draft,))
        if found:
            raise UntouchedError(*(one.problem for one in found))


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
