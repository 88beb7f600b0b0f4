"""The stage status as the document that the dashboard shows."""

from collections.abc import Iterator, Mapping

from msgspec import to_builtins
from msgspec.structs import replace

from fabric.app.stage_status import StagePlan, StageStatus
from fabric.daemon.runs.daemon_run import DaemonRun
from fabric.model.outcomes.deployed import PastDeployment
from fabric.model.outcomes.json_struct import Json, JsonObject
from fabric.model.records.record import Record
from fabric.model.report import encode_problem
from fabric.views.pictures.drawing import build_drawing
from fabric.views.pictures.placed import encode_placed_drawing


def encode_status(status: StageStatus, took: Mapping[str, int]) -> JsonObject:
    """Encode the status. `took` are known deployment durations."""
    planned = status.planned
    return {
        "ok": True,
        "service": status.service,
        "provider": status.provider,
        "stage": status.stage,
        "stages": status.stages,
        "protected": status.is_protected,
        "live": [_encode_record(one) for one in status.live],
        "releases": [_release(one, took) for one in status.releases],
        "plan": None if planned is None else _plan(planned),
        "graph": None
        if planned is None
        else encode_placed_drawing(build_drawing(planned.plan).remove_implied_edges()),
        "warnings": [encode_problem(one) for one in planned.warnings] if planned else [],
        "problems": [encode_problem(one) for one in status.problems],
    }


def deploy_times(runs: Iterator[DaemonRun]) -> dict[str, int]:
    """Return the durations in milliseconds by deployment, from their runs."""
    found: dict[str, int] = {}
    for run in runs:
        result = run.result or {}
        summary, rows = result.get("summary"), result.get("deployments")
        if not (isinstance(summary, dict) and isinstance(rows, list)):
            continue
        ended = [one for one in rows if isinstance(one, dict) and one.get("status") == "deployed"]
        found |= {str(one.get("deploymentId")): int(summary["ms"]) for one in ended}
    return found


def _encode_record(record: Record) -> Json:
    functions: list[Json] = [
        {"name": one.name, "endpoint": one.endpoint, "updatedAt": one.updated_at}
        for one in record.functions
    ]
    return {
        "provider": record.ref.provider,
        "mode": record.mode.value,
        "lifecycle": record.lifecycle.value,
        "deploymentId": record.deployment_id,
        "endpoint": record.endpoint,
        "outputs": dict(record.outputs),
        "functions": functions,
        "unfinished": len(record.pending),
        "updatedAt": record.updated_at,
    }


def _release(row: PastDeployment, took: Mapping[str, int]) -> Json:
    told: dict[str, Json] = to_builtins(row)
    return {**told, "ms": took.get(row.deployment_id)}


def _plan(planned: StagePlan) -> Json:
    """Encode the plan, with the tasks of the graph."""
    bare = replace(planned.outcome, tasks=(), levels=(), warnings=())
    told: dict[str, Json] = to_builtins(bare)
    return {name: told[name] for name in ("mode", "services", "summary")}
