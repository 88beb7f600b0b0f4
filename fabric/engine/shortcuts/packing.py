"""Tasks and what was said of a project as plain values, as marshal takes them, and back."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import astuple

from fabric.model.problems import Place, Problem
from fabric.model.project_info import ProjectInfo
from fabric.model.task import Task, TaskInputs

Kinds = Mapping[str, type[TaskInputs]]


def plain_inputs(task: Task) -> tuple[Any, ...]:
    """The fields of a task's inputs as marshal takes them; tuples stay tuples, for keys' sake."""
    names = task.inputs.__struct_fields__
    return tuple(_plain(getattr(task.inputs, name)) for name in names)


def _plain(value: Any) -> Any:
    """A value as marshal takes it: words of an enum as text, tuples still tuples."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return str(value) if isinstance(value, str) else value


def packed_info(info: ProjectInfo) -> tuple[Any, ...]:
    return info.workspace, info.stage, tuple(map(_packed_problem, info.warnings))


def _packed_problem(one: Problem) -> tuple[Any, ...]:
    where = astuple(one.where) if one.where else None
    return one.code, one.message, one.hint, where, one.frame


def info_of(found: Any) -> ProjectInfo:
    workspace, stage, warnings = found
    return ProjectInfo(workspace, stage, tuple(_problem(*one) for one in warnings))


def _problem(code: str, message: str, hint: str, where: Any, frame: str) -> Problem:
    return Problem(code, message, hint, Place(*where) if where else None, frame)
