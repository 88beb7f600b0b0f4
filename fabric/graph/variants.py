"""Builds that targets of one service share, and builds that are separate per target."""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct, field

from fabric.config.values import Function
from fabric.graph.service_unit import ServiceUnit

PartsOf: TypeAlias = Callable[[ServiceUnit, Function], Hashable]
# By service, target and function.
_Key: TypeAlias = tuple[str, str, str]


class Variants(Struct, frozen=True):
    """The target name of each build and archive; none if all targets share it."""

    builds: Mapping[_Key, str] = field(default_factory=dict)
    packages: Mapping[_Key, str] = field(default_factory=dict)

    def build(self, unit: ServiceUnit, function: Function) -> str:
        return self.builds.get((unit.service, unit.apart, function.name), "")

    def package(self, unit: ServiceUnit, function: Function) -> str:
        return self.packages.get((unit.service, unit.apart, function.name), "")


def group_variants(
    units: Sequence[ServiceUnit], build_parts: PartsOf, package_parts: PartsOf
) -> Variants:
    """Group equal builds under their first target. A service with one target has no variant."""
    several = [unit for unit in units if unit.apart]
    if not several:
        return Variants()
    rows = [
        ((unit.service, unit.apart, one.name), build_parts(unit, one), package_parts(unit, one))
        for unit in several
        for one in unit.config.functions
    ]
    builds = _map_first_labels({key: built for key, built, _ in rows})
    return Variants(
        builds, _map_first_labels({key: (builds[key], packed) for key, _, packed in rows})
    )


def _map_first_labels(parts: Mapping[_Key, Hashable]) -> dict[_Key, str]:
    first: dict[tuple[str, str, Hashable], str] = {}
    for (service, label, function), one in parts.items():
        first.setdefault((service, function, one), label)
    kinds = Counter((service, function) for service, function, _ in first)
    return {
        key: first[key[0], key[2], one] if kinds[key[0], key[2]] > 1 else ""
        for key, one in parts.items()
    }
