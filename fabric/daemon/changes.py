"""Deploys and removals as runs that a request starts, with or without waiting."""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from fabric.daemon.http_types import ApiAnswer, RequestOrigin, make_refusal
from fabric.daemon.runs.daemon_run import DaemonRun, RunStatus
from fabric.daemon.runs.run_queue import RunWork
from fabric.daemon.statuses import OK, choose_http_status
from fabric.engine.bus import Listener, MakeListeners, RunInfo
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.model.report import Report

_TURN = 3600.0
_CUT_OFF = Problem("run/cancelled", "the run was cancelled")


class WorldChange(Struct, frozen=True):
    """A change."""

    command: str
    work: RunWork
    # Builds a successful answer from its report.
    told: Callable[[Report], JsonObject]
    # Its origin.
    request: RequestOrigin


class RunsOfChanges(Protocol):
    def begin(self, command: str, service: str, stage: str, work: RunWork) -> str: ...
    def wait(self, run: str, seconds: float) -> DaemonRun: ...


class AfterChange(Protocol):
    """The callback after a stage can have changed, with the outcome."""

    def __call__(self, stage: str, outcome: Report | FabricError) -> None: ...


class WorldChanges:
    """`listen` builds further listeners for a run that a request started."""

    def __init__(
        self,
        runs: RunsOfChanges,
        after: AfterChange,
        listen: Callable[[RunInfo, RequestOrigin], Sequence[Listener]] = lambda _info, _request: (),
    ) -> None:
        self._runs = runs
        self._after = after
        self._listen = listen

    def begin(self, change: WorldChange, service: str, stage: str) -> str:
        """Start a run and return its id without waiting."""
        return self._runs.begin(
            change.command, service, stage, _AnsweredChange(self, change, stage).work
        )

    def carry_out(self, change: WorldChange, service: str, stage: str) -> ApiAnswer:
        told = _AnsweredChange(self, change, stage)
        run = self._runs.begin(change.command, service, stage, told.work)
        while (found := self._runs.wait(run, _TURN)).status is RunStatus.RUNNING:
            pass
        answer = told.answer or _answer_not_started(found)
        return replace(answer, headers={"X-Fabric-Run": run})

    def report_end(self, stage: str, outcome: Report | FabricError) -> None:
        self._after(stage, outcome)

    def listeners(self, make: MakeListeners, request: RequestOrigin) -> MakeListeners:
        return lambda info: (*make(info), *self._listen(info, request))


class _AnsweredChange:
    """A running change and the caller that waits for its answer."""

    def __init__(self, changes: WorldChanges, change: WorldChange, stage: str) -> None:
        self._changes, self._change, self._stage = changes, change, stage
        self.answer: ApiAnswer | None = None

    def work(self, make_listeners: MakeListeners) -> Report:
        try:
            report = self._perform_change(make_listeners)
            self.answer = build_change_answer(report, self._change.told(report))
        except FabricError as error:
            self.answer = make_refusal(choose_http_status(error.problems), error.problems)
            raise
        return report

    def _perform_change(self, make_listeners: MakeListeners) -> Report:
        try:
            listeners = self._changes.listeners(make_listeners, self._change.request)
            report = self._change.work(listeners)
        except FabricError as error:
            self._changes.report_end(self._stage, error)
            raise
        except BaseException:  # cut off, or fallen over something: it may have changed a lot
            self._changes.report_end(self._stage, FabricError(_CUT_OFF))
            raise
        self._changes.report_end(self._stage, report)
        return report


def _answer_not_started(run: DaemonRun) -> ApiAnswer:
    """Answer for a run that was stopped in the queue or failed before its start."""
    said = run.error or {}
    text = {name: str(said.get(name) or "") for name in ("code", "message", "hint")}
    problem = Problem(text["code"] or "internal/error", text["message"], text["hint"])
    return make_refusal(choose_http_status((problem,)), (problem,))


def build_change_answer(report: Report, document: JsonObject) -> ApiAnswer:
    """Build the answer. It reports finished work even if other parts failed."""
    if not report.problems:
        return ApiAnswer(OK, {"ok": True, **document})
    failed = make_refusal(choose_http_status(report.problems), report.problems)
    return replace(failed, document={**document, **failed.document})
