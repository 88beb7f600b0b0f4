"""Why a run is not begun, or not found."""

from fabric.daemon.runs.daemon_run import DaemonRun
from fabric.model.problems import FabricError, Problem


def under_way(run: DaemonRun) -> FabricError:
    return FabricError(
        Problem(
            "run/under-way",
            f"`{run.service}` ({run.stage}) has a run under way: {run.id} ({run.command}, since "
            f"{run.started_at})",
            hint=f"wait for its end (`/runs/{run.id}/events`), or stop it (DELETE /runs/{run.id})",
        )
    )


def too_many(at_once: int, waiting: int) -> FabricError:
    message = f"{at_once} runs are at work and {waiting} wait: no more are taken now"
    return FabricError(Problem("daemon/full", message, hint="ask again in a moment"))


def draining() -> FabricError:
    message = "the daemon is about to stop, and begins no new run"
    return FabricError(Problem("daemon/draining", message, hint="ask again once it is back"))


def unknown(run: str) -> FabricError:
    message = f"there is no run `{run[:80]}`"
    return FabricError(Problem("run/unknown", message, hint="GET /runs lists those that are kept"))
