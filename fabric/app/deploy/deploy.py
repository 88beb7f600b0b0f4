"""`deploy`: preview, lock the affected records, run, and report the deployed state."""

from collections.abc import Iterator
from functools import partial

from msgspec import Struct
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
from fabric.app.command import CommandLine, open_command
from fabric.app.deploy.change_records import Changed, RecordsChange, change_records
from fabric.app.deploy.no_changes import keep_next_answer, report_no_changes
from fabric.app.deploy.plan_file import refuse_moved
from fabric.app.deploy.preview import OpenWork, open_work, preview
from fabric.app.deploy.production_guard import AskFor, confirm_stage, refuse_prompt
from fabric.app.deploy.purpose import Deploying
from fabric.app.deploy.report import deploy_report
from fabric.app.preview import Preview
from fabric.app.project.compiled import Compiled
from fabric.app.project.units import list_units
from fabric.app.records.scope import DeployScope, DnsSyncFactory, OpenDnsSync, ScopeOptions
from fabric.app.request import Request
from fabric.app.requirement_pinning import compile_with_pins
from fabric.app.running.run_graph import GraphJob
from fabric.app.session import Session
from fabric.app.settings import Settings
from fabric.engine.run_info import MakeListeners
from fabric.graph.decide import Action
from fabric.graph.name_tasks import is_managing_dns
from fabric.model.problems import FabricError
from fabric.model.report import Report
from fabric.model.task import Task


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
        opening = _build_scope_options(work, request, settings, options)
        with open_work(command, work, opening) as opened:
            require(Use.DEPLOY, Candidate(scope=opened.scope, work=work))
            seen = preview(opened, files=bool(request.out))
            if options.plan:
                refuse_moved(settings.cwd / options.plan, opened.session, seen)
            if not seen.plan.anything_to_do and not request.out:
                return report_no_changes(opened, seen, make_listeners)
            change = _build_change(opened, seen, options)
            changed = change_records(opened.session, change, make_listeners)
            report = deploy_report(request, seen, _write_copies(opened.session, changed))
        asks_again = options.force or options.plan
        # Where records lie elsewhere, stage 0 has no answer to give.
        if changed.result.ok and not asks_again and seen.sources is not None:
            keep_next_answer(opened.session, work, opening)
    return report


def _build_change(opened: OpenWork, seen: Preview, options: DeployOptions) -> RecordsChange:
    """Build the change, if nothing forbids it and a protected stage is confirmed."""
    session, scope = opened.session, opened.scope
    said = False if session.request.keep_going else options.rollback
    refs = list_changing_refs(seen.plan)
    one = Candidate(scope=scope, work=seen.work, plan=seen.plan, refs=refs, rollback=said)
    require_changes(Use.DEPLOY, one)
    units = scope.work.units.all()
    confirm_stage(units, seen.work.info.stage, session.settings, options.ask)
    job = GraphJob(seen.work.info, seen.work.graph, elsewhere=seen.elsewhere)
    claimed = tuple(_list_claimed_tasks(seen, scope))
    return RecordsChange(scope, Deploying(is_rollback_wanted(scope, said)), job, claimed)


def _build_scope_options(
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
