"""`state backup`, `restore` and `migrate`: copies of the records, in a file or another backend."""

from pathlib import Path

from msgspec.structs import replace

from fabric.app.project.files import read_input
from fabric.app.settings import Settings
from fabric.app.state.outside import parse_backup
from fabric.app.state.records import Agrees
from fabric.app.state.scope import StateRequest, StateScope, open_scope, parse_backend_kind
from fabric.model.outcomes.recorded import (
    BackupOutcome,
    CopiedRecord,
    MigrateOutcome,
    RestoreOutcome,
    describe_saved_record,
)
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Record
from fabric.model.report import Report
from fabric.state.records.backup import Backup, encode_backup
from fabric.state.records.listing import list_records_in
from fabric.state.records.missing import BACKUP_NAME
from fabric.state.upkeep.corrections import refuse_other_lineages, restore
from fabric.state.upkeep.migrate import migrate
from fabric.system.clock import stamp
from fabric.system.files.new_files import write_named


def write_backup(asked: StateRequest, settings: Settings, out: str) -> Report:
    """Write every record to a backup, or no file at all, because a partial backup is misleading."""
    with open_scope(asked, settings) as scope:
        records = tuple(
            list_records_in(scope.record_store, scope.refs()).require_complete().values()
        )
        path = _choose_backup_path(scope, settings, out)
        store = scope.record_store.stores.state
        if not records:
            raise FabricError(_empty_backup_problem(scope, "to back up"))
        now = stamp(settings.clock)
        content = encode_backup(Backup(scope.service, store.kind, now, records))
        write_named(path, content, mode=0o600, durable=True)
    rows = tuple(describe_saved_record(record) for record in records)
    return Report(asked.command, BackupOutcome(str(path), scope.service, rows))


def restore_backup(asked: StateRequest, settings: Settings, file: str, agrees: Agrees) -> Report:
    """Replace stored records by those of the backup; other records stay unchanged."""
    with open_scope(asked, settings) as scope:
        path = _choose_backup_path(scope, settings, file)
        records = _select_records(scope, parse_backup(read_input(path), file or str(path)))
        refuse_other_lineages(scope.record_store, records)
        names = ", ".join(record.ref.title for record in records)
        if not agrees(f"Restore {names} from {path}?"):
            raise FabricError(Problem("state/declined", "nothing was restored"))
        done, warnings = restore(scope.record_store, records, scope.lock_policy)
    rows = tuple(describe_saved_record(record) for record in sorted(done, key=lambda one: one.ref))
    return Report(asked.command, RestoreOutcome(rows), warnings=warnings)


def _select_records(scope: StateScope, found: Backup) -> tuple[Record, ...]:
    """Select the records of a backup. Raises if the backup belongs to other services."""
    others = sorted({one.ref.service for one in found.records} - {scope.service})
    if others:
        message = f"the backup contains `{others[0]}`, not `{scope.service}`"
        hint = f"change to that project, or add --service {others[0]}"
        raise FabricError(Problem("state/other-service", message, hint))
    chosen = tuple(
        one
        for one in found.records
        if scope.stage in ("", one.ref.stage) and scope.provider in ("", one.ref.provider)
    )
    if not chosen:
        raise FabricError(_empty_backup_problem(scope, "in the backup"))
    return chosen


def _choose_backup_path(scope: StateScope, settings: Settings, said: str) -> Path:
    return settings.cwd / said if said else scope.record_store.home / BACKUP_NAME


def _empty_backup_problem(scope: StateScope, where: str) -> Problem:
    narrowed = ", ".join(word for word in (scope.stage, scope.provider) if word)
    of = f"`{scope.service}`" + (f" ({narrowed})" if narrowed else "")
    return Problem("state/not-found", f"no state of {of} found {where}")


def migrate_records(asked: StateRequest, settings: Settings, source: str, target: str) -> Report:
    """Migrate. Both stores are open; the config keeps its backend until the user edits it."""
    kinds = parse_backend_kind(source, "--from"), parse_backend_kind(target, "--to")
    if source == target:
        message = f"--from and --to are both `{source}`"
        raise FabricError(Problem("usage/same-backend", message, "use two different kinds"))
    with (
        open_scope(replace(asked, backend=source), settings) as old,
        open_scope(replace(asked, backend=target), settings) as new,
    ):
        refs = tuple(list_records_in(old.record_store, old.refs()).require_complete())
        done = migrate(old.record_store, new.record_store, refs, old.lock_policy)
    rows = tuple(
        CopiedRecord(one.ref.service, one.ref.stage, one.ref.provider, one.serial)
        for one in done.records
    )
    outcome = MigrateOutcome(*kinds, rows, done.archives)
    return Report(asked.command, outcome, warnings=done.warnings)
