"""The changes of CloudFormation stacks and workflows, compared with the state.

No call is made. A plan knows the replacement of a resource whose type or name changes. A deploy
checks the others with a change set.
"""

import contextlib
import json
from collections.abc import Iterator, Sequence

from msgspec import Struct

from fabric.app.deploy.changes import Fields, format_setting_changes
from fabric.app.records.scope import DeployScope
from fabric.graph.decide import Action
from fabric.graph.plan import Plan
from fabric.model.outcomes.json_struct import Json
from fabric.model.outcomes.planned import PlannedResource, PlannedStack, PlannedWorkflow
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Mode, RecordRef, StackResource, WorkflowRecord
from fabric.model.task import Pairs
from fabric.model.task_inputs import StackInputs, WorkflowInputs
from fabric.providers.core.contract import DataGuard
from fabric.tasks.deploy_tools import StackValues, get_record_ref
from fabric.tasks.stack import list_places, list_stack_resources
from fabric.tasks.workflow import compare_settings


class _StackChange(Struct, frozen=True):
    """The changed resources of a stack of the config, and the deployed ones."""

    ref: RecordRef
    values: StackValues
    resources: tuple[PlannedResource, ...]
    deployed: tuple[StackResource, ...]


def list_planned_stacks(made: Plan, scope: DeployScope) -> tuple[PlannedStack, ...]:
    return tuple(
        PlannedStack(one.ref.service, one.values.stack.name, one.resources)
        for one in _list_changes(made, scope)
    )


def _list_changes(made: Plan, scope: DeployScope) -> Iterator[_StackChange]:
    for inputs in made.graph.inputs_of("stack"):
        if not isinstance(inputs, StackInputs) or inputs.is_removed:
            continue
        ref = get_record_ref(inputs)
        values, record = scope.values.stack(ref, inputs.phase), scope.record(ref)
        if values is None:
            continue
        was = record.stack(inputs.phase) if record else None
        salt = record.salt if record else ""
        wanted = list_stack_resources(values.stack.template, values.declared, salt)
        deployed = was.resources if was else ()
        changes = tuple(compare_resources(deployed, wanted))
        yield _StackChange(ref, values, changes, deployed)


def warn_of_lost_data(made: Plan, scope: DeployScope) -> Iterator[Problem]:
    """Warn of resources with data that a real deploy refuses to replace or delete. Only the change
    set of a deploy shows whether the condition of a resource created it."""
    for one in _list_changes(made, scope):
        record = scope.record(one.ref)
        if record is None or not record.mode == scope.placements[one.ref].mode == Mode.REAL:
            continue
        with contextlib.suppress(FabricError):  # a provider without a deployer has its own check
            deployer = scope.tools.deployers.deployer(one.ref, Mode.REAL)
            if isinstance(deployer, DataGuard):
                yield from _find_lost_data(one, deployer)


def _find_lost_data(change: _StackChange, guard: DataGuard) -> Iterator[Problem]:
    stack, actions = change.values.stack, {one.id: one.action for one in change.resources}
    lost = [
        one
        for one in change.deployed
        if actions.get(one.id) in ("replace", "delete")
        and guard.holds_data(one.type)
        and one.id not in stack.policy.allow_replace
    ]
    if lost:
        rows = ", ".join(f"`{one.id}` ({one.type}) is {actions[one.id]}d" for one in lost)
        message = f"stack `{stack.name}` would lose data: {rows}"
        ids = ", ".join(one.id for one in lost)
        hint = f"add `allowReplace: [{ids}]` to the stack, or change the template"
        places = list_places(change.values)
        where = places.get(lost[0].id, places[""])
        yield Problem("stack/would-replace", message, hint, where).of(change.ref.service)


def compare_resources(
    old: Sequence[StackResource], new: Sequence[StackResource]
) -> Iterator[PlannedResource]:
    before, wanted = {one.id: one for one in old}, {one.id for one in new}
    for one in new:
        was = before.get(one.id)
        if was is None:
            yield PlannedResource(one.id, one.type, "add")
        elif was.type != one.type or (was.fixed and one.fixed and was.fixed != one.fixed):
            yield PlannedResource(one.id, one.type, "replace")
        elif was.digest != one.digest:
            yield PlannedResource(one.id, one.type, "change")
    yield from (PlannedResource(one.id, one.type, "delete") for one in old if one.id not in wanted)


def warn_of_left_stacks(scope: DeployScope) -> Iterator[Problem]:
    """Warn of deployed stacks that the config no longer contains. fabric does not delete them."""
    for ref in sorted(scope.placements):
        record = scope.record(ref)
        for one in record.stacks if record and record.mode is Mode.REAL else ():
            if scope.values.stack(ref, one.phase) is None:
                message = f"the stack `{one.name}` of `{ref.service}` is no longer in the config"
                hint = f"run: aws cloudformation delete-stack --stack-name {one.name}"
                yield Problem("stack/left-behind", message, hint).of(ref.service)


# Settings that a graph contains only as hashes, or that follow from others.
_HASHED = ("definition", "substitutions")


def list_planned_workflows(made: Plan, scope: DeployScope) -> Iterator[PlannedWorkflow]:
    decisions = dict(zip(made.graph.ids, made.decisions, strict=True))
    for task in made.graph.tasks:
        inputs = task.inputs
        if not isinstance(inputs, WorkflowInputs):
            continue
        record = scope.record(get_record_ref(inputs))
        was = record.workflow(inputs.name) if record else None
        is_same = decisions[task.id].action is Action.SKIP
        change, fields = "delete", {}
        if not inputs.is_removed:
            drafts = scope.values.workflow_drafts(get_record_ref(inputs))
            triggers = {one.name: one.triggers for one in drafts}.get(inputs.name, ())
            change = "none" if is_same else "update" if was and was.version else "create"
            before = was if change == "update" else None
            fields = _list_fields(before, inputs.settings, triggers) if not is_same else {}
        yield PlannedWorkflow(inputs.service, inputs.provider, inputs.name, change, fields)


def _list_fields(was: WorkflowRecord | None, settings: Pairs, triggers: tuple[str, ...]) -> Fields:
    """List the settings of a new workflow, or the changed settings."""
    changes = compare_settings(was or WorkflowRecord(name=""), settings)
    found: Fields = {}
    for change in changes:
        if change.name == "triggers":
            old = was.triggers if was else ()
            found["triggers"] = (_parse(old) or None, _parse(triggers))
        elif change.name in _HASHED and was is None:
            found[change.name] = (None, "(set)")
        elif change.name != "calls":
            found |= dict(format_setting_changes(change))
    return found


def _parse(triggers: tuple[str, ...]) -> Json:
    return [json.loads(one) for one in triggers]
