"""The compiled graph: tasks in order, needs as plain numbers, nothing to import to walk it."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from fabric.model.task import Task, TaskInputs
from fabric.model.task_id import TaskId, is_kind


class TaskGraph(Struct, frozen=True):
    """Tasks sorted by level, then id. A need always comes before its dependents."""

    tasks: Sequence[Task]
    ids: Sequence[TaskId]
    needs: Sequence[tuple[int, ...]]
    level_of: Sequence[int]

    def __len__(self) -> int:
        return len(self.ids)

    def numbers_of(self, kind: str) -> Iterator[int]:
        """Return the tasks of a kind by their names, without unpacking them."""
        return (number for number, one in enumerate(self.ids) if is_kind(one, kind))

    def inputs_of(self, kind: str) -> Iterator[TaskInputs]:
        """The inputs of all tasks of a kind."""
        return (self.tasks[number].inputs for number in self.numbers_of(kind))

    @property
    def levels(self) -> tuple[tuple[TaskId, ...], ...]:
        """Tasks that never need each other, from the first to start to the last."""
        rows: list[list[TaskId]] = [[] for _ in range(max(self.level_of, default=-1) + 1)]
        for task_id, level in zip(self.ids, self.level_of, strict=True):
            rows[level].append(task_id)
        return tuple(tuple(row) for row in rows)

    @property
    def dependents(self) -> tuple[tuple[int, ...], ...]:
        rows: list[list[int]] = [[] for _ in self.ids]
        for number, needs in enumerate(self.needs):
            for need in needs:
                rows[need].append(number)
        return tuple(tuple(row) for row in rows)
