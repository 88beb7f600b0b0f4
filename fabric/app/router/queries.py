"""Read-only `fabric router` commands: endpoints, history and traffic simulation."""

from pathlib import Path

from msgspec.structs import replace

from fabric.app.router.health import check_endpoints
from fabric.app.router.scope import RouterRequest, open_router
from fabric.app.router.sync import inspect_drift
from fabric.app.settings import Settings
from fabric.model.outcomes.routed import (
    ChaosOutcome,
    EndpointsOutcome,
    HistoryOutcome,
    RouterStatusOutcome,
    ScenarioRow,
    SimulateOutcome,
    list_foreign_rows,
)
from fabric.model.problems import FabricError, Problem
from fabric.model.report import Report
from fabric.router.diff import foreign_problem, summarize_actions
from fabric.router.history import compute_trend
from fabric.router.routing_warnings import list_routing_warnings
from fabric.router.simulate import ChaosScenario, Verdict, list_scenarios, simulate_shares, watch_of
from fabric.system.files.new_files import write_named


def report_endpoints(asked: RouterRequest, settings: Settings) -> Report:
    with open_router(asked, settings) as scope:
        rows = check_endpoints(scope)
    outcome = EndpointsOutcome(scope.config.service, scope.config.stage, rows)
    return Report(asked.command, outcome, warnings=scope.warnings)


def draw_endpoints(asked: RouterRequest, settings: Settings, form: str, out: str) -> Report:
    """Draw the endpoints, on the screen or to a file."""
    from fabric.views.pictures.router_picture import ROUTER_FORMS

    _refuse_own(settings.cwd / asked.where.config, settings.cwd / out, out)
    report = report_router_status(asked, settings)
    if not isinstance(report.outcome, RouterStatusOutcome):
        return report
    drawn = ROUTER_FORMS[form](report.outcome)
    if not out:
        return replace(report, text=drawn)
    write_named(settings.cwd / out, f"{drawn}\n".encode())
    return replace(report, text="", notes=f"wrote {out}")


def _refuse_own(config: Path, path: Path, out: str) -> None:
    """Reject output files that are inputs of the diagram."""
    if out and path.resolve() == config.resolve():
        message = f"refusing to overwrite the config with --out {out}; nothing was written"
        raise FabricError(Problem("usage/own-file", message, "use another file"))


def report_router_status(asked: RouterRequest, settings: Settings) -> Report:
    """Report the hostname, its endpoints, and whether the DNS backend is in sync."""
    with open_router(asked, settings) as scope:
        rows = check_endpoints(scope)
        desired = scope.compute_routing(scope.weights())
        unknown = [one for one in scope.targets if not one.host]
        drift = inspect_drift(scope, desired) if not unknown else None
        foreign = tuple(foreign_problem(one) for one in drift.foreign) if drift else ()
        told = (*foreign, *list_routing_warnings(desired, scope.dns.backend.kind))
        warnings = (*scope.warnings, *scope.at_config(told))
    outcome = RouterStatusOutcome(
        service=scope.config.service,
        stage=scope.config.stage,
        hostname=desired.hostname,
        provider=scope.router.provider,
        simulated=scope.dns.is_simulated,
        place=scope.dns.backend.place,
        ttl=scope.router.ttl,
        routing=scope.config.targets.routing or "round-robin",
        endpoints=rows,
        summary=summarize_actions(drift.actions) if drift else None,
        foreign=list_foreign_rows(drift.foreign) if drift else (),
    )
    return Report(asked.command, outcome, warnings=warnings)


def report_dns_history(asked: RouterRequest, settings: Settings) -> Report:
    with open_router(asked, settings) as scope:
        entries = scope.files.history()
    outcome = HistoryOutcome(entries, compute_trend(entries))
    return Report(asked.command, outcome, warnings=scope.warnings)


def simulate(asked: RouterRequest, settings: Settings, requests: int) -> Report:
    """Simulate the traffic split of N requests from the weights. Makes no call."""
    with open_router(asked, settings) as scope:
        shares = simulate_shares(scope.weights(), requests)
    return Report(asked.command, SimulateOutcome(requests, dict(shares)), warnings=scope.warnings)


def verify_chaos(asked: RouterRequest, settings: Settings) -> Report:
    """Simulate endpoint failures without calls. A failed scenario fails the command."""
    with open_router(asked, settings) as scope:
        weights = scope.weights()
        watch = watch_of(scope.dns.backend.kind, scope.compute_routing(weights).check_path)
        scenarios = list_scenarios(weights, watch)
    rows = tuple(
        ScenarioRow(one.down, one.verdict, dict(one.shares), one.detail) for one in scenarios
    )
    failed = tuple(_scenario_problem(one) for one in scenarios if one.verdict is Verdict.FAIL)
    return Report(
        asked.command,
        ChaosOutcome(rows),
        problems=scope.at_config(failed),
        warnings=scope.warnings,
    )


def _scenario_problem(scenario: ChaosScenario) -> Problem:
    message = f"with {', '.join(scenario.down)} down: {scenario.detail}"
    hint = "add more targets to `fabric.targets`, then deploy them"
    return Problem("router/no-takeover", message, hint)
