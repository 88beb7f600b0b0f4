"""The report for an up-to-date deploy, stored so that stage 0 can repeat it.

It is also stored after a deploy, from the check that the next run would begin with.
"""

import contextlib
from pathlib import Path

from msgspec.structs import replace

from fabric.app.command import start_command
from fabric.app.deploy.preview import OpenWork, add_output_warnings, open_work, preview
from fabric.app.deploy.report import build_unchanged_report
from fabric.app.preview import Preview
from fabric.app.project.compiled import Compiled
from fabric.app.records.live_traces import renew_traces
from fabric.app.records.scope import DeployScope, ScopeOptions
from fabric.app.running.run_graph import GraphJob, add_run_warnings, is_answer_cacheable, tell_idle
from fabric.app.session import Session
from fabric.app.shortcuts.answers import keep_preview
from fabric.engine.memory.file_index import is_racy, let_settle
from fabric.engine.run_info import MakeListeners
from fabric.model.problems import FabricError
from fabric.model.report import Report
from fabric.state.records.receipts import build_receipt_path, write_lost_receipts
from fabric.system.clock import read_file_time_ns


def report_no_changes(opened: OpenWork, seen: Preview, make_listeners: MakeListeners) -> Report:
    """Report that everything is up to date. Restores missing files beside the record."""
    session = opened.session
    seen = add_output_warnings(session, seen)
    job = GraphJob(seen.work.info, seen.plan.graph)
    tell_idle(session.request, session.settings, job, make_listeners)
    return _report_and_store(opened, seen)


def _report_and_store(opened: OpenWork, seen: Preview) -> Report:
    session, scope = opened.session, opened.scope
    renew_traces(scope)
    seen = _with_receipts(seen, scope)
    report = build_unchanged_report(session.request, seen, scope)
    if is_answer_cacheable(session, seen.plan):
        keep_preview(session, seen, report)
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


def keep_next_answer(session: Session, work: Compiled, options: ScopeOptions) -> None:
    """Store the answer for the next run, after the checks that it would begin with.

    On any failure the next run checks itself.
    """
    request, settings, command_line = session.request, session.settings, session.caches.command_line
    if command_line is None or not (settings.takes_shortcuts and work.may_be_kept):
        return
    # Records were written a moment ago.
    let_settle(lambda: read_file_time_ns(settings.cwd))
    command = start_command(request, settings, command_line)
    with (
        contextlib.suppress(OSError, FabricError),
        open_work(command, work, options) as opened,
    ):
        files, started_ns = opened.session.stores.files, session.caches.started_ns
        if any(is_racy(files.full(path), started_ns) for path in work.sources):
            return  # what was deployed may not be what is there
        seen = preview(opened)
        if seen.sources is not None and not seen.plan.anything_to_do:
            _report_and_store(opened, add_output_warnings(opened.session, seen))
