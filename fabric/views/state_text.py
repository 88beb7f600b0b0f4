"""What is recorded of deployments, for people."""

from collections.abc import Iterator, Sequence

from msgspec import UNSET

from fabric.model.amounts import plural
from fabric.model.outcomes import recorded
from fabric.model.records.record import Deployment, FunctionRecord, RecordRef
from fabric.views.style import Style

_HISTORY = 5


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell; the last one may be as long as it likes."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return "\n".join(lines)


def list_text(found: recorded.RecordsOutcome, _style: Style) -> str:
    if not found.records:
        return f"There is no state of {found.service} in {found.place}."
    head = ("STAGE", "PROVIDER", "MODE", "LIFECYCLE", "SERIAL", "FUNCTIONS", "UPDATED", "")
    cells = [
        (
            row.stage,
            row.provider,
            row.mode,
            row.lifecycle,
            str(row.serial),
            str(len(row.functions)),
            row.updated_at,
            "locked" if row.locked else "",
        )
        for row in found.records
    ]
    return table([head, *cells])


def show_text(found: recorded.RecordOutcome, _style: Style) -> str:
    return "\n".join(_shown(found))


def _shown(found: recorded.RecordOutcome) -> Iterator[str]:
    record = found.record
    yield f"{record.ref.service} ({record.ref.stage}, {record.ref.provider})"
    yield f"  {record.lifecycle}, {record.mode}, serial {record.serial}"
    yield f"  kept in {found.place}"
    yield f"  {record.deployment_id or 'never deployed'}  {record.updated_at}"
    if record.endpoint:
        yield f"  {record.endpoint}"
    yield from _section("Functions", [_function(one) for one in record.functions])
    yield from _section("Outputs", [f"{key} = {value}" for key, value in sorted(record.outputs)])
    yield from _section("Unfinished", [one.task for one in record.pending])
    yield from _section("History", [_release(one) for one in record.history[:_HISTORY]])
    yield from _alarms(found)


def _function(one: FunctionRecord) -> str:
    known = "" if one.key else "  unknown"
    return f"{one.name}  {one.resource_id}  {one.artifact_sha256[:12]}{known}"


def _release(one: Deployment) -> str:
    return f"{one.deployment_id}  {one.updated_at}  {one.mode}"


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"{title}:"
        yield from (f"  {line}" for line in lines)


def _alarms(found: recorded.RecordOutcome) -> Iterator[str]:
    lock = found.lock
    if lock:
        yield f"Locked by {lock['who']} (pid {lock['pid']}) for `{lock['operation']}`."
    if found.is_unwritten:
        yield "A later state waits to be written: fabric state push"


def stored_text(found: recorded.StoredOutcome, _style: Style) -> str:
    return found.content.rstrip("\n")


def backup_text(done: recorded.BackupOutcome, _style: Style) -> str:
    return _records_text(done.records, f"backed up in {done.file}")


def restore_text(done: recorded.RestoreOutcome, _style: Style) -> str:
    return _records_text(done.restored, "restored")


def _records_text(rows: Sequence[recorded.SavedRecord | recorded.CopiedRecord], done: str) -> str:
    lines = [f"  {row.stage}  {row.provider}  serial {row.serial}" for row in rows]
    return "\n".join([*lines, f"{plural(len(rows), 'record')} {done}."])


def migrate_text(done: recorded.MigrateOutcome, _style: Style) -> str:
    if not done.records:
        return f"There is nothing in {done.source} to copy."
    archives = plural(done.archives, "archive")
    how = f"and {archives} copied from {done.source} to {done.target}, read back and equal"
    advice = f"Set `backend.kind: {done.target}` to use them from there."
    return f"{_records_text(done.records, how)}\n{advice}"


def push_text(done: recorded.PushOutcome, _style: Style) -> str:
    return f"{_title(done)} is stored with serial {done.serial}."


def forget_text(done: recorded.ForgetOutcome, _style: Style) -> str:
    said = "is forgotten; its provider was not asked" if done.removed else "had no state"
    return f"{_title(done)} {said}."


def _title(one: recorded.PushOutcome | recorded.ForgetOutcome) -> str:
    return RecordRef(one.service, one.stage, one.provider).title


def unlock_text(done: recorded.UnlockOutcome, _style: Style) -> str:
    if not done.unlocked:
        return f"{done.title} is not locked."
    return f"{done.title} is free; it was locked by {done.by}."


def reconcile_text(found: recorded.ReconcileOutcome, _style: Style) -> str:
    if not found.entries:
        return "Nothing was deployed, as far as config, state and receipts tell."
    rows = table([(one.status, one.service, one.provider, one.detail) for one in found.entries])
    fixed = () if found.fixed is UNSET else found.fixed
    return rows + (f"\n{plural(len(fixed), 'receipt')} made anew." if fixed else "")
