"""Why a run is not begun, or not found."""

from fabric.daemon.runs.daemon_run import DaemonRun
from fabric.model.problems import FabricError, Problem


def run_conflict_error(run: DaemonRun) -> FabricError:
    return FabricError(
        Problem(
            "run/under-way",
            f"`{run.service}` ({run.stage}) already has a run: {run.id} ({run.command}, since "
            f"{run.started_at})",
            hint=f"wait for it (GET /runs/{run.id}/events), or stop it (DELETE /runs/{run.id})",
        )
    )


def too_many_runs_error(at_once: int, waiting: int) -> FabricError:
    message = f"the run queue is full: {at_once} runs running, {waiting} queued"
    return FabricError(Problem("daemon/full", message, hint="send the request again later"))


def draining_error() -> FabricError:
    message = "the daemon is stopping and starts no new runs"
    return FabricError(
        Problem("daemon/draining", message, hint="send the request again after the restart")
    )


def unknown_run_error(run: str) -> FabricError:
    message = f"unknown run `{run[:80]}`"
    return FabricError(Problem("run/unknown", message, hint="list the runs with GET /runs"))
