"""`deploy`: preview, lock the affected records, run, and report the deployed state."""

import contextlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.build import copy_artifacts
from fabric.app.deploy.change_records import Changed, RecordsChange, change_records
from fabric.app.deploy.checks import DeployCandidate, require_access, require_deployable
from fabric.app.deploy.no_changes import DeployedNow, keep_next_answer, report_no_changes
from fabric.app.deploy.plan_file import refuse_moved
from fabric.app.deploy.preview import add_output_warnings, preview
from fabric.app.deploy.production_guard import AskFor, confirm_stage, refuse_prompt
from fabric.app.deploy.purpose import Deploying
from fabric.app.deploy.report import deploy_report
from fabric.app.deploy.rollback_checks import find_rollback_problems, is_rollback_enabled
from fabric.app.deploy.scope import (
    DeployScope,
    DnsSyncFactory,
    OpenDnsSync,
    ScopeOptions,
    open_deploy_scope,
)
from fabric.app.preview import Preview
from fabric.app.project.compiled import Compiled
from fabric.app.project.units import list_units
from fabric.app.request import Request
from fabric.app.requirement_pinning import compile_with_pins
from fabric.app.run_graph import GraphJob, tell_idle
from fabric.app.session import Session, SessionOptions
from fabric.app.settings import Settings
from fabric.app.shared_cache import open_shared_cache
from fabric.app.shortcuts.command_line import CommandLine
from fabric.engine.run_info import MakeListeners
from fabric.graph.decide import Action
from fabric.graph.name_tasks import is_managing_dns
from fabric.model.problems import FabricError
from fabric.model.report import Report
from fabric.model.task import Task
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


def deploy(
    request: Request,
    settings: Settings,
    options: DeployOptions,
    make_listeners: MakeListeners,
    command_line: CommandLine | None = None,
) -> Report:
    """Preview without locks first. If everything is up to date, nothing is locked or written."""
    started = read_file_time_ns(settings.cwd)
    with contextlib.closing(open_shared_cache(request, settings)) as shared:
        work = compile_with_pins(request, settings)
        with open_deploy_scope(
            work.placements, settings, _build_scope_options(work, request, settings, options)
        ) as scope:
            require_deployable(DeployCandidate(scope, work))
            opening = SessionOptions(
                started, strict=request.strict, create=False, tools=scope.tools, shared=shared
            )
            with Session(Path(work.info.workspace), settings, opening) as session:
                seen = preview(session, work, scope, files=bool(request.out))
                _refuse_moved(options, settings, session, seen)
                if not seen.plan.anything_to_do and not request.out:
                    seen = add_output_warnings(session, seen)
                    tell_idle(request, settings, seen.work.info, seen.plan.graph, make_listeners)
                    return report_no_changes(request, seen, scope, session, command_line)
                require_access(scope, seen.plan)
            request, change = _change_to_make(request, seen, scope, options, started)
            change = replace(change, shared=shared)
            changed = change_records(request, change, make_listeners)
            report = deploy_report(request, seen, _write_copies(request, settings, changed))
        asks_again = options.force or options.plan
        # Where records lie elsewhere, stage 0 has no answer to give.
        if command_line and changed.result.ok and not asks_again and seen.sources is not None:
            done = DeployedNow(work, started, command_line)
            again = _build_scope_options(work, request, settings, options)
            keep_next_answer(request, settings, done, again)
    return report


def _change_to_make(
    request: Request, seen: Preview, scope: DeployScope, options: DeployOptions, started: int
) -> tuple[Request, RecordsChange]:
    """Build the change and its request. With rollback, no task starts after a failure."""
    units, settings = scope.work.units.all(), scope.work.settings
    # Said on the line, it beats what the config and the variable make of a failure.
    rollback = not request.keep_going and any(
        is_rollback_enabled(options.rollback, unit.config, settings) for unit in units
    )
    problems = tuple(find_rollback_problems(scope, seen.plan)) if rollback else ()
    if problems:
        raise FabricError(*problems)
    confirm_stage(units, seen.work.info.stage, settings, options.ask)
    job = GraphJob(seen.work.info, seen.work.graph, elsewhere=seen.elsewhere)
    claimed = tuple(_list_claimed_tasks(seen, scope))
    change = RecordsChange(scope, Deploying(rollback=rollback), job, claimed, started)
    return replace(request, fail_fast=request.fail_fast or rollback), change


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


def _write_copies(request: Request, settings: Settings, changed: Changed) -> Changed:
    """Copy the artifacts out. Reports the deployed state even if copying fails."""
    if not request.out:
        return changed
    result, workspace = changed.result, Path(changed.info.workspace)
    try:
        copy_artifacts(result, workspace, "package", settings.cwd / request.out)
    except FabricError as error:
        aftermath = (*result.aftermath, *error.problems)
        return replace(changed, result=replace(result, aftermath=aftermath))
    return changed


def _refuse_moved(
    options: DeployOptions, settings: Settings, session: Session, seen: Preview
) -> None:
    if options.plan:
        refuse_moved(settings.cwd / options.plan, session, seen)
