"""The report for an up-to-date deploy, stored so that stage 0 can repeat it.

It is also stored after a deploy, from the check that the next run would begin with.
"""

import contextlib
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.deploy.live_traces import renew_traces
from fabric.app.deploy.preview import add_output_warnings, preview
from fabric.app.deploy.report import build_unchanged_report
from fabric.app.deploy.scope import DeployScope, ScopeOptions, open_deploy_scope
from fabric.app.preview import Preview
from fabric.app.project.compiled import Compiled
from fabric.app.request import Request
from fabric.app.run_graph import add_run_warnings, is_answer_cacheable
from fabric.app.session import Session, SessionOptions
from fabric.app.settings import Settings
from fabric.app.shortcuts.answers import keep_preview
from fabric.app.shortcuts.command_line import CommandLine
from fabric.engine.memory.file_index import is_racy, let_settle
from fabric.model.problems import FabricError
from fabric.model.report import Report
from fabric.state.records.receipts import build_receipt_path, write_lost_receipts
from fabric.system.clock import read_file_time_ns


def report_no_changes(
    request: Request,
    seen: Preview,
    scope: DeployScope,
    session: Session,
    command_line: CommandLine | None,
) -> Report:
    """Report that everything is up to date. Restores missing files beside the record."""
    renew_traces(scope)
    seen = _with_receipts(seen, scope)
    report = build_unchanged_report(request, seen, scope)
    if is_answer_cacheable(session, seen.plan):
        keep_preview(command_line, session, seen, report)
    return replace(report, warnings=add_run_warnings(seen.work.info, session).warnings)


def _with_receipts(seen: Preview, scope: DeployScope) -> Preview:
    """Write deleted receipts again. The stored answer depends on them from now on."""
    paths: set[str] = set()
    for ref, placement in scope.placements.items():
        home, record = Path(placement.home), scope.record(ref)
        if record is not None:
            # Whoever may look, but not write, has looked.
            with contextlib.suppress(OSError, FabricError):
                write_lost_receipts(home, record)
            paths.add(str(build_receipt_path(home, ref.stage)))
    return seen if seen.sources is None else replace(seen, sources=seen.sources | paths)


class DeployedNow(Struct, frozen=True):
    """The result of a run that deployed, and the time from which it read files."""

    work: Compiled
    started_ns: int
    command_line: CommandLine


def keep_next_answer(
    request: Request, settings: Settings, done: DeployedNow, options: ScopeOptions
) -> None:
    """Store the answer for the next run. On any failure the next run checks itself."""
    if not (settings.takes_shortcuts and done.work.may_be_kept):
        return
    workspace = Path(done.work.info.workspace)
    # Records were written a moment ago.
    let_settle(lambda: read_file_time_ns(settings.cwd))
    opening = SessionOptions(read_file_time_ns(settings.cwd), strict=request.strict, create=False)
    with (
        contextlib.suppress(OSError, FabricError),
        open_deploy_scope(done.work.placements, settings, options) as scope,
        Session(workspace, settings, replace(opening, tools=scope.tools)) as session,
    ):
        files = session.stores.files
        if any(is_racy(files.full(path), done.started_ns) for path in done.work.sources):
            return  # what was deployed may not be what is there
        seen = preview(session, done.work, scope)
        if seen.sources is not None and not seen.plan.anything_to_do:
            seen = add_output_warnings(session, seen)
            report_no_changes(request, seen, scope, session, done.command_line)
