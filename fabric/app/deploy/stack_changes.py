"""The changes of CloudFormation stacks, compared with the templates that were deployed last.

No call is made. Only a type that changes certainly replaces a resource. A deploy checks the others
with a change set.
"""

from collections.abc import Iterator, Sequence

from fabric.app.records.scope import DeployScope
from fabric.graph.plan import Plan
from fabric.model.outcomes.planned import PlannedResource, PlannedStack
from fabric.model.problems import Problem
from fabric.model.records.record import Mode, StackResource
from fabric.model.task_inputs import StackInputs
from fabric.tasks.deploy_tools import get_record_ref
from fabric.tasks.stack import list_stack_resources


def list_planned_stacks(made: Plan, scope: DeployScope) -> tuple[PlannedStack, ...]:
    return tuple(_describe_stacks(made, scope))


def _describe_stacks(made: Plan, scope: DeployScope) -> Iterator[PlannedStack]:
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
        changes = compare_resources(was.resources if was else (), wanted)
        yield PlannedStack(inputs.service, values.stack.name, tuple(changes))


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
