"""The changes of CloudFormation stacks, compared with the templates that were deployed last.

No call is made. Only a type that changes certainly replaces a resource. A deploy checks the others
with a change set.
"""

import contextlib
from collections.abc import Iterator, Sequence

from msgspec import Struct

from fabric.app.records.scope import DeployScope
from fabric.config.values import Stack
from fabric.graph.plan import Plan
from fabric.model.outcomes.planned import PlannedResource, PlannedStack
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Mode, RecordRef, StackResource
from fabric.model.task_inputs import StackInputs
from fabric.providers.core.contract import DataGuard
from fabric.tasks.deploy_tools import get_record_ref
from fabric.tasks.stack import list_stack_resources


class _StackChange(Struct, frozen=True):
    """The changed resources of a stack of the config, and the deployed ones."""

    ref: RecordRef
    stack: Stack
    resources: tuple[PlannedResource, ...]
    deployed: tuple[StackResource, ...]


def list_planned_stacks(made: Plan, scope: DeployScope) -> tuple[PlannedStack, ...]:
    return tuple(
        PlannedStack(one.ref.service, one.stack.name, one.resources)
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
        yield _StackChange(ref, values.stack, changes, deployed)


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
    actions = {one.id: one.action for one in change.resources}
    lost = [
        one
        for one in change.deployed
        if actions.get(one.id) in ("replace", "delete")
        and guard.holds_data(one.type)
        and one.id not in change.stack.policy.allow_replace
    ]
    if lost:
        rows = ", ".join(f"`{one.id}` ({one.type}) is {actions[one.id]}d" for one in lost)
        message = f"stack `{change.stack.name}` would lose data: {rows}"
        ids = ", ".join(one.id for one in lost)
        hint = f"add `allowReplace: [{ids}]` to the stack, or change the template"
        yield Problem("stack/would-replace", message, hint).of(change.ref.service)


def compare_resources(
    old: Sequence[StackResource], new: Sequence[StackResource]
) -> Iterator[PlannedResource]:
    before, wanted = {one.id: one for one in old}, {one.id for one in new}
    for one in new:
        was = before.get(one.id)
        if was is None:
            yield PlannedResource(one.id, one.type, "add")
        elif was.type != one.type:
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
