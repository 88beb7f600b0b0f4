"""The ingress of a service: an Ingress object, and a gateway pod if needed."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from fabric.model.problems import FabricError
from fabric.providers.cluster.applying import ClusterWork, apply_changes
from fabric.providers.cluster.gate_objects import build_gate_objects
from fabric.providers.cluster.ingress import Routed, build_ingress
from fabric.providers.cluster.names import build_object_name
from fabric.providers.cluster.objects import KubeObject, format_key
from fabric.providers.cluster.rollout import is_rolled_out, wait_for_rollout
from fabric.providers.cluster.taken_routes import find_taken_routes, has_all_routes


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
    if wanted and not has_all_routes(known, wanted):
        problems = tuple(find_taken_routes(wanted, work.tool.ingresses()))
        if problems:
            raise FabricError(*problems)


def _bring_up_gate(
    work: ClusterWork, gate: Sequence[KubeObject], there: Mapping[str, KubeObject]
) -> None:
    name = format_key(gate[-1])
    known = there.get(name)
    if apply_changes(work, gate, there) or known is None or not is_rolled_out(known):
        wait_for_rollout(work, [name])
