"""Pack tasks and project facts into plain values for marshal, and unpack them."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import astuple

from fabric.model.problems import Place, Problem
from fabric.model.project_info import ProjectInfo
from fabric.model.task import Task, TaskInputs

Kinds = Mapping[str, type[TaskInputs]]


def pack_inputs(task: Task) -> tuple[Any, ...]:
    """Pack a task's inputs for marshal. Tuples stay tuples, because keys depend on them."""
    names = task.inputs.__struct_fields__
    return tuple(_convert_to_plain(getattr(task.inputs, name)) for name in names)


def _convert_to_plain(value: Any) -> Any:
    """Convert a value for marshal: enum members become text, tuples stay tuples."""
    if isinstance(value, tuple):
        return tuple(map(_convert_to_plain, value))
    return str(value) if isinstance(value, str) else value


def pack_info(info: ProjectInfo) -> tuple[Any, ...]:
    return info.workspace, info.stage, tuple(map(_pack_problem, info.warnings))


def _pack_problem(one: Problem) -> tuple[Any, ...]:
    where = astuple(one.where) if one.where else None
    return one.code, one.message, one.hint, where, one.frame


def unpack_info(found: Any) -> ProjectInfo:
    workspace, stage, warnings = found
    return ProjectInfo(workspace, stage, tuple(_unpack_problem(*one) for one in warnings))


def _unpack_problem(code: str, message: str, hint: str, where: Any, frame: str) -> Problem:
    return Problem(code, message, hint, Place(*where) if where else None, frame)
