"""`router dns-shift --steps`: a share that grows step by step, and goes back by itself."""

import time
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.deploy.protected import AskFor, confirm_stage
from fabric.app.router.health import checked_endpoints
from fabric.app.router.scope import RouterRequest, RouterScope, open_router
from fabric.app.router.sync import DnsChange, Synced, refuse_unasked, synced
from fabric.app.settings import Settings
from fabric.model.outcomes.routed import ShiftStep, StepsOutcome
from fabric.model.problems import FabricError, Problem
from fabric.model.report import Report
from fabric.model.routing import Weights
from fabric.router.steps import steps_of
from fabric.router.weights import shifted

# While it waits the endpoint is asked so often, at least.
_ASKED_EVERY = 10.0


class StepPlan(Struct, frozen=True):
    """Which endpoint goes up which steps, with how many seconds between them. Who follows it hears
    of each step."""

    label: str
    steps: str
    every: float
    tell: Callable[[str], None] = lambda _: None
    sleep: Callable[[float], None] = time.sleep


class _OvertakenError(FabricError):
    """Somebody else has led the name elsewhere meanwhile."""


def dns_shift_in_steps(
    asked: RouterRequest, settings: Settings, change: DnsChange, plan: StepPlan, ask: AskFor
) -> Report:
    """Between two steps, and after the last, the endpoint has to be well; else all of it goes back
    to what it was at first. What somebody else has changed meanwhile is left as it is."""
    with open_router(asked, settings) as scope:
        before = scope.weights()
        steps = steps_of(plan.steps, len(scope.labels) - 1)
        for percent in steps:
            shifted(before, plan.label, percent)
        if not change.dry_run:
            refuse_unasked(scope, change)
            confirm_stage(scope.units, scope.config.stage, settings, ask)
    agreed = replace(change, agrees=lambda _: True)
    return _Climb(asked, settings, agreed, plan, before).report(steps)


class _Climb:
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
        self._rows: list[ShiftStep] = []
        self._warnings: dict[Problem, None] = {}

    def report(self, steps: tuple[int, ...]) -> Report:
        problem: Problem | None = self._illness()
        weights = self._before
        for percent in steps if problem is None else ():
            try:
                weights = self._step(weights, percent)
            except _OvertakenError as error:
                return self._told(weights, error.first, went_back=False)
            problem = self._watched()
            if problem is not None:
                break
        went_back = problem is not None and bool(self._rows) and not self._change.dry_run
        if went_back:
            weights = self._back(weights)
        return self._told(weights, problem, went_back=went_back)

    def _step(self, expected: Weights, percent: int) -> Weights:
        plan = self._plan
        done = self._set(expected, shifted(self._before, plan.label, percent))
        self._rows.append(ShiftStep(percent, done.outcome.id, done.outcome.weights))
        plan.tell(f"{plan.label}: {percent} %")
        return tuple(done.outcome.weights.items())

    def _set(self, expected: Weights, wanted: Weights) -> Synced:
        def chosen(scope: RouterScope) -> Weights:
            # A dry run leaves everything as it was at first.
            if not self._change.dry_run and dict(scope.weights()) != dict(expected):
                raise _OvertakenError(_overtaken())
            return wanted

        with open_router(self._asked, self._settings) as scope:
            done = synced(scope, self._change, self._settings, chosen)
        self._warnings.update(dict.fromkeys(done.warnings))
        return done

    def _watched(self) -> Problem | None:
        """The endpoint is asked while it waits, and once more at the end."""
        left = 0.0 if self._change.dry_run else self._plan.every
        while left > 0:
            pause = min(left, _ASKED_EVERY)
            self._plan.sleep(pause)
            left -= pause
            problem = self._illness() if left > 0 else None
            if problem is not None:
                return problem
        return self._illness()

    def _illness(self) -> Problem | None:
        if self._change.dry_run:
            return None
        with open_router(self._asked, self._settings) as scope:
            row = next(one for one in checked_endpoints(scope) if one.label == self._plan.label)
        if row.healthy:
            return None
        message = f"the endpoint `{row.label}` is not well: {row.detail}"
        hint = "`fabric router endpoints` asks all of them"
        return Problem("router/unhealthy", message, hint)

    def _back(self, weights: Weights) -> Weights:
        self._plan.tell(f"{self._plan.label} is not well: going back")
        try:
            done = self._set(weights, self._before)
        except _OvertakenError:
            return weights
        return tuple(done.outcome.weights.items())

    def _told(self, weights: Weights, problem: Problem | None, *, went_back: bool) -> Report:
        outcome = StepsOutcome(
            self._plan.label,
            tuple(self._rows),
            dict(weights),
            went_back=went_back,
            dry_run=self._change.dry_run,
        )
        problems = (problem,) if problem else ()
        return Report(self._asked.command, outcome, problems=problems, warnings=(*self._warnings,))


def _overtaken() -> Problem:
    message = "somebody else has changed the shares meanwhile: they are left as they are"
    hint = "`fabric router dns-history` tells who; then shift again"
    return Problem("router/overtaken", message, hint)
