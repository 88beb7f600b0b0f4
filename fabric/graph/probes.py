"""Graphs of environment checks and observations. Their tasks are independent: one level."""

from collections.abc import Iterable
from typing import ClassVar

from msgspec import Struct

from fabric.graph.taskgraph import TaskGraph
from fabric.model.records.record import RecordRef
from fabric.model.task import InputEntry, Lane, Task
from fabric.model.task_id import TaskId, build_task_id
from fabric.model.task_inputs import ProbeInputs, list_option_entries


def probe_graph(ref: RecordRef, checks: Iterable[str]) -> TaskGraph:
    from fabric.graph.build_graph import (
        build_graph,  # networkx: imported when something is compiled
    )

    return build_graph(probe_task(ref, check) for check in checks)


def probe_task(ref: RecordRef, check: str) -> Task:
    """Build a check task. Without a service, as with an unreadable config, the check alone is the
    name."""
    inputs = ProbeInputs(ref.service, ref.provider, ref.stage, check)
    whole = build_task_id("probe", ref.service, check, ref.provider)
    return Task(whole if ref.service else build_task_id("probe", check), inputs)


def build_observation_id(kind: str, ref: RecordRef) -> TaskId:
    return build_task_id(kind, ref.service, provider=ref.provider)


def build_observation_graph(kind: str, refs: Iterable[RecordRef]) -> TaskGraph:
    """`kind` is one of logs, metrics and traces."""
    inputs = OBSERVE_INPUTS[kind]
    by_id = {
        build_observation_id(kind, ref): Task(
            build_observation_id(kind, ref), inputs(ref.service, ref.provider, ref.stage)
        )
        for ref in refs
    }
    # Put together here: what levels graphs in general costs a third of a start to import.
    ids = tuple(sorted(by_id))
    return TaskGraph(
        tasks=tuple(by_id[one] for one in ids),
        ids=ids,
        needs=((),) * len(ids),
        level_of=(0,) * len(ids),
    )


class _ObserveInputs(Struct, frozen=True):
    """Inputs of observation tasks. Their results are valid only at that time."""

    lane: ClassVar[Lane] = Lane.IO
    shown_in: ClassVar[str] = ""
    owns_folder: ClassVar[bool] = False
    shares_folder: ClassVar[bool] = False

    service: str
    provider: str
    stage: str

    @property
    def function(self) -> str:
        return ""

    def entries(self) -> tuple[InputEntry, ...]:
        return list_option_entries(self, "service")


class _LogsInputs(_ObserveInputs, frozen=True):
    kind: ClassVar[str] = "logs"


class _MetricsInputs(_ObserveInputs, frozen=True):
    kind: ClassVar[str] = "metrics"


class _TracesInputs(_ObserveInputs, frozen=True):
    kind: ClassVar[str] = "traces"


OBSERVE_INPUTS = {cls.kind: cls for cls in (_LogsInputs, _MetricsInputs, _TracesInputs)}
