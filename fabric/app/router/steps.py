"""`router dns-shift --steps`: increase a weight step by step, with automatic rollback."""

import contextlib
import time
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.deploy.production_guard import AskFor, confirm_stage
from fabric.app.router.health import check_endpoints
from fabric.app.router.scope import RouterRequest, RouterScope, open_router
from fabric.app.router.sync import DnsChange, Synced, refuse_unasked, sync_router
from fabric.app.settings import Settings
from fabric.model.outcomes.routed import ShiftStep, StepsOutcome
from fabric.model.problems import ExitCode, FabricError, Problem, exit_code_of
from fabric.model.report import Report
from fabric.model.routing.routing import Weights
from fabric.router.simulate import parse_steps, select_steps_up
from fabric.router.weights import shift_weight

# While it waits the endpoint is asked so often, at least.
_ASKED_EVERY = 10.0
# A back end that does not take the way back is asked again after so many seconds.
_BACK_PAUSES = (1.0, 4.0)


class StepPlan(Struct, frozen=True):
    """The endpoint, the steps, and the seconds between them. A callback receives each step."""

    label: str
    steps: str
    every: float
    tell: Callable[[str], None] = lambda _: None
    sleep: Callable[[float], None] = time.sleep


class _OvertakenError(FabricError):
    """Another process changed DNS in the meantime."""


def shift_dns_in_steps(
    asked: RouterRequest, settings: Settings, change: DnsChange, plan: StepPlan, ask: AskFor
) -> Report:
    """Shift step by step. After each step the endpoint must be healthy and the backend must accept.

    Otherwise all weights are restored. Changes by another process in the meantime are left alone.
    """
    with open_router(asked, settings) as scope:
        before = scope.weights()
        plan = replace(plan, label=scope.label_of(plan.label))
        said = parse_steps(plan.steps, len(scope.labels) - 1)
        for percent in said:
            shift_weight(before, plan.label, percent)
        steps = select_steps_up(said, plan.label, dict(before)[plan.label])
        if not change.dry_run:
            refuse_unasked(scope, change)
            confirm_stage(scope.units, scope.config.stage, settings, ask)
    agreed = replace(change, agrees=lambda _: True)
    if steps != said:
        gone = ", ".join(f"{one} %" for one in said if one not in steps)
        plan.tell(f"{plan.label} already has {dict(before)[plan.label]} %: skipping {gone}")
    return _Climb(asked, settings, agreed, plan, before).report(steps)


class _Climb:
    """One stepwise shift. `_holds` are the weights as far as they are known."""

    def __init__(
        self,
        asked: RouterRequest,
        settings: Settings,
        change: DnsChange,
        plan: StepPlan,
        before: Weights,
    ) -> None:
        self._asked = asked
        self._settings = settings
        self._change = change
        self._plan = plan
        self._before = before
        self._holds = before
        self._rows: list[ShiftStep] = []
        self._warnings: dict[Problem, None] = {}

    def report(self, steps: tuple[int, ...]) -> Report:
        """Report the steps made and the final weights, however the shift ended."""
        try:
            problems = self._run_steps(steps)
        except _OvertakenError as error:
            return self._build_report(error.problems, went_back=False)
        except KeyboardInterrupt:
            return self._build_report((self._interruption_problem(),), went_back=False)
        if not problems or not self._rows or self._change.dry_run:
            return self._build_report(problems, went_back=False)
        try:
            hindrances = self._back(problems[0])
        except KeyboardInterrupt:
            return self._build_report((self._interruption_problem(), *problems), went_back=False)
        return self._build_report((*problems, *hindrances), went_back=not hindrances)

    def _run_steps(self, steps: tuple[int, ...]) -> tuple[Problem, ...]:
        """Run the steps. Returns the problems that stopped it early."""
        try:
            problem = self._check_health()
            for percent in steps if problem is None else ():
                self._run_step(percent)
                problem = self._watch_endpoint()
                if problem is not None:
                    break
        except _OvertakenError:
            raise
        except FabricError as error:
            return error.problems
        return (problem,) if problem else ()

    def _run_step(self, percent: int) -> None:
        plan = self._plan
        done = self._set(shift_weight(self._before, plan.label, percent))
        self._rows.append(ShiftStep(percent, done.outcome.id, done.outcome.weights))
        plan.tell(f"{plan.label}: {percent} %")

    def _set(self, wanted: Weights) -> Synced:
        expected = self._holds

        def choose_weights(scope: RouterScope) -> Weights:
            # A dry run leaves everything as it was at first.
            if not self._change.dry_run and dict(scope.weights()) != dict(expected):
                raise _OvertakenError(_overtaken_problem())
            return wanted

        with open_router(self._asked, self._settings) as scope:
            done = sync_router(scope, self._change, self._settings, choose_weights)
        self._holds = tuple(done.outcome.weights.items())
        self._warnings.update(dict.fromkeys(done.warnings))
        return done

    def _watch_endpoint(self) -> Problem | None:
        """Check the endpoint during the wait and once at the end."""
        left = 0.0 if self._change.dry_run else self._plan.every
        while left > 0:
            pause = min(left, _ASKED_EVERY)
            self._plan.sleep(pause)
            left -= pause
            problem = self._check_health() if left > 0 else None
            if problem is not None:
                return problem
        return self._check_health()

    def _check_health(self) -> Problem | None:
        if self._change.dry_run:
            return None
        with open_router(self._asked, self._settings) as scope:
            row = next(one for one in check_endpoints(scope) if one.label == self._plan.label)
        if row.healthy:
            return None
        message = f"unhealthy endpoint `{row.label}`: {row.detail}"
        hint = "run: fabric router endpoints"
        return Problem("router/unhealthy", message, hint)

    def _back(self, why: Problem) -> tuple[Problem, ...]:
        """Restore the weights, with retries, because traffic goes to an unhealthy endpoint until
        then.

        Returns the problem if this failed.
        """
        self._plan.tell(f"{why.message}: restoring the previous weights")
        for pause in (*_BACK_PAUSES, None):
            try:
                self._set(self._before)
            except _OvertakenError as error:
                return error.problems
            except FabricError as error:
                if pause is None:
                    return (*error.problems, self._no_progress_problem())
                self._plan.tell(f"{error.first.message}: retrying in {pause:.0f} s")
                self._plan.sleep(pause)
            else:
                break
        return ()

    def _share(self, weights: Weights) -> int:
        return dict(weights)[self._plan.label]

    def _no_progress_problem(self) -> Problem:
        label, first = self._plan.label, self._share(self._before)
        message = (
            f"the previous weights were not restored: `{label}` keeps {self._share(self._holds)} %"
        )
        hint = (
            f"fix the cause, then run: fabric router dns-shift --provider {label} --percent {first}"
        )
        return Problem("router/not-back", message, hint)

    def _interruption_problem(self) -> Problem:
        """Return the problem of an interrupted change. The state, or the next sync, determines its
        end."""
        label = self._plan.label
        with contextlib.suppress(FabricError), open_router(self._asked, self._settings) as scope:
            self._holds = self._holds if self._change.dry_run else scope.weights()
        message = (
            f"interrupted: `{label}` keeps {self._share(self._holds)} % (before the command: "
            f"{self._share(self._before)} %)"
        )
        hint = (
            "run the command again to continue, or `fabric router dns-restore` to restore the "
            "previous weights"
        )
        return Problem("run/interrupted", message, hint)

    def _build_report(self, problems: tuple[Problem, ...], *, went_back: bool) -> Report:
        outcome = StepsOutcome(
            self._plan.label,
            tuple(self._rows),
            dict(self._holds),
            went_back=went_back,
            dry_run=self._change.dry_run,
        )
        return Report(
            self._asked.command,
            outcome,
            problems=problems,
            warnings=(*self._warnings,),
            exit_code=exit_code_of(problems[0]) if problems else ExitCode.OK,
        )


def _overtaken_problem() -> Problem:
    message = "another process changed the weights during the shift: nothing was restored"
    hint = "run: fabric router dns-history, then shift again"
    return Problem("router/overtaken", message, hint)
