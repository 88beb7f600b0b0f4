"""A daemon's run as recorded, from the time its id was returned."""

from enum import StrEnum

from msgspec import Struct, to_builtins
from msgspec.json import decode, encode
from msgspec.structs import replace

from fabric.model.outcomes.json_struct import Json, JsonObject
from fabric.model.problems import ExitCode, FabricError, Problem
from fabric.model.report import Report, make_failure_report
from fabric.model.runs.events import RunEnded, Stamped
from fabric.views.report_json import encode_report


class RunStatus(StrEnum):
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    PARTIAL = "partial"
    CANCELLED = "cancelled"


_STATUSES = {
    ExitCode.OK: RunStatus.SUCCEEDED,
    ExitCode.PARTIAL: RunStatus.PARTIAL,
    ExitCode.INTERRUPTED: RunStatus.CANCELLED,
}
LOST = Problem(
    "run/lost",
    "the daemon stopped during this run",
    hint="run it again to continue: finished work is kept",
)
STOPPED = Problem("run/interrupted", "interrupted: the run was stopped", hint="run it again")


class DaemonRun(Struct, frozen=True, rename="camel"):
    """`result` is the answer, `error` the failure. A run can have both."""

    id: str
    command: str
    service: str
    stage: str
    status: RunStatus
    started_at: str
    ended_at: str | None = None
    result: JsonObject | None = None
    error: JsonObject | None = None


def run_document(run: DaemonRun) -> JsonObject:
    """Encode the run for the interface. `error` is present only if there is one."""
    found: dict[str, Json] = to_builtins(run)
    return {name: one for name, one in found.items() if name != "error" or one is not None}


def end_run(run: DaemonRun, report: Report, at: str, *, was_stopped: bool = False) -> DaemonRun:
    """End a run. A failure after a stop request counts as stopped."""
    status = _STATUSES.get(report.exit_code, RunStatus.FAILED)
    if was_stopped and status is RunStatus.FAILED:
        status = RunStatus.CANCELLED
    said = decode(encode(encode_report(report)), type=_ReportDocument)
    return replace(run, status=status, ended_at=at, result=said.result, error=said.error)


def mark_run_lost(run: DaemonRun, at: str) -> DaemonRun:
    return end_run(run, make_failure_report(run.command, FabricError(LOST)), at)


def end_event(run: DaemonRun, told: RunEnded | None) -> Stamped:
    """Build the final event, with task counts if there were tasks. The caller numbers it."""
    counted = told or RunEnded(status="", ran=0, skipped=0, failed=0, blocked=0, ms=0)
    return Stamped(run.id, 0, run.ended_at or "", 0, replace(counted, status=run.status.value))


class _ReportDocument(Struct, frozen=True):
    result: JsonObject | None = None
    error: JsonObject | None = None
