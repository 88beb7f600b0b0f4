"""`state list`, `show`, `pull`, `push`, `rm` and `force-unlock`: read and change records."""

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from fabric.app.project.files import read_input
from fabric.app.settings import Settings
from fabric.app.state.outside import parse_pushed_record
from fabric.app.state.scope import StateRequest, StateScope, absent_record_error, open_scope
from fabric.model.outcomes.recorded import (
    ForgetOutcome,
    ListedRecord,
    PushOutcome,
    RecordOutcome,
    RecordsOutcome,
    StoredOutcome,
    UnlockOutcome,
)
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Record, RecordRef
from fabric.model.records.record_json import decode_at
from fabric.model.report import Report
from fabric.state.contract import build_state_key
from fabric.state.locks.document import describe_holder
from fabric.state.records.listing import list_records_in, read_lock_holder
from fabric.state.records.replace import (
    find_lineage_problem,
    find_serial_problem,
    make_successor,
    put,
    read_before,
)
from fabric.state.records.transaction import lock_records, read_unlocked
from fabric.state.records.unsure import build_unwritten_path, drop_unwritten
from fabric.state.upkeep.corrections import forget, unlock

Agrees = Callable[[str], bool]


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


def push(asked: StateRequest, settings: Settings, file: str, *, force: bool) -> Report:
    """Write a record file to the backend, usually after a failed write."""
    path = settings.cwd / file if file else _find_errored_state(asked, settings)
    content = read_input(path)
    record = parse_pushed_record(content, file or str(path))
    with open_scope(_narrow_to_record(asked, record.ref), settings) as scope:
        _refuse_other_service(record.ref, scope)
        pushed = _push_record(scope, record, force=force)
        drop_unwritten(scope.record_store.home, record.ref, content)
    ref = record.ref
    outcome = PushOutcome(ref.service, ref.stage, ref.provider, pushed.serial, str(path))
    return Report(asked.command, outcome)


def _find_errored_state(asked: StateRequest, settings: Settings) -> Path:
    """Find the unwritten record of the selected one, if it exists."""
    with open_scope(asked, settings) as scope:
        path = build_unwritten_path(scope.record_store.home, scope.one)
    if path.exists():
        return path
    message = f"no unsaved state found for {scope.one.title}"
    raise FabricError(Problem("state/nothing-to-push", message, "set --file FILE to push a file"))


def _narrow_to_record(asked: StateRequest, ref: RecordRef) -> StateRequest:
    """Use the stage and provider of the file. Different flags are an error."""
    where = asked.where
    for flag, said, own in (
        ("--stage", where.stage, ref.stage),
        ("--provider", where.provider, ref.provider),
        ("--service", asked.service, ref.service),
    ):
        if said not in ("", own):
            message = (
                f"{flag} {said} does not match the file, which contains the state of {ref.title}"
            )
            raise FabricError(Problem("usage/other-record", message, f"omit {flag}"))
    return replace(asked, where=replace(where, stage=ref.stage, provider=ref.provider))


def _refuse_other_service(ref: RecordRef, scope: StateScope) -> None:
    if ref.service != scope.service:
        message = f"the file contains the state of {ref.title}, not of `{scope.service}`"
        hint = f"change to that project, or add --service {ref.service}"
        raise FabricError(Problem("state/other-service", message, hint))


def _push_record(scope: StateScope, record: Record, *, force: bool) -> Record:
    record_store, ref = scope.record_store, record.ref
    with lock_records(record_store, {ref: record.fence}, "state push", scope.lock_policy) as fences:
        before = read_before(record_store, ref)
        problem = find_lineage_problem(record, before)
        if not force:
            problem = problem or find_serial_problem(record, before)
        if problem:
            raise FabricError(problem)
        new = make_successor(record, before, fences[ref])
        put(record_store, new, before)
    return new


def remove_record(asked: StateRequest, settings: Settings, agrees: Agrees) -> Report:
    """Delete a record from state. Makes no API call; its resources stay."""
    with open_scope(asked, settings) as scope:
        ref = scope.one
        if read_before(scope.record_store, ref).version is None:
            scope.refuse_unknown()
        if not agrees(f"Remove {ref.title} from state? Its cloud resources are not deleted."):
            raise FabricError(Problem("state/declined", "nothing was removed from state"))
        removed = forget(scope.record_store, ref, scope.lock_policy)
    return Report(asked.command, ForgetOutcome(ref.service, ref.stage, ref.provider, removed))


def force_unlock(asked: StateRequest, settings: Settings, agrees: Agrees) -> Report:
    """Remove a lock from its holder. A free lock is not an error."""
    with open_scope(asked, settings) as scope:
        ref = scope.one
        holder = read_lock_holder(scope.record_store, ref)
        if holder is None:
            if read_unlocked(scope.record_store, ref) is None:
                scope.refuse_unknown()
            return Report(asked.command, UnlockOutcome(unlocked=False, title=ref.title))
        by = f"{holder.process.who} (pid {holder.process.pid}, `{holder.operation}`)"
        if not agrees(f"{ref.title} is locked by {by}. Remove the lock?"):
            raise FabricError(Problem("state/declined", "the lock was not removed"))
        unlock(scope.record_store.stores.locks, ref, holder)
    outcome = UnlockOutcome(unlocked=True, title=ref.title, by=by, holder=describe_holder(holder))
    return Report(asked.command, outcome)
