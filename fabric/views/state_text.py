"""Text for recorded state."""

from collections.abc import Iterator, Sequence

from msgspec import UNSET

from fabric.model.outcomes import recorded
from fabric.model.records.record import (
    Deployment,
    FunctionRecord,
    Origin,
    PreviewStage,
    RecordRef,
)
from fabric.model.text.amounts import format_count
from fabric.views.style import Style

_HISTORY = 5
_COMMIT = 10


def format_table(rows: Sequence[Sequence[str]]) -> str:
    """Format a table. Columns are as wide as their widest cell; the last is unlimited."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return "\n".join(lines)


def list_text(found: recorded.RecordsOutcome, _style: Style) -> str:
    if not found.records:
        return f"No state of {found.service} found in {found.place}."
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
    return format_table([head, *cells])


def format_stages(found: recorded.StagesOutcome, _style: Style) -> str:
    if not found.stages:
        return "No deployed stages found."
    head = (
        *("SERVICE", "STAGE", "PROVIDER", "MODE", "FUNCTIONS", "COMMIT", "DEPLOYED BY"),
        *("DEPLOYED", "EXPIRES"),
    )
    cells = [
        (
            *(row.service, row.stage, row.provider, row.mode, str(row.functions)),
            format_commit(Origin(row.commit, row.branch)) or "-",
            row.owner or "-",
            row.deployed_at,
            _format_end(row),
        )
        for row in found.stages
    ]
    return format_table([head, *cells])


def _format_end(row: recorded.StageRow) -> str:
    if row.protected:
        return "protected"
    return row.expires_at or ("never" if row.preview else "-")


def format_sweep(done: recorded.SweepOutcome, _style: Style) -> str:
    verb = "Would remove" if done.dry_run else "Removed"
    lines = [f"{verb} {one.service} ({one.stage}, {one.provider})." for one in done.removed]
    lines += [
        f"Kept {one.service} ({one.stage}, {one.provider}): {one.reason}." for one in done.kept
    ]
    return "\n".join(lines) if lines else "No previews found."


def show_text(found: recorded.RecordOutcome, _style: Style) -> str:
    return "\n".join(_format_record(found))


def _format_record(found: recorded.RecordOutcome) -> Iterator[str]:
    record = found.record
    yield f"{record.ref.service} ({record.ref.stage}, {record.ref.provider})"
    yield f"  {record.lifecycle}, {record.mode}, serial {record.serial}"
    yield f"  stored in {found.place}"
    yield f"  {record.deployment_id or 'never deployed'}  {record.updated_at}"
    if record.endpoint:
        yield f"  {record.endpoint}"
    if record.origin.commit:
        yield f"  commit {format_commit(record.origin)}, deployed by {record.origin.who}"
    if record.preview:
        yield f"  {_format_preview(record.preview)}"
    yield from _format_section("Functions", [_format_function(one) for one in record.functions])
    yield from _format_section(
        "Outputs", [f"{key} = {value}" for key, value in sorted(record.outputs)]
    )
    yield from _format_section("Pending", [one.task for one in record.pending])
    yield from _format_section("History", [_release(one) for one in record.history[:_HISTORY]])
    yield from _format_alarms(found)


def format_commit(origin: Origin) -> str:
    commit = origin.commit[:_COMMIT]
    return f"{commit} ({origin.branch})" if origin.branch else commit


def _format_preview(one: PreviewStage) -> str:
    return f"preview, expires at {one.expires_at}" if one.expires_at else "preview, never expires"


def _format_function(one: FunctionRecord) -> str:
    known = "" if one.key else "  unknown"
    return f"{one.name}  {one.resource_id}  {one.artifact_sha256[:12]}{known}"


def _release(one: Deployment) -> str:
    return f"{one.deployment_id}  {one.updated_at}  {one.mode}"


def _format_section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"{title}:"
        yield from (f"  {line}" for line in lines)


def _format_alarms(found: recorded.RecordOutcome) -> Iterator[str]:
    lock = found.lock
    if lock:
        yield f"Locked by {lock['who']} (pid {lock['pid']}) for `{lock['operation']}`."
    if found.is_unwritten:
        yield "A newer state is waiting to be written. Run: fabric state push"


def format_stored(found: recorded.StoredOutcome, _style: Style) -> str:
    return found.content.rstrip("\n")


def format_backup(done: recorded.BackupOutcome, _style: Style) -> str:
    return _format_records(done.records, f"backed up to {done.file}")


def restore_text(done: recorded.RestoreOutcome, _style: Style) -> str:
    return _format_records(done.restored, "restored")


def _format_records(rows: Sequence[recorded.SavedRecord | recorded.CopiedRecord], done: str) -> str:
    lines = [f"  {row.stage}  {row.provider}  serial {row.serial}" for row in rows]
    return "\n".join([*lines, f"{format_count(len(rows), 'record')} {done}."])


def migrate_text(done: recorded.MigrateOutcome, _style: Style) -> str:
    if not done.records:
        return f"No state found in {done.source}."
    archives = format_count(done.archives, "archive")
    how = f"and {archives} copied from {done.source} to {done.target} and verified"
    advice = f"Set `backend.kind: {done.target}` to use the new backend."
    return f"{_format_records(done.records, how)}\n{advice}"


def push_text(done: recorded.PushOutcome, _style: Style) -> str:
    return f"Stored the state of {_format_title(done)} with serial {done.serial}."


def forget_text(done: recorded.ForgetOutcome, _style: Style) -> str:
    if not done.removed:
        return f"No state of {_format_title(done)} found."
    return f"Removed {_format_title(done)} from state. Its cloud resources still exist."


def _format_title(one: recorded.PushOutcome | recorded.ForgetOutcome) -> str:
    return RecordRef(one.service, one.stage, one.provider).title


def unlock_text(done: recorded.UnlockOutcome, _style: Style) -> str:
    if not done.unlocked:
        return f"{done.title} is not locked."
    return f"Removed the lock of {done.title}, which was held by {done.by}."


def reconcile_text(found: recorded.ReconcileOutcome, _style: Style) -> str:
    if not found.entries:
        return "No deployments found in config, state or receipts."
    rows = format_table(
        [(one.status, one.service, one.provider, one.detail) for one in found.entries]
    )
    fixed = () if found.fixed is UNSET else found.fixed
    return rows + (f"\n{format_count(len(fixed), 'receipt')} re-created." if fixed else "")
