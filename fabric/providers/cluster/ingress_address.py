"""The ingress of a service: an Ingress object, and a gateway pod if needed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.providers.cluster.applying import ClusterWork, apply_changes
from fabric.providers.cluster.gate_objects import build_gate_objects
from fabric.providers.cluster.names import build_object_name
from fabric.providers.cluster.objects import KubeObject, format_key, read_rows_at, read_text_at
from fabric.providers.cluster.rollout import is_rolled_out, wait_for_rollout
from fabric.providers.cluster.routes import Routed, build_ingress

_HINT = "set a separate `hostname` for the service below `extensions.cluster-orchestrator`"


class Entrance(Struct, frozen=True):
    """The result of opening the ingress. `names` are all its objects; with `is_new` the Ingress was
    applied.

    `is_open` is false for functions without a route.
    """

    names: frozenset[str] = frozenset()
    is_new: bool = False

    @property
    def is_open(self) -> bool:
        return bool(self.names)


def open_ingress(
    work: ClusterWork, functions: Sequence[Routed], there: Mapping[str, KubeObject]
) -> Entrance:
    """Open the ingress. All gateway pods know the routes before they receive traffic."""
    _refuse_taken(work, build_ingress(work.address, functions, work.own), there)
    gate = build_gate_objects(work.address, functions, work.own, there)
    if gate:
        _bring_up_gate(work, gate, there)
    wanted = build_ingress(
        work.address, functions, work.own, build_object_name(work.address) if gate else ""
    )
    if wanted is None:
        return Entrance()
    is_new = apply_changes(work, [wanted], there)
    return Entrance(frozenset(map(format_key, (*gate, wanted))), is_new)


def _refuse_taken(
    work: ClusterWork, wanted: KubeObject | None, there: Mapping[str, KubeObject]
) -> None:
    """Raise if another Ingress has these paths, with or without a gateway."""
    known = there.get(format_key(wanted)) if wanted else None
    if wanted and not _has_all_routes(known, wanted):
        problems = tuple(_find_taken_routes(wanted, work.tool.ingresses()))
        if problems:
            raise FabricError(*problems)


def _bring_up_gate(
    work: ClusterWork, gate: Sequence[KubeObject], there: Mapping[str, KubeObject]
) -> None:
    name = format_key(gate[-1])
    known = there.get(name)
    if apply_changes(work, gate, there) or known is None or not is_rolled_out(known):
        wait_for_rollout(work, [name])


# Routes that another Ingress has already. No effects.
# If two Ingresses have the same host and path, controllers choose one without an error.


def _find_taken_routes(wanted: KubeObject, others: Iterable[KubeObject]) -> Iterator[Problem]:
    """Yield one problem for each other Ingress with any of the wanted paths."""
    own = frozenset(_list_routes(wanted))
    for other in others:
        taken = sorted(own.intersection(_list_routes(other)))
        if taken and format_key(other) != format_key(wanted) and _is_same_controller(wanted, other):
            yield _route_conflict_problem(other, taken)


def _has_all_routes(known: KubeObject | None, wanted: KubeObject) -> bool:
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
