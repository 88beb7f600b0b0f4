"""Routes that an Ingress of somebody else leads away already. No effects.

Where two lead the same path of the same host, controllers take one of them and say nothing.
"""

from collections.abc import Iterable, Iterator

from fabric.model.problems import Problem
from fabric.providers.cluster.objects import KubeObject, key_of, rows_at, text_at

_HINT = "set a separate `hostname` for the service below `extensions.cluster-orchestrator`"


def taken_routes(wanted: KubeObject, others: Iterable[KubeObject]) -> Iterator[Problem]:
    """One problem for each Ingress beside the wanted one that leads any of its paths."""
    own = frozenset(_routes(wanted))
    for other in others:
        taken = sorted(own.intersection(_routes(other)))
        if taken and key_of(other) != key_of(wanted) and _may_meet(wanted, other):
            yield _problem(other, taken)


def leads_all(known: KubeObject | None, wanted: KubeObject) -> bool:
    """Whether all of these routes are its own already."""
    return known is not None and frozenset(_routes(wanted)) <= frozenset(_routes(known))


def _routes(ingress: KubeObject) -> Iterator[tuple[str, str, str]]:
    """Host, path, and how it is compared."""
    for rule in rows_at(ingress, "spec", "rules"):
        for row in rows_at(rule, "http", "paths"):
            yield text_at(rule, "host"), text_at(row, "path"), text_at(row, "pathType")


def _may_meet(one: KubeObject, other: KubeObject) -> bool:
    """Without a class of its own an Ingress is for whichever controller is the cluster's usual."""
    classes = {text_at(each, "spec", "ingressClassName") for each in (one, other)}
    return "" in classes or len(classes) == 1


def _problem(other: KubeObject, taken: list[tuple[str, str, str]]) -> Problem:
    host, path, _ = taken[0]
    at = f" of the host `{host}`" if host else ""
    more = f" and {len(taken) - 1} more" if len(taken) > 1 else ""
    message = f"`{key_of(other)}` already routes `{path}`{at}{more} to another service"
    return Problem("deploy/route-taken", message, _HINT)
