"""`state migrate`: copy the records of a service to another backend."""

from msgspec.structs import replace

from fabric.app.settings import Settings
from fabric.app.state.scope import StateRequest, open_scope, parse_backend_kind
from fabric.model.outcomes.recorded import CopiedRecord, MigrateOutcome
from fabric.model.problems import FabricError, Problem
from fabric.model.report import Report
from fabric.state.records.listing import list_records_in
from fabric.state.upkeep.migrate import migrate


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
