"""The commands of a config as tasks: cached ones around builds and packages, and hooks of deploys.

Builds wait for all commands before them, packages for those after builds, and so on. Only builds
and later commands depend on their outputs.
"""

import posixpath
from collections.abc import Iterable, Iterator, Sequence

from fabric.config.rules.locations import (
    build_command_pointer,
    build_step_pointer,
    find_location,
)
from fabric.config.values import Config, ConfigPlace, Step
from fabric.graph.service_unit import ServiceUnit
from fabric.model.names import CACHED_EVENTS, StepEvent
from fabric.model.problems import Place, Problem, raise_if_any
from fabric.model.task import Task, TaskInputs
from fabric.model.task_id import TaskId, build_task_id
from fabric.model.task_inputs import BeforeInputs, HookedTask, HookInputs

_STAGE = "FABRIC_STAGE"


def list_steps(config: Config, *events: StepEvent) -> tuple[Step, ...]:
    return tuple(one for one in config.supplies.steps if one.event in events)


def list_step_ids(config: Config, *events: StepEvent) -> tuple[TaskId, ...]:
    return tuple(
        build_task_id("before", config.service, one.name) for one in list_steps(config, *events)
    )


def build_step_tasks(unit: ServiceUnit, event: StepEvent, after: Sequence[TaskId]) -> list[Task]:
    """Build the cached tasks of an event. Each needs all earlier ones and the `after` tasks."""
    config = unit.config
    earlier = list_step_ids(config, *CACHED_EVENTS[: CACHED_EVENTS.index(event)])
    steps = list_steps(config, event)
    ids = list_step_ids(config, event)
    return [
        Task(ids[number], _build_inputs(unit, step), (*earlier, *after, *ids[:number]))
        for number, step in enumerate(steps)
    ]


def _build_inputs(unit: ServiceUnit, step: Step) -> BeforeInputs:
    spots = _list_input_places(unit.config, step)
    outside = (*_find_outside_inputs(unit.root, step, spots),)
    raise_if_any(outside)
    names_stage = any(_STAGE in word for word in step.command)
    return BeforeInputs(
        service=unit.service,
        name=step.name,
        root=unit.root,
        event=step.event,
        command=step.command,
        inputs=step.inputs,
        outputs=step.outputs,
        ignore=(*(() if step.inputs else step.ignore), *_list_output_rules(unit.config, step)),
        stage=unit.config.stage if names_stage else "",
        timeout=step.timeout,
        places=tuple((one.where.file, one.where.line, one.where.column) for one in spots),
        place=_find_place(unit.config, step),
    )


def _find_place(config: Config, step: Step) -> tuple[str, int, int]:
    where = find_location(config.document, build_command_pointer(step.name))
    return where.file, where.line, where.column


def _list_input_places(config: Config, step: Step) -> list[ConfigPlace]:
    """List the place of each input, or only the file if unknown."""
    known = {one.pointer: one for one in config.document.locations} if step.inputs else {}
    unknown = ConfigPlace("", Place(config.document.file))
    pointers = (build_step_pointer(step.name, number) for number in range(len(step.inputs)))
    return [known.get(pointer, unknown) for pointer in pointers]


def find_outside_inputs(unit: ServiceUnit) -> Iterator[Problem]:
    """Find inputs above the workspace. A result that depends on them is valid nowhere else."""
    for step in list_steps(unit.config, *CACHED_EVENTS):
        yield from _find_outside_inputs(unit.root, step, _list_input_places(unit.config, step))


def _find_outside_inputs(root: str, step: Step, spots: Sequence[ConfigPlace]) -> Iterator[Problem]:
    for pattern, spot in zip(step.inputs, spots, strict=True):
        path = posixpath.normpath(posixpath.join(root, pattern.removeprefix("!")))
        if path == ".." or path.startswith("../"):
            message = f"the input `{pattern}` of the step `{step.name}` is not in the workspace"
            hint = "copy the files into the workspace, or remove the input"
            yield Problem("config/bad-pattern", message, hint, spot.where, spot.frame)


def _list_output_rules(config: Config, step: Step) -> tuple[str, ...]:
    """List rules for outputs that are not inputs. Named inputs can be outputs of earlier steps."""
    steps = list_steps(config, *CACHED_EVENTS)
    later = steps[steps.index(step) :] if step.inputs else steps
    patterns = (pattern.removeprefix("./").lstrip("/") for one in later for pattern in one.outputs)
    return tuple(dict.fromkeys(f"/{pattern}" for pattern in patterns))


def list_hook_ids(config: Config, event: StepEvent) -> tuple[TaskId, ...]:
    label = config.provider.label
    return tuple(
        build_task_id("hook", config.service, one.name, label) for one in list_steps(config, event)
    )


def build_hook_tasks(
    unit: ServiceUnit, event: StepEvent, hooked: Sequence[Task], after: Iterable[TaskId]
) -> list[Task]:
    """Build the hooks of an event. They run if one of the `hooked` tasks runs."""
    config = unit.config
    of_event, ids = list_steps(config, event), list_hook_ids(config, event)
    needs = tuple(dict.fromkeys(after))
    packed = tuple(
        (str(one.id), tuple(map(str, one.needs)), _list_values(one.inputs)) for one in hooked
    )
    return [
        Task(ids[number], _build_hook(unit, step, packed), (*needs, *ids[:number]))
        for number, step in enumerate(of_event)
    ]


def _build_hook(unit: ServiceUnit, step: Step, hooked: tuple[HookedTask, ...]) -> HookInputs:
    config = unit.config
    return HookInputs(
        service=unit.service,
        name=step.name,
        root=unit.root,
        event=step.event,
        command=step.command,
        provider=config.provider.label,
        stage=config.stage,
        mode=unit.mode,
        timeout=step.timeout,
        simulated=step.simulated,
        hooked=hooked,
        place=_find_place(config, step),
    )


def _list_values(inputs: TaskInputs) -> tuple[object, ...]:
    return tuple(getattr(inputs, name) for name in inputs.__struct_fields__)
