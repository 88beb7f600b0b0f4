"""The purpose of a run for its records, and their content when it has ended."""

from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct, field

from fabric.app.deploy.preview_stages import NO_PREVIEW, PreviewOptions
from fabric.model.records.endings import (
    end_deployed,
    end_failed,
    end_rolled_back,
    remove_addresses,
    restore_base,
)
from fabric.model.records.record import Deployment, Origin, Record, RecordRef
from fabric.state.records.locked_record import LockedRecord


class Deploying(Struct, frozen=True, kw_only=True):
    """A deploy. With `rollback` a failure rolls back all changes of the run."""

    rollback: bool = False
    # Where the sources of each record come from.
    origins: Mapping[RecordRef, Origin] = field(default_factory=dict)
    # Marks the records of a preview.
    preview: PreviewOptions = NO_PREVIEW


class Removing(Struct, frozen=True):
    """A removal. With `functions` only these are deleted; a record with others stays."""

    functions: frozenset[str] = frozenset()
    # The records as they were chosen. Under the lock, one that was deployed since is refused.
    chosen: Mapping[RecordRef, Record] = field(default_factory=dict)


class GoingBack(Struct, frozen=True):
    """A rollback to these deployments."""

    targets: Mapping[RecordRef, Deployment]


Purpose: TypeAlias = Deploying | Removing | GoingBack


class RecordEnding(Struct, frozen=True):
    """How the tasks of one record ended."""

    ok: bool
    # True if all of it was rolled back.
    is_as_before: bool
    deployment_id: str
    now: str


def get_operation(purpose: Purpose) -> str:
    match purpose:
        case Deploying():
            return "deploy"
        case Removing():
            return "remove"
        case GoingBack():
            return "rollback"


def compute_final_record(
    purpose: Purpose, locked: LockedRecord, ending: RecordEnding
) -> Record | None:
    """Compute the final record, or None if nothing of it is left."""
    base, record = locked.base, locked.record
    is_left = bool(record.stacks or record.workflows)
    if ending.is_as_before and (base.deployment_id or not is_left):
        return restore_base(base, record) if base.deployment_id else None
    if ending.is_as_before or not ending.ok:
        # After a rollback of a first deploy, a stack stays if its policy is to keep it.
        never_called = not has_moved(locked) and not base.deployment_id and not base.functions
        return None if never_called else end_failed(base, record, ending.deployment_id, ending.now)
    match purpose:
        case GoingBack(targets=targets):
            return end_rolled_back(record, targets[base.ref], ending.deployment_id, ending.now)
        case Removing(functions=functions) if not functions or not record.functions:
            return None
        case Removing():
            return end_deployed(base, remove_addresses(record), ending.deployment_id, ending.now)
        case Deploying():
            return end_deployed(base, record, ending.deployment_id, ending.now)


def has_moved(locked: LockedRecord) -> bool:
    """Whether anything of the record is not as this run found it."""
    return _list_facts(locked.record) != _list_facts(locked.base)


def _list_facts(record: Record) -> tuple[object, ...]:
    released = (record.endpoint, record.outputs, record.release_key)
    return record.functions, *released, record.layers, record.stacks, record.workflows
