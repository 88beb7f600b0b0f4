"""Tasks of checks: calls of packaged functions before their deploy."""

from collections.abc import Iterator, Sequence

from fabric.config.values import Check, Function
from fabric.graph.deploy_settings import build_spec
from fabric.graph.service_unit import ServiceUnit
from fabric.model.secrets.secret_pins import has_unread_values
from fabric.model.task import Task
from fabric.model.task_id import TaskId, build_task_id
from fabric.model.task_inputs import CheckInputs

# The settings of a function that a call on this machine depends on.
_SETTINGS = frozenset(("runtime", "memory", "timeout", "architecture", "triggers"))


def list_check_ids(unit: ServiceUnit, function: Function) -> tuple[TaskId, ...]:
    return tuple(_build_id(unit, function, check) for check in function.checks)


def build_check_tasks(
    unit: ServiceUnit, function: Function, needs: Sequence[TaskId]
) -> Iterator[Task]:
    if not function.checks:
        return
    _, settings, env = build_spec(unit, function)
    late = {name for name, value in function.env if has_unread_values(value)}
    for check in function.checks:
        inputs = CheckInputs(
            service=unit.service,
            function=function.name,
            name=check.name,
            provider=unit.config.provider.label,
            stage=unit.config.stage,
            root=unit.root,
            event=check.event,
            file=check.file,
            expect=check.expect,
            settings=tuple(pair for pair in settings if pair[0] in _SETTINGS),
            env=tuple(pair for pair in env if pair[0] not in late),
        )
        yield Task(_build_id(unit, function, check), inputs, tuple(needs))


def _build_id(unit: ServiceUnit, function: Function, check: Check) -> TaskId:
    return build_task_id("check", unit.service, f"{function.name}/{check.name}", unit.apart)
