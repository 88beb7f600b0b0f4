"""Previews: stages whose records are marked, so that a sweep can remove them later."""

from collections.abc import Container, Iterable, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.records.scope import DeployScope
from fabric.app.settings import Settings
from fabric.graph.service_unit import ServiceUnit
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Origin, PreviewStage, RecordRef
from fabric.model.time.time_spans import parse_seconds
from fabric.state.records.replace import make_successor, put, read_before
from fabric.state.records.transaction import lock_records
from fabric.system.clock import stamp_in
from fabric.system.git.git import BRANCH_VARIABLES, find_head


class PreviewOptions(Struct, frozen=True):
    """How a deploy marks its stage. Without `expires_at`, the time of an earlier mark stays."""

    is_preview: bool = False
    # In the form of all stored times. None if it is not given, and empty for no end.
    expires_at: str | None = None


NO_PREVIEW = PreviewOptions()
_NEVER = "never"


def parse_preview_options(preview: str, expires: str, settings: Settings) -> PreviewOptions:
    """Parse the options of a command line: the name of a preview, and the time until its end."""
    if expires in ("", _NEVER):
        return PreviewOptions(bool(preview), expires_at="" if expires else None)
    seconds = parse_seconds("--expires", expires)
    if not seconds:
        message, hint = "--expires must be more than 0", "use a duration such as 3d, or never"
        raise FabricError(Problem("usage/bad-duration", message, hint))
    return PreviewOptions(bool(preview), stamp_in(settings.clock, seconds))


def mark_preview(options: PreviewOptions, old: PreviewStage | None) -> PreviewStage | None:
    """Return the mark of a record after a deploy with these options."""
    marked = old or PreviewStage() if options.is_preview else old
    if options.expires_at is None or not (options.expires_at or marked):
        return marked
    return PreviewStage(options.expires_at)


def read_branch(env: Mapping[str, str]) -> str:
    """Read the branch from the variables of CI. A tag is none, although these can name it."""
    if env.get("GITHUB_REF_TYPE") == "tag" or env.get("CI_COMMIT_TAG"):
        return ""
    found = next((env[name] for name in BRANCH_VARIABLES if env.get(name)), "")
    return " ".join(found.split())  # it is part of a table


def find_origin(workspace: Path, scope: DeployScope) -> Origin:
    """Find the commit and branch of the sources, and who deploys them."""
    env = scope.settings.env
    commit, branch = find_head(workspace, env)
    if commit and not branch:
        branch = read_branch(env)
    return Origin(commit, branch, scope.transaction.around.me.who)


def refuse_expiring(units: Iterable[ServiceUnit], stage: str) -> None:
    """Raise for a protected stage, which no sweep removes."""
    if any(unit.config.deploy.is_protected for unit in units):
        message = f"stage `{stage}` is protected and cannot be a preview"
        hint = "remove --preview or --expires, or deploy to another stage"
        raise FabricError(Problem("usage/protected-preview", message, hint))


def renew_previews(
    scope: DeployScope, options: PreviewOptions, written: Container[RecordRef] = ()
) -> tuple[Problem, ...]:
    """Write changed marks of records that the deploy itself did not write. Returns problems."""
    problems: list[Problem] = []
    for ref in sorted(one for one in scope.placements if one not in written):
        record = scope.record(ref)
        if record and mark_preview(options, record.preview) != record.preview:
            try:
                _renew_preview(scope, ref, options)
            except FabricError as error:
                problems += error.problems
    return tuple(problems)


def _renew_preview(scope: DeployScope, ref: RecordRef, options: PreviewOptions) -> None:
    record_store = scope.transaction.record_store(ref)
    policy = scope.transaction.around
    with lock_records(record_store, {ref: 0}, "deploy", policy) as fences:
        before = read_before(record_store, ref)
        # The results of an interrupted run are completed by the next one.
        if before.record is None or before.record.pending:
            return
        marked = replace(before.record, preview=mark_preview(options, before.record.preview))
        put(record_store, make_successor(marked, before, fences[ref]), before)
