"""The final record of a run, as pure functions of its start and its changes."""

from msgspec.structs import replace

from fabric.model.records.record import Deployment, FunctionRecord, Lifecycle, Record

HISTORY = 20


def end_deployed(base: Record, record: Record, deployment_id: str, now: str) -> Record:
    """Return the record of a successful run. Without changes the deployment stays the same."""
    ended = replace(record, pending=(), lifecycle=Lifecycle.DEPLOYED)
    if _is_same(base, record) and base.deployment_id:
        return replace(
            ended,
            deployment_id=base.deployment_id,
            updated_at=base.updated_at,
            origin=base.origin,
        )
    ended = replace(ended, deployment_id=deployment_id, updated_at=now)
    return replace(ended, history=(take_snapshot(ended), *record.history)[:HISTORY])


def end_failed(base: Record, record: Record, deployment_id: str, now: str) -> Record:
    """Return the record of a failed run under its id. Without changes it stays the same."""
    if _is_same(base, record) and base.deployment_id:
        return restore_base(base, record)
    ended = replace(record, pending=(), lifecycle=Lifecycle.FAILED)
    return replace(ended, deployment_id=deployment_id, updated_at=now)


def restore_base(base: Record, record: Record) -> Record:
    """Return the record before this run, with serial and fence kept.

    Values that the provider or dependencies changed during the rollback are kept too.
    """
    return replace(
        base,
        serial=record.serial,
        fence=record.fence,
        pending=(),
        functions=record.functions
        if _index_functions(record) != _index_functions(base)
        else base.functions,
        endpoint=record.endpoint,
        outputs=record.outputs if dict(record.outputs) != dict(base.outputs) else base.outputs,
        kept=record.kept,
        layers=record.layers,
        stacks=record.stacks,
        workflows=record.workflows,
        preview=record.preview,
        history=record.history,
    )


def _index_functions(record: Record) -> dict[str, FunctionRecord]:
    return {one.name: one for one in record.functions}


def end_rolled_back(record: Record, target: Deployment, deployment_id: str, now: str) -> Record:
    """A rollback: an earlier deployment is the current one again, and first in history."""
    if (record.functions, record.workflows) != (target.functions, target.workflows):
        # Not quite: it has today's variables, or other addresses. That is a deployment of its own.
        new = replace(record, deployment_id="")
        return end_deployed(new, replace(record, release_key=""), deployment_id, now)
    rest = tuple(one for one in record.history if one.deployment_id != target.deployment_id)
    ended = replace(
        record,
        pending=(),
        lifecycle=Lifecycle.DEPLOYED,
        mode=target.mode,
        deployment_id=target.deployment_id,
        updated_at=now,
        origin=target.origin,
    )
    return replace(ended, history=(take_snapshot(ended), *rest))


def remove_addresses(record: Record) -> Record:
    """Remove the addresses of deleted functions. The next release handles the rest."""
    live = {f"{kind}_{one.name}" for one in record.functions for kind in ("url", "arn")}
    outputs = tuple(
        pair
        for pair in record.outputs
        if pair[0] in live or not pair[0].startswith(("url_", "arn_"))
    )
    return replace(record, outputs=outputs, release_key="")


def take_snapshot(record: Record) -> Deployment:
    return Deployment(
        deployment_id=record.deployment_id,
        mode=record.mode,
        endpoint=record.endpoint,
        outputs=record.outputs,
        release_key=record.release_key,
        functions=record.functions,
        updated_at=record.updated_at,
        workflows=record.workflows,
        stacks=record.stacks,
        origin=record.origin,
    )


def _is_same(base: Record, record: Record) -> bool:
    """Return whether everything that the provider has is unchanged."""
    names = ("functions", "endpoint", "outputs", "release_key", "mode", "stacks")
    return all(getattr(base, name) == getattr(record, name) for name in names)
