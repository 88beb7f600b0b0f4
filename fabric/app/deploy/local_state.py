"""State that only this machine has: two machines could deploy over each other."""

from collections.abc import Iterator

from fabric.app.deploy.scope import DeployScope
from fabric.app.project.files import build_client_environment
from fabric.app.project.placement import Placement
from fabric.graph.plan import Plan
from fabric.model.backends import BackendKind
from fabric.model.problems import Problem
from fabric.model.records.record import Mode
from fabric.state.backends.registry import is_on_this_machine

_NAMED = 3


def warn_of_local_state(scope: DeployScope, plan: Plan) -> Iterator[Problem]:
    """Warn of local state at the first deploy that is not simulated, and in CI at each one."""
    if not plan.anything_to_do:
        return
    in_ci = scope.settings.in_ci
    local = [
        ref.service
        for ref, placement in sorted(scope.placements.items())
        if (in_ci or (placement.mode != Mode.SIMULATED and scope.record(ref) is None))
        and _is_local(scope, placement)
    ]
    services = list(dict.fromkeys(local))
    if services:
        own = services[0] if len(services) == 1 else ""
        yield _build_warning(services, in_ci=in_ci).of(own)


def _is_local(scope: DeployScope, placement: Placement) -> bool:
    env = build_client_environment(placement.env_place, scope.settings.env)
    return is_on_this_machine(BackendKind(placement.backend), dict(placement.settings), env)


def _build_warning(services: list[str], *, in_ci: bool) -> Problem:
    names = ", ".join(f"`{one}`" for one in services[:_NAMED])
    more = f" and {len(services) - _NAMED} more" if len(services) > _NAMED else ""
    danger = "this CI job deletes it at its end" if in_ci else "another machine could overwrite it"
    message = f"the state of {names}{more} is stored only on this machine: {danger}"
    hint = "set `backend` to sql or an object store, then run: fabric state migrate"
    return Problem("state/local-only", message, hint)
