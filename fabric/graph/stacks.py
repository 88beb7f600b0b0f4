"""The tasks of CloudFormation stacks: before the functions of a service, and after its release."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from fabric.config.values import Config, Stack
from fabric.graph.late_outputs import list_output_tasks
from fabric.graph.service_unit import ServiceUnit
from fabric.model.hashing import hash_fields
from fabric.model.late_values import OWN_API, SERVICE_OUTPUT, find_late_names
from fabric.model.task import Pairs, Task
from fabric.model.task_id import TaskId, build_task_id, release_id
from fabric.model.task_inputs import StackInputs


def find_stack(config: Config, phase: str) -> Stack | None:
    return next((one for one in config.supplies.stacks if one.phase == phase), None)


def build_stack_id(unit: ServiceUnit, phase: str) -> TaskId:
    return build_task_id("stack", unit.service, phase, unit.config.provider.label)


def list_stack_ids(unit: ServiceUnit, phase: str) -> tuple[TaskId, ...]:
    """List the task of the stack of a phase, if the service has one; without a phase all."""
    phases = (one.phase for one in unit.config.supplies.stacks)
    return tuple(build_stack_id(unit, one) for one in phases if one == (phase or one))


def build_stack_tasks(unit: ServiceUnit, needs: Iterable[TaskId]) -> Iterator[Task]:
    """Build the tasks. `needs` are those of the first stack."""
    for stack in unit.config.supplies.stacks:
        release = release_id(unit.service, unit.config.provider.label)
        is_first = stack.phase == "before"
        own = tuple(needs) if is_first else (release, *list_stack_ids(unit, "before"))
        uses = _list_used_tasks(unit, stack)
        inputs = replace(_build_inputs(unit, stack), uses=uses)
        yield Task(build_stack_id(unit, stack.phase), inputs, own)


def _list_used_tasks(unit: ServiceUnit, stack: Stack) -> tuple[TaskId, ...]:
    """List the tasks whose outputs the parameters can contain: the stack before, and tasks of
    other services."""
    names = (name for _, value in stack.parameters for name in find_late_names(value))
    others = list_output_tasks(unit, (one for one in names if one.startswith(SERVICE_OUTPUT)))
    return (*(list_stack_ids(unit, "before") if stack.phase == "after" else ()), *others)


def _build_inputs(unit: ServiceUnit, stack: Stack) -> StackInputs:
    config = unit.config
    place = (("provider-id", config.provider.id), ("region", config.provider.region))
    settings: Pairs = (
        ("name", stack.name),
        ("template", hash_fields((stack.template.text,))),
        ("tags", hash_fields((repr(sorted(stack.tags)),)) if stack.tags else ""),
        ("capabilities", " ".join(sorted(stack.capabilities))),
        ("roleArn", stack.role_arn),
        ("mode", stack.mode if stack.mode != "standard" else ""),
        ("notifications", " ".join(sorted(stack.notifications))),
    )
    return StackInputs(
        service=unit.service,
        phase=stack.phase,
        provider=config.provider.label,
        stage=config.stage,
        mode=unit.mode,
        place=(*place, *unit.account),
        settings=tuple(pair for pair in settings if pair[1]),
        parameters=hash_parameters(stack),
        policy=describe_policy(config, stack),
        uses_api=any(
            name.startswith(OWN_API)
            for _, value in stack.parameters
            for name in find_late_names(value)
        ),
        tags=tuple((name, hash_fields((text,))) for name, text in sorted(stack.tags)),
    )


def hash_parameters(stack: Stack) -> Pairs:
    """Hash the values, which can contain secrets, because graphs are stored on disk."""
    return tuple((name, hash_fields((value,))) for name, value in sorted(stack.parameters))


def is_protected(config: Config, stack: Stack) -> bool:
    given = stack.policy.protect
    return config.deploy.is_protected if given is None else given


def describe_policy(config: Config, stack: Stack) -> Pairs:
    protect = "true" if is_protected(config, stack) else "false"
    return (("onRemove", stack.policy.on_remove), ("protect", protect))
