"""The ingress of a service: an Ingress object, and a gateway pod if needed."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from fabric.model.problems import FabricError
from fabric.providers.cluster.applying import ClusterWork, brought_up
from fabric.providers.cluster.gate_objects import gate_objects
from fabric.providers.cluster.ingress import Routed, ingress
from fabric.providers.cluster.names import own_name
from fabric.providers.cluster.objects import KubeObject, key_of
from fabric.providers.cluster.rollout import is_rolled_out, rolled_out
from fabric.providers.cluster.taken_routes import leads_all, taken_routes


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


def opened(
    work: ClusterWork, functions: Sequence[Routed], there: Mapping[str, KubeObject]
) -> Entrance:
    """Open the ingress. All gateway pods know the routes before they receive traffic."""
    _refuse_taken(work, ingress(work.address, functions, work.own), there)
    gate = gate_objects(work.address, functions, work.own, there)
    if gate:
        _bring_up_gate(work, gate, there)
    wanted = ingress(work.address, functions, work.own, own_name(work.address) if gate else "")
    if wanted is None:
        return Entrance()
    is_new = brought_up(work, [wanted], there)
    return Entrance(frozenset(map(key_of, (*gate, wanted))), is_new)


def _refuse_taken(
    work: ClusterWork, wanted: KubeObject | None, there: Mapping[str, KubeObject]
) -> None:
    """Raise if another Ingress has these paths, with or without a gateway."""
    known = there.get(key_of(wanted)) if wanted else None
    if wanted and not leads_all(known, wanted):
        problems = tuple(taken_routes(wanted, work.tool.ingresses()))
        if problems:
            raise FabricError(*problems)


def _bring_up_gate(
    work: ClusterWork, gate: Sequence[KubeObject], there: Mapping[str, KubeObject]
) -> None:
    name = key_of(gate[-1])
    known = there.get(name)
    if brought_up(work, gate, there) or known is None or not is_rolled_out(known):
        rolled_out(work, [name])
