"""Traces of other machines from records."""

from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct, field

from fabric.graph.traces import Trace
from fabric.model.task_id import TaskId

Traces: TypeAlias = tuple[Trace, ...]


class RemoteResults(Struct, frozen=True):
    """The output of a `trusted` run is not fetched, because its function is deployed and up to
    date."""

    # Runs without a local trace.
    traces: Mapping[TaskId, Traces] = field(default_factory=dict)
    trusted: frozenset[TaskId] = frozenset()

    def without(self, taken: frozenset[TaskId]) -> "RemoteResults":
        return RemoteResults(self.traces, self.trusted - taken)


NOTHING = RemoteResults()
