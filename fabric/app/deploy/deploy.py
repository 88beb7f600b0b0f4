"""`deploy`: foresee, take the locks of what may change, run, and say what is live now."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.build import copy_artifacts
from fabric.app.deploy.closing import Closing
from fabric.app.deploy.live_traces import renew_traces
from fabric.app.deploy.lost_addresses import lost_addresses
from fabric.app.deploy.plan_file import read_seal, refuse_moved
from fabric.app.deploy.preview import Preview, missing_upstreams, preview
from fabric.app.deploy.report import deploy_report, unchanged_report
from fabric.app.deploy.scope import (
    DeployScope,
    ScopeOptions,
    claim_of,
    lost_records,
    mismatch,
    open_deploy_scope,
)
from fabric.app.project.compile import units_of
from fabric.app.project.compiled import Compiled
from fabric.app.request import Request, caps_of
from fabric.app.run_graph import GraphJob, Ran, RunHooks, carry_out, compiled_and_locked, tell_idle
from fabric.app.session import Session
from fabric.app.settings import Settings
from fabric.app.shortcuts import CommandLine, keep_plan
from fabric.config.values import Config
from fabric.engine.run_info import MakeListeners
from fabric.graph.decide import Action
from fabric.graph.plan import Plan
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Mode, RecordRef
from fabric.model.report import Report
from fabric.model.task import RECORD_KINDS, Task
from fabric.state.records.transaction import Claim
from fabric.state.records.unwritten import unwritten_problem
from fabric.system.clock import file_time_ns
from fabric.tasks.deploy import ref_of

_ROLLBACK_VARIABLE = "FABRIC_ROLLBACK_ON_FAILURE"


class DeployOptions(Struct, frozen=True):
    """How a deploy is to be done. `rollback` is what the flag says, None where it is not given;
    `plan` is a saved plan that still has to fit."""

    force: bool = False
    rollback: bool | None = None
    lock_timeout: float = 0.0
    plan: str = ""


def deploy(
    request: Request,
    settings: Settings,
    options: DeployOptions,
    make_listeners: MakeListeners,
    command_line: CommandLine | None = None,
) -> Report:
    """First a look without locks: where nothing is to be done, nothing is taken or written."""
    started = file_time_ns(settings.cwd)
    work = compiled_and_locked(request, settings)

    def after(session: Session, live: Compiled, made: Plan, entries: frozenset[str]) -> None:
        if command_line and not request.out and not made.anything_to_do:
            seen = Preview(live, made)
            kept = live, entries
            keep_plan(command_line, session, kept, lambda: unchanged_report(request, seen, scope))

    units = partial(units_of, work, request, settings)
    scope_options = ScopeOptions(
        units, options.force, options.lock_timeout, dependencies=work.dependencies
    )
    with open_deploy_scope(work.placements, settings, scope_options) as scope:
        refuse(scope, work)
        seen = preview(work, settings, scope, after, files=bool(request.out))
        _refuse_moved(options, settings, seen)
        if not seen.plan.anything_to_do and not request.out:
            tell_idle(request, seen.work.info, seen.plan.graph, make_listeners)
            renew_traces(scope)
            return unchanged_report(request, seen, scope)
        rollback = any(rolls_back(options, unit.config, settings) for unit in scope.tools.units)
        request = replace(request, fail_fast=request.fail_fast or rollback)
        closing = Closing(scope, caps_of(request.concurrency, settings.cores), rollback)
        return _carried_out(request, settings, (seen, closing, started), make_listeners)


def _carried_out(
    request: Request,
    settings: Settings,
    run: tuple[Preview, Closing, int],
    make_listeners: MakeListeners,
) -> Report:
    seen, closing, started = run
    scope = closing.scope
    scope.transaction.expect(claims_of(seen, scope, "deploy"))
    work = GraphJob(seen.work.info, seen.work.graph, {}, scope=scope, elsewhere=seen.elsewhere)
    outlets = RunHooks(make_listeners, undo=closing.finish)
    try:
        done = carry_out(request, settings, work, started, outlets)
    except BaseException:
        scope.transaction.abandon()
        raise
    if request.out:
        done = _copied_out(done, settings.cwd / request.out)
    return deploy_report(request, seen, done, closing)


def _copied_out(done: Ran, folder: Path) -> Ran:
    """What is live is told also where the copies could not be written."""
    try:
        copy_artifacts(done, "package", folder)
    except FabricError as error:
        aftermath = (*done.result.aftermath, *error.problems)
        return replace(done, result=replace(done.result, aftermath=aftermath))
    return done


def _refuse_moved(options: DeployOptions, settings: Settings, seen: Preview) -> None:
    if options.plan:
        refuse_moved(read_seal(settings.cwd / options.plan), seen)


def rolls_back(options: DeployOptions, config: Config, settings: Settings) -> bool:
    """The flag, then the config, then the variable."""
    if options.rollback is not None:
        return options.rollback
    if config.deploy.rollback_on_failure is not None:
        return config.deploy.rollback_on_failure
    return settings.env.get(_ROLLBACK_VARIABLE, "") not in ("", "0", "false")


def refuse(scope: DeployScope, work: Compiled | None = None) -> None:
    """Raises all that forbids this run before anything was built or locked."""
    missing = missing_upstreams(work.graph, scope) if work else ()
    problems = [
        *lost_records(scope),
        *missing,
        *(lost_addresses(work, scope) if work else ()),
        *(
            problem
            for ref, placement in sorted(scope.placements.items())
            for problem in (
                *_of_mode(scope, ref),
                mismatch(placement, scope.transaction.record(ref)),
                unwritten_problem(scope.transaction.record_store(ref).home, ref),
            )
            if problem is not None
        ),
    ]
    if problems:
        raise FabricError(*problems)


def _of_mode(scope: DeployScope, ref: RecordRef) -> Sequence[Problem]:
    """Whether there is somebody to deploy at all in the mode that is asked for."""
    if scope.placements[ref].mode == Mode.SIMULATED:
        return ()
    try:
        scope.tools.deployer(ref, Mode(scope.placements[ref].mode))
    except FabricError as error:
        return error.problems
    return ()


def claims_of(seen: Preview, scope: DeployScope, operation: str) -> Iterator[Claim]:
    """The records of all tasks that may change something, each with what may happen to it."""
    claimed: dict[RecordRef, list[Task]] = {}
    for task, decision in zip(seen.plan.graph.tasks, seen.plan.decisions, strict=True):
        wanted = scope.tools.force or decision.action is not Action.SKIP
        if task.kind in RECORD_KINDS and wanted:
            claimed.setdefault(ref_of(task.inputs), []).append(task)
    return (claim_of(scope.placements[ref], operation, tasks) for ref, tasks in claimed.items())
