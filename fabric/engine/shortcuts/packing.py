"""Pack tasks and project facts into plain values for marshal, and unpack them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

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


T = TypeVar("T")


class LazySequence(Sequence[T]):
    def __init__(self, count: int, make: Callable[[int], T]) -> None:
        self._count = count
        self._make = make

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            return [self._make(number) for number in range(self._count)[index]]
        if not -self._count <= index < self._count:
            raise IndexError(index)
        return self._make(index % self._count)
