"""Runs as figures: how they ended, how their tasks did, and how often a lock was in the way."""

from collections.abc import Sequence

from fabric.daemon.metrics import Metrics
from fabric.engine.bus import Listener
from fabric.engine.run_info import RunInfo
from fabric.model.events import Stamped, TaskEnded
from fabric.model.problems import FabricError
from fabric.model.report import Report


class RunCounts:
    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def listeners(self, info: RunInfo) -> Sequence[Listener]:
        del info
        return (_TaskFigures(self._metrics),)

    def count_end(self, outcome: Report | FabricError) -> None:
        problems = outcome.problems
        self._metrics.count("fabric_runs_total", outcome="failed" if problems else "succeeded")
        if any(one.code == "lock/held" for one in problems):
            self._metrics.count("fabric_locks_waited_total")


class _TaskFigures:
    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def hear(self, event: Stamped) -> None:
        if isinstance(event.event, TaskEnded):
            self._metrics.count("fabric_tasks_total", outcome=event.event.status)

    def close(self) -> None:
        return
