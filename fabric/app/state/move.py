"""`state migrate`: the records of a service to a back end of another kind."""

from msgspec.structs import replace

from fabric.app.settings import Settings
from fabric.app.state.scope import StateRequest, kind_of, open_scope
from fabric.model.outcomes.looked_up import Plain
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record_document import ref_document
from fabric.model.report import Report
from fabric.state.records.listing import list_records_in
from fabric.state.upkeep.migrate import migrate
from fabric.views.state_text import migrate_text


def migrate_records(asked: StateRequest, settings: Settings, source: str, target: str) -> Report:
    """Both stores are open at once; the config goes on using its own until it says otherwise."""
    kinds = kind_of(source, "--from"), kind_of(target, "--to")
    if source == target:
        message = f"--from and --to are both `{source}`"
        raise FabricError(Problem("usage/same-backend", message, "name two kinds"))
    with (
        open_scope(replace(asked, backend=source), settings) as old,
        open_scope(replace(asked, backend=target), settings) as new,
    ):
        refs = tuple(list_records_in(old.record_store, old.refs()).required())
        done = migrate(old.record_store, new.record_store, refs, old.lock_policy)
    rows = [{**ref_document(one.ref), "serial": one.serial} for one in done.records]
    document = {"from": kinds[0], "to": kinds[1], "records": rows, "archives": done.archives}
    text = migrate_text(document)
    return Report(asked.command, Plain(document, text), warnings=done.warnings)
