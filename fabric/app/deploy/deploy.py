"""`deploy`: preview, lock the affected records, run, and report the deployed state."""

import contextlib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from fabric.app.build import copy_artifacts
from fabric.app.checks.rollbacks import is_rollback_wanted
from fabric.app.checks.table import (
    Candidate,
    Use,
    list_changing_refs,
    require,
    require_changes,
)
from fabric.app.command import CommandLine, open_command, start_command
from fabric.app.deploy.change_records import Changed, RecordsChange, change_records
from fabric.app.deploy.plan_file import refuse_moved
from fabric.app.deploy.preview import OpenWork, add_output_warnings, open_work, preview
from fabric.app.deploy.preview_stages import (
    NO_PREVIEW,
    PreviewOptions,
    find_origin,
    refuse_expiring,
    renew_previews,
)
from fabric.app.deploy.production_guard import AskFor, confirm_stage, refuse_prompt
from fabric.app.deploy.purpose import Deploying
from fabric.app.deploy.report import build_unchanged_report, deploy_report
from fabric.app.preview import Preview
from fabric.app.project.compiled import Compiled
from fabric.app.project.units import list_units
from fabric.app.records.live_traces import renew_traces
from fabric.app.records.scope import DeployScope, DnsSyncFactory, OpenDnsSync, ScopeOptions
from fabric.app.request import Request
from fabric.app.running.run_graph import GraphJob, add_run_warnings, is_answer_cacheable, tell_idle
from fabric.app.session import Session
from fabric.app.settings import Settings
from fabric.app.shortcuts.answers import keep_preview
from fabric.app.shortcuts.compiled import compile_with_pins
from fabric.engine.bus import MakeListeners
from fabric.engine.memory.file_index import is_racy, let_settle
from fabric.graph.decide import Action
from fabric.graph.name_tasks import is_managing_dns
from fabric.model.problems import FabricError, raise_if_any
from fabric.model.records.record import Origin, RecordRef
from fabric.model.report import Report
from fabric.model.task import Task
from fabric.state.records.receipts import build_receipt_path, write_lost_receipts
from fabric.system.clock import read_file_time_ns


class DeployOptions(Struct, frozen=True):
    """Options of a deploy."""

    force: bool = False
    # The flag, or None if it is not given.
    rollback: bool | None = None
    lock_timeout: float = 0.0
    # A saved plan that must still match.
    plan: str = ""
    # Prompts for the name of a protected stage.
    ask: AskFor = refuse_prompt
    # Updates the DNS of routers.
    names: OpenDnsSync | None = None
    preview: PreviewOptions = NO_PREVIEW
    # Where the archives come from, if not from the sources here.
    origins: Mapping[RecordRef, Origin] = field(default_factory=dict)


def deploy(
    request: Request,
    settings: Settings,
    options: DeployOptions,
    make_listeners: MakeListeners,
    command_line: CommandLine | None = None,
) -> Report:
    """Preview without locks first. If everything is up to date, nothing is locked or written."""
    with open_command(request, settings, command_line) as command:
        work = compile_with_pins(request, settings)
        opening = build_scope_options(work, request, settings, options)
        with open_work(command, work, opening) as opened:
            if options.preview != NO_PREVIEW:
                refuse_expiring(opened.scope.work.units.all(), work.info.stage)
            require(Use.DEPLOY, Candidate(scope=opened.scope, work=work))
            seen = preview(opened, files=bool(request.out))
            if options.plan:
                refuse_moved(settings.cwd / options.plan, opened.session, seen)
            if not seen.plan.anything_to_do and not request.out:
                problems = renew_previews(opened.scope, options.preview)
                raise_if_any(problems)
                return _report_no_changes(opened, seen, make_listeners)
            change = build_deploy_change(opened, seen, options)
            changed = change_records(opened.session, change, make_listeners)
            problems = renew_previews(opened.scope, options.preview, changed.finals)
            report = deploy_report(request, seen, _write_copies(opened.session, changed))
            report = replace(report, warnings=(*report.warnings, *problems))
        asks_again = options.force or options.plan
        # Where records lie elsewhere, stage 0 has no answer to give.
        if changed.result.ok and not asks_again and seen.sources is not None:
            _keep_next_answer(opened.session, work, opening)
    return report


def build_deploy_change(opened: OpenWork, seen: Preview, options: DeployOptions) -> RecordsChange:
    """Build the change, if nothing forbids it and a protected stage is confirmed."""
    session, scope = opened.session, opened.scope
    said = False if session.request.execution.keep_going else options.rollback
    refs = list_changing_refs(seen.plan)
    one = Candidate(scope=scope, work=seen.work, plan=seen.plan, refs=refs, rollback=said)
    require_changes(Use.DEPLOY, one)
    units = scope.work.units.all()
    confirm_stage(units, seen.work.info.stage, session.settings, options.ask)
    job = GraphJob(seen.work.info, seen.work.graph, elsewhere=seen.elsewhere)
    claimed = tuple(_list_claimed_tasks(seen, scope))
    purpose = Deploying(
        rollback=is_rollback_wanted(scope, said),
        origins=options.origins
        or dict.fromkeys(scope.placements, find_origin(session.workspace, scope)),
        preview=options.preview,
    )
    return RecordsChange(scope, purpose, job, claimed)


def build_scope_options(
    work: Compiled, request: Request, settings: Settings, options: DeployOptions
) -> ScopeOptions:
    units = partial(list_units, work, request, settings)
    return ScopeOptions(
        units,
        options.force,
        options.lock_timeout,
        dependencies=work.dependencies,
        names=_find_dns_factory(work, request, options),
    )


def _find_dns_factory(
    work: Compiled, request: Request, options: DeployOptions
) -> DnsSyncFactory | None:
    """Return the DNS factory. DNS modules are imported only for services with a router."""
    if options.names is None or not is_managing_dns(work.graph):
        return None
    return options.names(request.where, options.lock_timeout)


def _list_claimed_tasks(seen: Preview, scope: DeployScope) -> Iterator[Task]:
    """List the tasks that can change something."""
    for task, decision in zip(seen.plan.graph.tasks, seen.plan.decisions, strict=True):
        if scope.tools.force or decision.action is not Action.SKIP:
            yield task


def _write_copies(session: Session, changed: Changed) -> Changed:
    """Copy the artifacts out. Reports the deployed state even if copying fails."""
    out, result = session.request.out, changed.result
    if not out:
        return changed
    try:
        copy_artifacts(result, session.workspace, "package", session.settings.cwd / out)
    except FabricError as error:
        aftermath = (*result.aftermath, *error.problems)
        return replace(changed, result=replace(result, aftermath=aftermath))
    return changed


# The report for an up-to-date deploy, stored so that stage 0 can repeat it.
# It is also stored after a deploy, from the check that the next run would begin with.


def _report_no_changes(opened: OpenWork, seen: Preview, make_listeners: MakeListeners) -> Report:
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
            # A reader without the right to write has its answer all the same.
            with contextlib.suppress(OSError, FabricError):
                write_lost_receipts(home, record)
            paths.add(str(build_receipt_path(home, ref.stage)))
    return seen if seen.sources is None else replace(seen, sources=seen.sources | paths)


def _keep_next_answer(session: Session, work: Compiled, options: ScopeOptions) -> None:
    """Store the answer for the next run, after the checks that it would begin with.

    On any failure the next run checks itself.
    """
    request, settings, command_line = session.request, session.settings, session.caches.command_line
    if command_line is None or not (settings.takes_shortcuts and work.reads.may_be_kept):
        return
    # Records were written a moment ago.
    let_settle(lambda: read_file_time_ns(settings.cwd))
    command = start_command(request, settings, command_line)
    with (
        contextlib.suppress(OSError, FabricError),
        open_work(command, work, options) as opened,
    ):
        files, started_ns = opened.session.stores.files, session.caches.started_ns
        if any(is_racy(files.full(path), started_ns) for path in work.reads.sources):
            return  # a source changed during the deploy
        seen = preview(opened)
        if seen.sources is not None and not seen.plan.anything_to_do:
            _report_and_store(opened, add_output_warnings(opened.session, seen))
