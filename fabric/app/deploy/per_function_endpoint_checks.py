"""Find dependencies on services that have no common endpoint, during planning."""

from collections.abc import Iterable, Iterator

from fabric.app.deploy.known_records import parse_release_ref
from fabric.app.deploy.scope import DeployScope
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Mode, RecordRef
from fabric.providers.places import PerFunctionEndpoints


def find_unaddressed_dependencies(scope: DeployScope) -> Iterator[Problem]:
    """Find dependencies on services whose functions have separate endpoints only."""
    apart = {ref: _list_separate_functions(scope, ref) for ref in sorted(scope.placements)}
    for taker in sorted(scope.placements) if any(apart.values()) else ():
        for upstream, variables in sorted(_list_upstream_variables(scope, taker).items()):
            names = apart.get(upstream, ())
            if names:
                message = (
                    f"{_join_names(variables)} of `{taker.service}` is not set: each public "
                    f"function of `{upstream.service}` has a separate URL "
                    f"({_join_names(names)})"
                )
                hint = "keep only one public function in a service that other services call"
                yield Problem("deploy/no-address", message, hint, service=taker.service)


def _list_upstream_variables(scope: DeployScope, taker: RecordRef) -> dict[RecordRef, list[str]]:
    """Map each upstream to the variables that it provides to this record."""
    unit = scope.work.units.get(taker)
    found: dict[RecordRef, list[str]] = {}
    for variable, release in unit.upstream_outputs if unit else ():
        found.setdefault(parse_release_ref(release, taker.stage), []).append(variable)
    return found


def _join_names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _list_separate_functions(scope: DeployScope, ref: RecordRef) -> tuple[str, ...]:
    """List the functions of a service that has no endpoint for all of them."""
    if scope.placements[ref].mode != Mode.REAL:
        return ()
    try:
        deployer = scope.tools.deployers.deployer(ref, Mode.REAL)
    except FabricError:  # nobody deploys there, which is told beside
        return ()
    if not isinstance(deployer, PerFunctionEndpoints):
        return ()
    names = tuple(deployer.public(scope.values.drafts(ref)))
    return names if len(names) > 1 else ()
