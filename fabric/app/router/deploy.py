"""`router deploy`: all targets of the fabric, and then the name that leads to them."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.deploy.protected import AskFor, confirm_stage
from fabric.app.request import Request
from fabric.app.router.scope import RouterRequest, open_router
from fabric.app.router.sync import DnsChange, Synced, refuse_unasked, synced
from fabric.app.settings import Settings
from fabric.model.outcomes.deployed import DeployOutcome
from fabric.model.outcomes.routed import RouterDeployOutcome
from fabric.model.problems import ExitCode, FabricError, Problem, exit_code_of
from fabric.model.report import Report, failure

DeployOne = Callable[[Request], Report]


class RouterDeploy(Struct, frozen=True):
    """`sync` is what the flag says: the config may say so too."""

    request: Request
    asked: RouterRequest
    sync: bool
    change: DnsChange
    ask: AskFor


def deploy_targets(order: RouterDeploy, settings: Settings, deploy_one: DeployOne) -> Report:
    """What would keep the name from being changed is told before anything is deployed. The name
    stays as it is where a target could not be deployed."""
    labels, syncs = _prepared(order, settings)
    reports = [_deployed(order.request, label, deploy_one) for label in labels]
    problems = tuple(problem for one in reports for problem in one.problems)
    done: Synced | None = None
    if syncs and not problems:
        try:
            done = _synced(order, settings)
        except FabricError as error:
            problems = error.problems
    return _report(order, reports, problems, done)


def _prepared(order: RouterDeploy, settings: Settings) -> tuple[Sequence[str], bool]:
    with open_router(order.asked, settings) as scope:
        syncs = order.sync or scope.router.auto_apply
        if syncs:
            refuse_unasked(scope, order.change)
            confirm_stage(scope.units, scope.config.stage, settings, order.ask)
        return scope.labels, syncs


def _deployed(request: Request, label: str, deploy_one: DeployOne) -> Report:
    try:
        return deploy_one(replace(request, where=replace(request.where, provider=label)))
    except FabricError as error:
        return failure(request.command, error)


def _synced(order: RouterDeploy, settings: Settings) -> Synced:
    with open_router(order.asked, settings) as scope:
        return synced(scope, replace(order.change, agrees=lambda _: True), settings)


def _report(
    order: RouterDeploy,
    reports: Sequence[Report],
    problems: tuple[Problem, ...],
    done: Synced | None,
) -> Report:
    outcomes = [one.outcome for one in reports if isinstance(one.outcome, DeployOutcome)]
    rows = tuple(row for one in outcomes for row in one.deployments)
    stage = outcomes[0].stage if outcomes else order.request.where.stage
    told = [warning for one in reports for warning in one.warnings]
    told += done.warnings if done else ()
    return Report(
        order.asked.command,
        RouterDeployOutcome(stage, rows, done.outcome if done else None),
        problems=problems,
        warnings=tuple(dict.fromkeys(told)),
        exit_code=_exit_code(problems, reports),
    )


def _exit_code(problems: tuple[Problem, ...], reports: Sequence[Report]) -> ExitCode:
    """Some targets deployed and some not is partial, as it is for functions of one target."""
    if not problems:
        return ExitCode.OK
    first = exit_code_of(problems[0])
    failed = [one for one in reports if one.problems]
    if any(one.exit_code is ExitCode.INTERRUPTED for one in failed):
        return ExitCode.INTERRUPTED
    is_partial = len(failed) < len(reports) or any(
        one.exit_code is ExitCode.PARTIAL for one in failed
    )
    return ExitCode.PARTIAL if is_partial else first
