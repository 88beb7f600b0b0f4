"""Routes that another Ingress has already. No effects.

If two Ingresses have the same host and path, controllers choose one without an error.
"""

from collections.abc import Iterable, Iterator

from fabric.model.problems import Problem
from fabric.providers.cluster.objects import KubeObject, format_key, read_rows_at, read_text_at

_HINT = "set a separate `hostname` for the service below `extensions.cluster-orchestrator`"


def find_taken_routes(wanted: KubeObject, others: Iterable[KubeObject]) -> Iterator[Problem]:
    """Yield one problem for each other Ingress with any of the wanted paths."""
    own = frozenset(_list_routes(wanted))
    for other in others:
        taken = sorted(own.intersection(_list_routes(other)))
        if taken and format_key(other) != format_key(wanted) and _is_same_controller(wanted, other):
            yield _route_conflict_problem(other, taken)


def has_all_routes(known: KubeObject | None, wanted: KubeObject) -> bool:
    """Return whether the Ingress has all these routes already."""
    return known is not None and frozenset(_list_routes(wanted)) <= frozenset(_list_routes(known))


def _list_routes(ingress: KubeObject) -> Iterator[tuple[str, str, str]]:
    """Yield host, path and path type."""
    for rule in read_rows_at(ingress, "spec", "rules"):
        for row in read_rows_at(rule, "http", "paths"):
            yield (
                read_text_at(rule, "host"),
                read_text_at(row, "path"),
                read_text_at(row, "pathType"),
            )


def _is_same_controller(one: KubeObject, other: KubeObject) -> bool:
    """Return whether one controller can serve both. An Ingress without a class belongs to the
    cluster's default controller."""
    classes = {read_text_at(each, "spec", "ingressClassName") for each in (one, other)}
    return "" in classes or len(classes) == 1


def _route_conflict_problem(other: KubeObject, taken: list[tuple[str, str, str]]) -> Problem:
    host, path, _ = taken[0]
    at = f" of the host `{host}`" if host else ""
    more = f" and {len(taken) - 1} more" if len(taken) > 1 else ""
    message = f"`{format_key(other)}` already routes `{path}`{at}{more} to another service"
    return Problem("deploy/route-taken", message, _HINT)
