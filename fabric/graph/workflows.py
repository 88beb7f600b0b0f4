"""The tasks of state machines: a version each, after the functions and before the release."""

import json
from collections.abc import Iterable, Iterator, Mapping

from fabric.config.values import Config, StateMachine
from fabric.config.workflows import SUBSTITUTED
from fabric.graph.late_outputs import list_trigger_texts
from fabric.graph.service_unit import ServiceUnit
from fabric.graph.stacks import list_stack_ids
from fabric.model.hashing import hash_fields
from fabric.model.late_values import (
    OWN_ADDRESSES,
    STACK_OUTPUT,
    fill_placeholders,
    find_late_names,
    show_placeholders,
)
from fabric.model.records.record import Mode
from fabric.model.task import Pairs, Task
from fabric.model.task_id import TaskId, build_task_id
from fabric.model.task_inputs import WorkflowInputs


def find_machine(config: Config, name: str) -> StateMachine | None:
    return next((one for one in config.supplies.machines if one.name == name), None)


def list_workflow_ids(unit: ServiceUnit) -> tuple[TaskId, ...]:
    """List the tasks of state machines. A custom command deploys none."""
    if unit.mode == Mode.COMMAND:
        return ()
    label = unit.config.provider.label
    machines = unit.config.supplies.machines
    return tuple(build_task_id("workflow", unit.service, one.name, label) for one in machines)


def build_workflow_tasks(unit: ServiceUnit, deploys: Iterable[TaskId]) -> Iterator[Task]:
    needs = tuple(deploys)
    for task, machine in zip(list_workflow_ids(unit), unit.config.supplies.machines, strict=False):
        stacks = list_stack_ids(unit, "before") if _uses_stack(machine) else ()
        yield Task(task, _build_inputs(unit, machine), (*needs, *stacks))


def _build_inputs(unit: ServiceUnit, machine: StateMachine) -> WorkflowInputs:
    config = unit.config
    place = (("provider-id", config.provider.id), ("region", config.provider.region))
    return WorkflowInputs(
        service=unit.service,
        name=machine.name,
        provider=config.provider.label,
        stage=config.stage,
        mode=unit.mode,
        place=(*place, *unit.account),
        settings=describe_machine(machine),
    )


def describe_machine(machine: StateMachine) -> Pairs:
    """Describe everything that a deploy or a release of the state machine reads. Records contain
    it, so late values are described by their bindings."""
    parts = {one: hash_fields((repr(getattr(machine, one)),)) for one in _HASHED}
    settings: Pairs = (
        ("definition", parts["definition"]),
        ("type", machine.type),
        ("role", machine.role),
        ("permissions", machine.permissions),
        ("logs", machine.logs),
        ("tracing", machine.tracing),
        ("substitutions", parts["substitutions"] if machine.substitutions else ""),
        ("triggers", parts["triggers"] if machine.triggers else ""),
        ("calls", " ".join(list_called_arns(machine))),
    )
    return tuple((name, show_placeholders(text)) for name, text in settings if text)


_HASHED = ("definition", "substitutions", "triggers")


def _list_late_names(machine: StateMachine) -> tuple[str, ...]:
    values = (value for _, value in machine.substitutions)
    texts = (
        *(machine.definition, machine.permissions, machine.role, *values),
        *list_trigger_texts(machine.triggers),
    )
    return tuple(sorted({name for text in texts for name in find_late_names(text)}))


def _uses_stack(machine: StateMachine) -> bool:
    return any(one.startswith(STACK_OUTPUT) for one in _list_late_names(machine))


def list_called_arns(machine: StateMachine) -> tuple[str, ...]:
    """List the own functions and workflows that the definition names."""
    values = (value for _, value in machine.substitutions)
    names = {name for text in (machine.definition, *values) for name in find_late_names(text)}
    return tuple(sorted(one for one in names if one.startswith(OWN_ADDRESSES)))


def fill_definition(machine: StateMachine, known: Mapping[str, str]) -> str:
    """Fill the outputs of stacks and the substitutions. Own ARNs stay placeholders."""
    inside = {name: _escape(value) for name, value in known.items()}
    given = {name: _escape(fill_placeholders(text, known)) for name, text in machine.substitutions}
    text = fill_placeholders(machine.definition, inside)
    return SUBSTITUTED.sub(lambda found: given.get(found[1], found[0]), text)


def _escape(text: str) -> str:
    """Write a text as the inside of a JSON text."""
    return json.dumps(text, ensure_ascii=False)[1:-1]
