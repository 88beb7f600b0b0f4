"""What records tell of runs on other machines."""

from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct, field

from fabric.graph.traces import Trace
from fabric.model.task_id import TaskId

Traces: TypeAlias = tuple[Trace, ...]


class MadeElsewhere(Struct, frozen=True):
    """`traces` are runs that this machine does not remember itself. What a `trusted` one made is
    not here, and need not be: its function is live as it is wanted, so nobody takes it."""

    traces: Mapping[TaskId, Traces] = field(default_factory=dict)
    trusted: frozenset[TaskId] = frozenset()

    def without(self, taken: frozenset[TaskId]) -> "MadeElsewhere":
        return MadeElsewhere(self.traces, self.trusted - taken)


NOTHING = MadeElsewhere()
