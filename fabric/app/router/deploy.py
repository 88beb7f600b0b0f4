"""`router deploy`: deploy all targets, then update DNS."""

from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.deploy.production_guard import AskFor, confirm_stage
from fabric.app.project.modes import choose_mode
from fabric.app.records.scope import OpenDnsSync
from fabric.app.request import Request, RouterTargets
from fabric.app.router.dns_updates import make_dns_factory
from fabric.app.router.scope import RoutedTarget, RouterRequest, RouterScope, open_router
from fabric.app.router.sync import (
    DnsChange,
    Synced,
    compute_router_drift,
    refuse_policy,
    refuse_simulated,
    refuse_unasked,
    sync_router,
)
from fabric.app.settings import Settings
from fabric.model.outcomes.deployed import DeployOutcome, ServiceEnd
from fabric.model.outcomes.routed import RouterDeployOutcome
from fabric.model.problems import ExitCode, FabricError, Problem, exit_code_of
from fabric.model.records.record import Mode
from fabric.model.report import Report

# One run over all targets, with who keeps their name, and who is asked for a protected stage.
DeployTogether = Callable[[Request, OpenDnsSync, AskFor], Report]
# Nobody has an address there (RFC 2606): it stands for one that is not known yet.
_NOWHERE = "https://{}.invalid"


class RouterDeploy(Struct, frozen=True):
    """Options of a router deploy."""

    request: Request
    asked: RouterRequest
    # The flag; the config can also enable it.
    sync: bool
    change: DnsChange
    ask: AskFor


class _AgreedTargets(Struct, frozen=True):
    """The targets, whether DNS follows them, and the prompt for later confirmations."""

    labels: tuple[str, ...]
    syncs: bool
    ask: AskFor


def deploy_targets(
    order: RouterDeploy, settings: Settings, deploy_together: DeployTogether
) -> Report:
    """Deploy all targets. DNS problems are reported before anything is deployed.

    DNS stays unchanged if a target could not be deployed.
    """
    targets = _prepare_targets(order, settings)
    change = replace(order.change, agrees=lambda _: True)
    done: list[Synced] = []
    looked: list[Synced] = []
    where = replace(order.request.where, router=RouterTargets(targets.labels, targets.syncs))
    report = deploy_together(
        replace(order.request, where=where),
        partial(make_dns_factory, change=change, told=done.append),
        targets.ask,
    )
    problems: tuple[Problem, ...] = report.problems
    if targets.syncs and not problems and not done:
        # All was as it should be, as far as is written down here: whether it is, is looked at.
        try:
            looked.append(_preview_sync(order, change, settings))
        except FabricError as error:
            problems = error.problems
    return _report(order, report, problems, done, looked)


def plan_targets(
    order: RouterDeploy, settings: Settings, plan_together: Callable[[Request], Report]
) -> Report:
    """Plan all targets and DNS changes, without prompts."""
    with open_router(order.asked, settings) as scope:
        syncs = order.sync or scope.router.auto_apply
        where = replace(order.request.where, router=RouterTargets(scope.labels, syncs))
    return plan_together(replace(order.request, where=where))


def _prepare_targets(order: RouterDeploy, settings: Settings) -> _AgreedTargets:
    """Prepare the targets. A protected stage is confirmed once for everything."""
    with open_router(order.asked, settings) as scope:
        syncs = order.sync or scope.router.auto_apply
        if not syncs:
            _refuse_reason(order.change)
            return _AgreedTargets(scope.labels, syncs, order.ask)
        refuse_unasked(scope, order.change)
        _look_before(scope, settings)
        confirm_stage(scope.units, scope.config.stage, settings, order.ask)
        stage = scope.config.stage
        return _AgreedTargets(scope.labels, syncs, lambda _: stage)


def _refuse_reason(change: DnsChange) -> None:
    """Reject a reason without a DNS change, because it is stored in the DNS history."""
    if change.consent.reason:
        hint = "add --sync-dns, or set `extensions.router.autoApply: true`"
        raise FabricError(Problem("usage/no-effect", "--reason has no effect here", hint))


def _preview_sync(order: RouterDeploy, change: DnsChange, settings: Settings) -> Synced:
    with open_router(order.asked, settings) as scope:
        return sync_router(scope, change, settings)


def _report(
    order: RouterDeploy,
    report: Report,
    problems: tuple[Problem, ...],
    done: list[Synced],
    looked: list[Synced],
) -> Report:
    """Build the report. DNS changes within the run have already reported their warnings."""
    deployed = report.outcome if isinstance(report.outcome, DeployOutcome) else None
    told = (*report.warnings, *(warning for one in looked for warning in one.warnings))
    rows = deployed.deployments if deployed else ()
    ended = next((one.outcome for one in (*done, *looked)), None)
    outcome = RouterDeployOutcome(
        deployed.stage if deployed else order.request.where.stage,
        rows,
        ended,
        deployed.rolled_back if deployed else False,
        deployed.summary if deployed else None,
    )
    return replace(
        report,
        command=order.asked.command,
        outcome=outcome,
        problems=problems,
        warnings=tuple(dict.fromkeys(told)),
        exit_code=report.exit_code if report.problems else _exit_code(problems, rows),
    )


def _exit_code(problems: tuple[Problem, ...], rows: Sequence[ServiceEnd]) -> ExitCode:
    """Choose the exit code. Deployed targets with a failed DNS update count as partial."""
    if not problems:
        return ExitCode.OK
    first = exit_code_of(problems[0])
    return ExitCode.PARTIAL if rows and first is ExitCode.FAILED else first


def _look_before(scope: RouterScope, settings: Settings) -> None:
    """Check as if all targets were deployed, with the current state of deployed ones."""
    targets = tuple(_assume_deployed(one, settings) for one in scope.targets)
    deployed = replace(scope, targets=targets)
    refuse_simulated(deployed)
    refuse_policy(
        deployed, compute_router_drift(deployed, deployed.compute_routing(deployed.weights()))
    )


def _assume_deployed(one: RoutedTarget, settings: Settings) -> RoutedTarget:
    is_simulated = choose_mode(one.provider_id, settings.env) == Mode.SIMULATED
    url = one.url if one.host else _NOWHERE.format(one.label.lower())
    return replace(one, url=url, is_simulated=is_simulated)
