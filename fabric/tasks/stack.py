"""Deploy a CloudFormation stack if its template, parameters or settings changed, or delete it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec.structs import replace

from fabric.config.values import Template
from fabric.graph.decide import (
    UP_TO_DATE,
    Action,
    Change,
    Decision,
    compare_pairs,
    format_reason,
    wait_for,
)
from fabric.graph.judge import hash_environment
from fabric.graph.late_outputs import list_own_api, require_outputs
from fabric.graph.plan import Known
from fabric.model.hashing import hash_bytes, hash_fields
from fabric.model.names import Digest
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.records.changes import StackDone, StackGone
from fabric.model.records.record import (
    Mode,
    Record,
    RecordRef,
    StackOutput,
    StackRecord,
    StackResource,
)
from fabric.model.secrets.secret import Secret
from fabric.model.task import EntryKind, InputEntry, Output, Pairs, Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import StackInputs
from fabric.providers.core.contract import DeployedStack, StackDeployer, StackOrder, StackRules
from fabric.system.files.disk import read_bytes
from fabric.tasks.contract import TaskResult, TaskTools, require_inputs
from fabric.tasks.deploy_tools import (
    DeployTools,
    OpenRecord,
    PartCall,
    StackValues,
    compute_part_key,
    edited_config_error,
    get_record_ref,
)

# Raise when the same inputs would deploy something else.
_VERSION = "1"
_GONE = Output(hash_fields(("stack gone",)))
# The upstream tasks of a task, each with its output hash.
_Upstream: TypeAlias = tuple[tuple[str, str], ...]


class StackKind:
    def __init__(self, tools: DeployTools) -> None:
        self._tools = tools

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        del task
        return (InputEntry(EntryKind.CODE, "stack", _VERSION),)

    def judge(self, known: Known) -> Decision:
        inputs = require_inputs(known.task, StackInputs)
        count = len(known.code) + len(inputs.entries()) + len(known.task.needs)
        record = self._tools.records.record(get_record_ref(inputs))
        was = record.stack(inputs.phase) if record else None
        if inputs.restores:
            reason = f"restored from {inputs.restores}"
            return Decision(Action.RUN, reason, hash_fields((known.task.id,)), count)
        if inputs.is_removed:
            return _judge_removal(was, count)
        if known.upstream is None:
            return wait_for(known.unknown, count)
        outside = self._list_outside(inputs, known.task.needs)
        upstream = (*known.upstream, *outside, *_list_own_api(inputs, record))
        key = compute_part_key(known.task, known.code, upstream)
        if record is None or was is None or not was.key:
            reason = "first deploy" if was is None else "result of the last deploy unknown"
            return Decision(Action.RUN, reason, key, count)
        if was.key != key:
            changes = _list_changes(was, _hash_inputs(inputs, upstream, record.salt))
            reason = format_reason(changes, count) if changes else "settings changed"
            return Decision(Action.RUN, reason, key, count, changes)
        return self._judge_unchanged(inputs, was, count)

    def _judge_unchanged(self, inputs: StackInputs, was: StackRecord, count: int) -> Decision:
        """Decide a stack with the deployed key: its policy can differ."""
        key = Digest(was.key)
        if _describe_policy(was) == inputs.policy and not self._tools.force:
            return Decision(Action.SKIP, UP_TO_DATE, key, count, known=build_stack_output(was))
        reason = "--force was given" if self._tools.force else "policy changed"
        return Decision(Action.RUN, reason, key, count)

    def _list_outside(self, inputs: StackInputs, needs: Sequence[TaskId]) -> Pairs:
        """List the output hashes of tasks outside of this run that the parameters use."""
        outside = [one for one in inputs.uses if one not in needs]
        return self._tools.records.as_found(inputs.stage, outside) if outside else ()

    def claim(self, task: Task) -> None:
        self._tools.records.lock_record(get_record_ref(require_inputs(task, StackInputs)))

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        inputs = require_inputs(task, StackInputs)
        locked_record = self._tools.records.lock_record(get_record_ref(inputs))
        call = PartCall(self._tools, task, locked_record, task_tools, Mode(inputs.mode))
        if inputs.is_removed:
            _delete(call, inputs)
            return TaskResult(_GONE.digest, keep=False)
        if inputs.restores:
            return self._restore(call, inputs)
        values = self._require_values(inputs)
        hashes = (
            *sorted((need, one.digest) for need, one in upstream.items()),
            *self._list_outside(inputs, task.needs),
            *_list_own_api(inputs, locked_record.record),
        )
        key = compute_part_key(task, self.code(task), hashes)
        require_outputs(values.parameters.reveal())
        row = self._begin(task, locked_record, values)
        salt = locked_record.record.salt
        with task_tools.away():
            text = values.stack.template.text.encode()
            self._tools.archives.keep(locked_record.record.ref, text)
        deployed = _deploy(call, build_order(values, key))
        row = replace(
            row,
            key=key,
            address=deployed.address,
            outputs=_list_rows(sorted(deployed.outputs)),
            resources=list_stack_resources(values.stack.template, values.declared, salt),
            **_read_policy(values),
            updated_at=self._tools.records.now(),
            inputs=_list_rows(_hash_inputs(inputs, hashes, salt)),
            template=hash_bytes(text),
            parameters=_list_rows(
                one for one in values.parameters.reveal() if one[0] not in values.secret
            ),
            secret_parameters=tuple(sorted(values.secret)),
        )
        locked_record.add(StackDone(task.id, row))
        return TaskResult(build_stack_output(row).digest, keep=False)

    def _require_values(self, inputs: StackInputs) -> StackValues:
        values = self._tools.values.stack(get_record_ref(inputs), inputs.phase)
        if values is None or values.declared != inputs.parameters:
            raise edited_config_error(inputs.service)
        return values

    def _begin(self, task: Task, locked_record: OpenRecord, values: StackValues) -> StackRecord:
        """Return the row of the stack. A new one is recorded before the first call, so that a
        removal finds the stack whatever happens."""
        was = locked_record.record.stack(values.stack.phase)
        name = values.stack.name
        if was is not None and was.name != name:
            message = f"the stack `{was.name}` of the service cannot be renamed to `{name}`"
            hint = f"keep the name {was.name}, or remove the service first"
            raise FabricError(Problem("stack/renamed", message, hint))
        if was is not None:
            return was
        row = replace(StackRecord(phase=values.stack.phase, name=name), **_read_policy(values))
        locked_record.add(StackDone(task.id, row))
        return row

    def _restore(self, call: PartCall, inputs: StackInputs) -> TaskResult:
        """Return to the template and the parameters of an earlier deployment. Secret parameters
        are not recorded, so they keep their current values."""
        ref, locked_record = get_record_ref(inputs), call.record
        then = self._tools.targets.target(ref).stack(inputs.phase)
        if then is None or not then.template:
            raise FabricError(_no_template_problem(ref.service))
        with call.task_tools.away():
            text = read_bytes(self._tools.archives.find_archive(ref, then.template)).decode()
        values = self._tools.values.stack(ref, inputs.phase)
        now = locked_record.record.stack(inputs.phase)
        token = Digest(hash_fields(("restored", then.key, now.key if now else "")))
        base = (
            build_order(values, token)
            if values
            else StackOrder(name=then.name, template=text, token=token)
        )
        order = replace(
            base,
            name=then.name,
            template=text,
            outputs=tuple(one.name for one in then.outputs),
            parameters=Secret(tuple((one.name, one.value) for one in then.parameters)),
            kept_parameters=then.secret_parameters,
            imports="",
            places={},
            rules=StackRules(frozenset(inputs.disposable), protect=then.protect),
        )
        deployed = _deploy(call, order)
        row = replace(
            then,
            # With other secrets than then, the next deploy compares the stack again.
            key="" if then.secret_parameters else then.key,
            address=deployed.address,
            outputs=_list_rows(sorted(deployed.outputs)),
            updated_at=self._tools.records.now(),
        )
        if then.secret_parameters:
            names = ", ".join(then.secret_parameters)
            call.task_tools.say(
                call.task.id, f"{then.name}: parameters keep their current values: {names}"
            )
        locked_record.add(StackDone(call.task.id, row))
        return TaskResult(build_stack_output(row).digest, keep=False)


def _list_own_api(inputs: StackInputs, record: Record | None) -> Pairs:
    """List the hashes of the API that the parameters use. Its address can stay when it changes."""
    if not inputs.uses_api or record is None:
        return ()
    return tuple((name, hash_fields((text,))) for name, text in list_own_api(record).items())


def _deploy(call: PartCall, order: StackOrder) -> DeployedStack:
    with call.open(_require_deployer) as opened:
        return opened.deployer.deploy_stack(opened.address, order, opened.watch)


def _delete(call: PartCall, inputs: StackInputs) -> None:
    was = call.record.record.stack(inputs.phase)
    if was is not None:
        with call.open(_require_deployer) as opened:
            opened.deployer.delete_stack(opened.address, was.address or was.name, opened.watch)
        call.record.add(StackGone(call.task.id, inputs.phase))


def _read_policy(values: StackValues) -> dict[str, Any]:
    policy = dict(values.policy)
    return {"on_remove": policy["onRemove"], "protect": policy["protect"] == "true"}


def _describe_policy(row: StackRecord) -> Pairs:
    return (("onRemove", row.on_remove), ("protect", "true" if row.protect else "false"))


def _require_deployer(tools: DeployTools, ref: RecordRef, mode: Mode) -> StackDeployer:
    deployer = tools.deployers.deployer(ref, mode)
    if not isinstance(deployer, StackDeployer):
        raise FabricError(no_stacks_problem(ref.service))
    return deployer


def no_stacks_problem(service: str) -> Problem:
    message = f"`{service}` has a CloudFormation stack, which only built-in deploys support"
    hint = "deploy the stack with another tool, and use ${cfn:STACK.OUTPUT}"
    return Problem("config/unfit", message, hint)


def build_order(values: StackValues, key: Digest) -> StackOrder:
    stack, policy = values.stack, values.stack.policy
    return StackOrder(
        name=stack.name,
        template=stack.template.text,
        token=key,
        outputs=stack.template.outputs,
        parameters=values.parameters,
        tags=stack.tags,
        capabilities=stack.capabilities,
        role_arn=stack.role_arn,
        is_express=stack.mode == "express",
        notifications=stack.notifications,
        imports=stack.imports,
        places=list_places(values),
        rules=StackRules(
            frozenset(policy.allow_replace),
            policy.adopt,
            dict(values.policy)["protect"] == "true",
        ),
    )


def list_places(values: StackValues) -> dict[str, Place]:
    """List the places of the resources by their ids, and that of the template without one."""
    rows = values.stack.template.resources
    places = {one.id: Place(values.file, one.line, one.column) for one in rows}
    return {"": Place(values.file), **places}


def build_stack_output(row: StackRecord) -> Output:
    """Build the output for functions: the outputs of the stack."""
    return Output(hash_fields(text for one in row.outputs for text in (one.name, one.value)))


def list_stack_resources(
    template: Template, declared: Pairs, salt: str
) -> tuple[StackResource, ...]:
    """List the resources. The hash of one also covers the parameters that it uses, with a salt,
    because their values can be secrets."""
    known = dict(declared)

    def hash_text(text: str, names: Iterable[str]) -> str:
        used = (name for name in names if f'"{name}"' in text or f"${{{name}" in text)
        return hash_fields((text, *(known.get(name, "") for name in used)))

    found = template.resources
    digests = tuple((one.id, hash_text(one.text, one.parameters)) for one in found)
    fixed = tuple((one.id, hash_text(one.fixed, one.parameters)) for one in found if one.fixed)
    salted, fixed_by_id = (dict(hash_environment(rows, salt)) for rows in (digests, fixed))
    return tuple(
        StackResource(one.id, one.type, salted[one.id], fixed_by_id.get(one.id, ""))
        for one in found
    )


def _judge_removal(was: StackRecord | None, count: int) -> Decision:
    if was is None:
        return Decision(Action.SKIP, "already deleted", None, count, known=_GONE)
    return Decision(Action.RUN, "to be deleted", None, count)


def _hash_inputs(inputs: StackInputs, upstream: _Upstream, salt: str) -> Pairs:
    """Hash the single inputs of a stack, whose values can be secrets."""
    rows = (
        *(pair for pair in inputs.settings if pair[0] != "tags"),
        *((f"tags.{name}", text) for name, text in inputs.tags),
        *((f"parameters.{name}", text) for name, text in inputs.parameters),
        *upstream,
    )
    return hash_environment(rows, salt)


def _list_changes(was: StackRecord, now: Pairs) -> tuple[Change, ...]:
    """Compare the inputs. Records of older versions of fabric do not have them."""
    old = tuple((one.name, one.value) for one in was.inputs)
    found = compare_pairs(EntryKind.OPTION, old, now) if old else ()
    return tuple(replace(one, kind=EntryKind.UPSTREAM) if ":" in one.name else one for one in found)


def _list_rows(pairs: Iterable[tuple[str, str]]) -> tuple[StackOutput, ...]:
    return tuple(StackOutput(*pair) for pair in pairs)


def _no_template_problem(service: str) -> Problem:
    message = f"the stack of `{service}` cannot be rolled back: its earlier template is not stored"
    hint = "deploy the earlier version of the config"
    return Problem("rollback/no-way-back", message, hint)
