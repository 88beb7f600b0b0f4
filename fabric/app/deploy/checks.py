"""The checks before a deploy: one table, read by `plan`, `deploy`, `rollback` and `doctor`."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from fabric.app.deploy.access import access_problems
from fabric.app.deploy.lost_addresses import lost_addresses
from fabric.app.deploy.other_accounts import other_places
from fabric.app.deploy.parts_of_wholes import parts_of_wholes
from fabric.app.deploy.preview import missing_upstreams
from fabric.app.deploy.scope import DeployScope, lost_records, mismatch
from fabric.app.deploy.shared_places import shared_places
from fabric.app.deploy.unfit_functions import unfit_problems
from fabric.app.project.compiled import Compiled
from fabric.graph.decide import Action
from fabric.graph.plan import Plan
from fabric.model.problems import FabricError, Problem, each_once
from fabric.model.records.record import Mode, RecordRef
from fabric.model.task_inputs import DeployInputs, ReleaseInputs, RemoveInputs
from fabric.state.dev_journal import wired_problem
from fabric.state.records.unwritten import unwritten_problem
from fabric.system.disk import link_problem
from fabric.system.parallel import HANDS

_CREDENTIALS = "credentials/missing"


class DeployCandidate(Struct, frozen=True):
    """The services of a deploy or rollback. A rollback has no compiled `work`."""

    scope: DeployScope
    work: Compiled | None = None
    # How many records are read at the same time.
    at_once: int = HANDS


class DeployCheck(Struct, frozen=True):
    """A check before a deploy. With `stops_plan` a failure prevents a plan; otherwise it is a plan
    warning."""

    name: str
    find: Callable[[DeployCandidate], Iterable[Problem]]
    stops_plan: bool = False


class FoundProblems(Struct, frozen=True):
    """All reasons to refuse a deploy, in the order of the checks."""

    stopping: tuple[Problem, ...] = ()
    other: tuple[Problem, ...] = ()

    @property
    def all(self) -> tuple[Problem, ...]:
        return each_once((*self.stopping, *self.other))


def problems_before(one: DeployCandidate) -> FoundProblems:
    """Find problems before anything is planned, built or locked."""
    stopping: list[Problem] = []
    other: list[Problem] = []
    for check in DEPLOY_CHECKS:
        (stopping if check.stops_plan else other).extend(check.find(one))
    if stopping or other:
        other += access_problems(one.scope, one.scope.placements)
    return FoundProblems(tuple(stopping), tuple(other))


def problems_of_change(scope: DeployScope, plan: Plan) -> tuple[Problem, ...]:
    """Find problems that matter only if something changes: missing credentials and packages."""
    return tuple(access_problems(scope, changing_refs(plan)))


def require_deployable(one: DeployCandidate) -> None:
    """Raises all that forbids a run, before anything is built or locked."""
    found = problems_before(one).all
    if found:
        raise FabricError(*found)


def require_access(scope: DeployScope, plan: Plan) -> None:
    require_access_to(scope, changing_refs(plan))


def require_access_to(scope: DeployScope, refs: Iterable[RecordRef]) -> None:
    found = each_once(access_problems(scope, refs))
    if found:
        raise FabricError(*found)


def changing_refs(plan: Plan) -> frozenset[RecordRef]:
    return frozenset(
        RecordRef(task.inputs.service, task.inputs.stage, task.inputs.provider)
        for task, decision in zip(plan.graph.tasks, plan.decisions, strict=True)
        if decision.action is not Action.SKIP
        and isinstance(task.inputs, DeployInputs | ReleaseInputs | RemoveInputs)
    )


def _state_key(one: DeployCandidate) -> Sequence[Problem]:
    try:
        one.scope.kept_values.require()
    except FabricError as error:
        return error.problems
    return ()


def _lost(one: DeployCandidate) -> Sequence[Problem]:
    return lost_records(one.scope, one.at_once)


def _upstreams(one: DeployCandidate) -> Iterable[Problem]:
    return missing_upstreams(one.work.graph, one.scope) if one.work else ()


def _addresses(one: DeployCandidate) -> Iterable[Problem]:
    return lost_addresses(one.work, one.scope) if one.work else ()


def _unfit(one: DeployCandidate) -> Iterable[Problem]:
    return unfit_problems(one.scope) if one.work else ()


def _partial(one: DeployCandidate) -> Iterable[Problem]:
    return parts_of_wholes(one.work, one.scope) if one.work else ()


def _deployers(one: DeployCandidate) -> Iterator[Problem]:
    """Check that fabric can deploy in this mode: with a built-in deployer, a command or a role."""
    for ref, placement in sorted(one.scope.placements.items()):
        if placement.mode != Mode.SIMULATED:
            try:
                one.scope.tools.deployers.deployer(ref, Mode(placement.mode))
            except FabricError as error:
                # Credentials are checked for what changes: without a change nothing is called.
                found = (each for each in error.problems if each.code != _CREDENTIALS)
                yield from (each.of(ref.service) for each in found)


def _modes(one: DeployCandidate) -> Iterator[Problem]:
    for ref, placement in sorted(one.scope.placements.items()):
        problem = mismatch(placement, one.scope.record(ref))
        if problem is not None:
            yield problem.of(ref.service)


def _unwritten(one: DeployCandidate) -> Iterator[Problem]:
    return _of_homes(one.scope, unwritten_problem)


def _diverted(one: DeployCandidate) -> Iterator[Problem]:
    return _of_homes(one.scope, wired_problem)


def _links(one: DeployCandidate) -> Iterator[Problem]:
    return _of_homes(one.scope, lambda home, _: link_problem(home))


def _of_homes(scope: DeployScope, find: Callable[..., Problem | None]) -> Iterator[Problem]:
    for ref in sorted(scope.placements):
        problem = find(scope.transaction.record_store(ref).home, ref)
        if problem is not None:
            yield problem.of(ref.service)


DEPLOY_CHECKS: tuple[DeployCheck, ...] = (
    DeployCheck("state-key", _state_key, stops_plan=True),
    DeployCheck("lost-state", _lost, stops_plan=True),
    DeployCheck("upstreams", _upstreams),
    DeployCheck("upstream-addresses", _addresses),
    DeployCheck("place", lambda one: other_places(one.scope), stops_plan=True),
    DeployCheck("shared-place", lambda one: shared_places(one.scope), stops_plan=True),
    DeployCheck("config", _unfit, stops_plan=True),
    DeployCheck("whole-service", _partial),
    DeployCheck("deployer", _deployers),
    DeployCheck("mode", _modes),
    DeployCheck("links", _links),
    DeployCheck("unwritten-state", _unwritten),
    DeployCheck("diverted-traffic", _diverted),
)
