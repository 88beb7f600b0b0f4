"""`state list`, `show` and `pull`: show recorded state. Takes no lock and changes nothing."""

from fabric.app.settings import Settings
from fabric.app.state.scope import StateRequest, StateScope, absent_record_error, open_scope
from fabric.model.outcomes.recorded import (
    ListedRecord,
    RecordOutcome,
    RecordsOutcome,
    StoredOutcome,
)
from fabric.model.records.record import Record, RecordRef
from fabric.model.records.record_json import decode_at
from fabric.model.report import Report
from fabric.state.contract import build_state_key
from fabric.state.locks.document import describe_holder
from fabric.state.records.listing import list_records_in, read_lock_holder
from fabric.state.records.transaction import read_unlocked
from fabric.state.records.unsure import build_unwritten_path


def list_records(asked: StateRequest, settings: Settings) -> Report:
    """List all records of the service. Unreadable records are reported as problems."""
    with open_scope(asked, settings) as scope:
        found = list_records_in(scope.record_store, scope.refs())
        rows = tuple(_build_record_row(scope, record) for record in found.records.values())
        backend = scope.record_store.stores.state
        outcome = RecordsOutcome(scope.service, backend.kind, rows, backend.place)
        warnings = scope.project.warnings
        is_gone = scope.one not in found.refs
        lost = scope.find_missing_record(scope.one) if is_gone else None
    problems = (*found.problems, *((lost,) if lost else ()))
    return Report(asked.command, outcome, problems=problems, warnings=warnings)


def _build_record_row(scope: StateScope, record: Record) -> ListedRecord:
    return ListedRecord(
        stage=record.ref.stage,
        provider=record.ref.provider,
        mode=record.mode,
        lifecycle=record.lifecycle,
        deployment_id=record.deployment_id,
        serial=record.serial,
        functions=tuple(one.name for one in record.functions),
        endpoint=record.endpoint,
        updated_at=record.updated_at,
        locked=read_lock_holder(scope.record_store, record.ref) is not None,
    )


def show(asked: StateRequest, settings: Settings) -> Report:
    """Show one record: the deployed state, unfinished work and history."""
    with open_scope(asked, settings) as scope:
        ref, place = scope.one, scope.record_store.stores.state.place
        record = read_unlocked(scope.record_store, ref)
        if record is None:
            raise absent_record_error(scope, ref)
        is_unwritten = build_unwritten_path(scope.record_store.home, ref).exists()
        holder = read_lock_holder(scope.record_store, ref)
        lock = describe_holder(holder) if holder else None
        outcome = RecordOutcome(record, lock, is_unwritten, place)
        warnings = scope.project.warnings
    return Report(asked.command, outcome, warnings=warnings)


def pull(asked: StateRequest, settings: Settings) -> Report:
    """The document as it is stored, once it is known to be sound."""
    with open_scope(asked, settings) as scope:
        content = _read_stored_record(scope, scope.one)
    return Report(asked.command, StoredOutcome(content.decode()))


def _read_stored_record(scope: StateScope, ref: RecordRef) -> bytes:
    backend = scope.record_store.stores.state
    stored = backend.read(build_state_key(ref))
    if (
        stored is None
        or decode_at(stored.content, f"{backend.place}/{build_state_key(ref)}", ref).is_stub
    ):
        raise absent_record_error(scope, ref)
    return stored.content
