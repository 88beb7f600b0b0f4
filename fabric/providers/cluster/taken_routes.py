"""Routes that another Ingress has already. No effects.

If two Ingresses have the same host and path, controllers choose one without an error.
"""

from collections.abc import Iterable, Iterator

from fabric.model.problems import Problem
from fabric.providers.cluster.objects import KubeObject, key_of, rows_at, text_at

_HINT = "set a separate `hostname` for the service below `extensions.cluster-orchestrator`"


def taken_routes(wanted: KubeObject, others: Iterable[KubeObject]) -> Iterator[Problem]:
    """Yield one problem for each other Ingress with any of the wanted paths."""
    own = frozenset(_routes(wanted))
    for other in others:
        taken = sorted(own.intersection(_routes(other)))
        if taken and key_of(other) != key_of(wanted) and _may_meet(wanted, other):
            yield _problem(other, taken)


def leads_all(known: KubeObject | None, wanted: KubeObject) -> bool:
    """Return whether the Ingress has all these routes already."""
    return known is not None and frozenset(_routes(wanted)) <= frozenset(_routes(known))


def _routes(ingress: KubeObject) -> Iterator[tuple[str, str, str]]:
    """Yield host, path and path type."""
    for rule in rows_at(ingress, "spec", "rules"):
        for row in rows_at(rule, "http", "paths"):
            yield text_at(rule, "host"), text_at(row, "path"), text_at(row, "pathType")


def _may_meet(one: KubeObject, other: KubeObject) -> bool:
    """Return whether one controller can serve both. An Ingress without a class belongs to the
    cluster's default controller."""
    classes = {text_at(each, "spec", "ingressClassName") for each in (one, other)}
    return "" in classes or len(classes) == 1


def _problem(other: KubeObject, taken: list[tuple[str, str, str]]) -> Problem:
    host, path, _ = taken[0]
    at = f" of the host `{host}`" if host else ""
    more = f" and {len(taken) - 1} more" if len(taken) > 1 else ""
    message = f"`{key_of(other)}` already routes `{path}`{at}{more} to another service"
    return Problem("deploy/route-taken", message, _HINT)
