"""Find records that this run could not change: locked away, linked, diverted or of another mode."""

from collections.abc import Callable, Iterator, Sequence

from fabric.app.records.scope import DeployScope, mode_mismatch_problem
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Mode
from fabric.state.dev_journal import find_diversion_problem
from fabric.state.records.unsure import find_unwritten_problem
from fabric.system.disk import link_problem

_CREDENTIALS = "credentials/missing"


def find_seal_problems(scope: DeployScope) -> Sequence[Problem]:
    try:
        scope.kept_values.require()
    except FabricError as error:
        return error.problems
    return ()


def find_unusable_deployers(scope: DeployScope) -> Iterator[Problem]:
    """Check that fabric can deploy in this mode: with a built-in deployer, a command or a role."""
    for ref, placement in sorted(scope.placements.items()):
        if placement.mode != Mode.SIMULATED:
            try:
                scope.tools.deployers.deployer(ref, Mode(placement.mode))
            except FabricError as error:
                # Credentials are checked for what changes: without a change nothing is called.
                found = (each for each in error.problems if each.code != _CREDENTIALS)
                yield from (each.of(ref.service) for each in found)


def find_mode_mismatches(scope: DeployScope) -> Iterator[Problem]:
    """Find records of real deploys while this run would only simulate."""
    for ref, placement in sorted(scope.placements.items()):
        problem = mode_mismatch_problem(placement, scope.record(ref))
        if problem is not None:
            yield problem.of(ref.service)


def find_unwritten_records(scope: DeployScope) -> Iterator[Problem]:
    return _find_home_problems(scope, find_unwritten_problem)


def find_diverted_records(scope: DeployScope) -> Iterator[Problem]:
    return _find_home_problems(scope, find_diversion_problem)


def find_linked_homes(scope: DeployScope) -> Iterator[Problem]:
    return _find_home_problems(scope, lambda home, _: link_problem(home))


def _find_home_problems(
    scope: DeployScope, find: Callable[..., Problem | None]
) -> Iterator[Problem]:
    for ref in sorted(scope.placements):
        problem = find(scope.transaction.record_store(ref).home, ref)
        if problem is not None:
            yield problem.of(ref.service)
