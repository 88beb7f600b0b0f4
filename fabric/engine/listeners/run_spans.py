"""A run as an OpenTelemetry trace: one span for it and one per checked task."""

import datetime
from collections.abc import Callable
from typing import Protocol

from fabric.model.runs.events import RunEnded, RunStarted, Stamped, TaskEnded, TaskStarted
from fabric.model.task_id import name_of
from fabric.system.tracing import FinishedSpan, SpanPlace, derive_root_place, place_below

_BAD = ("failed", "blocked", "cancelled")
_CACHED = "skipped"


class RunSpans:
    """Creates spans of a run. `parent` is the caller's span; without one the run is a separate
    trace.

    `add` receives finished spans.
    """

    def __init__(
        self, run: str, add: Callable[[FinishedSpan], None], parent: SpanPlace | None
    ) -> None:
        self._run, self._add, self._parent = run, add, parent
        self._place = place_below(parent, run) if parent else derive_root_place(run)
        self._begun: dict[str, int] = {}
        self._command, self._stage = "run", ""
        self._began_ns = 0

    def hear(self, event: Stamped) -> None:
        match event.event:
            case RunStarted(command=command, stage=stage):
                self._command, self._stage, self._began_ns = command, stage, _compute_ns(event)
            case TaskStarted(task=task):
                self._begun[task] = _compute_ns(event)
            case TaskEnded() as ended:
                self._tell_task(ended, _compute_ns(event))
            case RunEnded() as over:
                self._tell_run(over, _compute_ns(event))

    def close(self) -> None:
        return

    def _tell_task(self, ended: TaskEnded, now: int) -> None:
        begun = self._begun.pop(ended.task, now)
        about: dict[str, str | int] = {
            "fabric.task": ended.task,
            "fabric.status": ended.status,
            "fabric.reason": ended.reason,
            "fabric.cached": ended.status == _CACHED,
        }
        parts = name_of(ended.task)._asdict().items()
        about |= {f"fabric.{part}": text for part, text in parts if text}
        place = place_below(self._place, ended.task)
        has_failed = ended.status in _BAD
        self._add(
            FinishedSpan(
                name=ended.task,
                place=place,
                begun_ns=begun,
                ended_ns=now,
                attributes=about,
                parent=self._place,
                has_failed=has_failed,
            )
        )

    def _tell_run(self, over: RunEnded, now: int) -> None:
        about: dict[str, str | int] = {
            "fabric.run": self._run,
            "fabric.stage": self._stage,
            "fabric.status": over.status,
            "fabric.tasks.ran": over.ran,
            "fabric.tasks.cached": over.skipped,
            "fabric.tasks.failed": over.failed,
            "fabric.tasks.blocked": over.blocked,
        }
        self._add(
            FinishedSpan(
                name=self._command,
                place=self._place,
                begun_ns=self._began_ns,
                ended_ns=now,
                attributes=about,
                parent=self._parent,
                has_failed=over.status != "succeeded",
            )
        )


class ClosingExport(Protocol):
    def add(self, span: FinishedSpan) -> None: ...
    def close(self) -> None: ...


class TracedRun(RunSpans):
    """A separate run, in the trace of its caller if there is one. The export ends with it."""

    def __init__(self, run: str, export: ClosingExport, parent: SpanPlace | None = None) -> None:
        super().__init__(run, export.add, parent)
        self._export = export

    def close(self) -> None:
        self._export.close()


def _compute_ns(event: Stamped) -> int:
    return int(datetime.datetime.fromisoformat(event.time).timestamp() * 1000) * 1_000_000
