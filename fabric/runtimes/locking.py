"""One lock for all targets of a service, with environment markers for target-specific versions."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.runtimes.pip import Pip, Target
from fabric.runtimes.requirements import Pin, normalize_package_name
from fabric.system.owned_folder import create_temporary_folder

_MACHINES = ("x86_64", "aarch64")

Resolved = Sequence[tuple[Target, tuple[Pin, ...]]]


def resolve_targets(pip: Pip, text: str, targets: Sequence[Target]) -> Resolved:
    """Resolve the requirements for each target, and for the other architecture."""
    others = [
        Target(one.python, machine, one.glibc)
        for one in targets
        for machine in _MACHINES
        if machine not in {other.machine for other in targets if other.python == one.python}
    ]
    found = list[tuple[Target, tuple[Pin, ...]]]()
    for target in dict.fromkeys(targets):
        found.append((target, _resolve_near(pip, text, target, found)))
    for target in dict.fromkeys(others):
        try:
            found.append((target, _resolve_pinned(pip, text, target, found)))
        except FabricError:
            # Not every package has a wheel for both; the lock then serves those asked for.
            continue
    return found


def join_pins(resolved: Resolved) -> tuple[Pin, ...]:
    """Join the results to one pin per version, with the hashes of all its wheels and a marker."""
    targets = tuple(target for target, _ in resolved)
    versions: dict[tuple[str, str], list[tuple[Target, Pin]]] = {}
    for target, pins in resolved:
        for pin in pins:
            versions.setdefault((normalize_package_name(pin.name), pin.version), []).append(
                (target, pin)
            )
    return tuple(_merge_pins(targets, found) for found in versions.values())


def _merge_pins(targets: Sequence[Target], found: Sequence[tuple[Target, Pin]]) -> Pin:
    pins = [pin for _, pin in found]
    return replace(
        pins[0],
        hashes=tuple(sorted({digest for pin in pins for digest in pin.hashes})),
        extras=tuple(sorted({extra for pin in pins for extra in pin.extras})),
        marker=_build_marker(targets, [target for target, _ in found]),
    )


def _build_marker(targets: Sequence[Target], where: Sequence[Target]) -> str:
    if len(where) == len(targets):
        return ""
    named = [
        name for name in ("python_version", "platform_machine") if _has_differences(targets, name)
    ]
    places = (
        " and ".join(f'{name} == "{target.markers()[name]}"' for name in named) for target in where
    )
    return " or ".join(sorted(places))


def _has_differences(targets: Iterable[Target], name: str) -> bool:
    return len({target.markers()[name] for target in targets}) > 1


def _resolve_near(pip: Pip, text: str, target: Target, found: Resolved) -> tuple[Pin, ...]:
    """Resolve with the versions of the previous targets, if this target supports them."""
    try:
        return _resolve_pinned(pip, text, target, found)
    except FabricError:
        if not found:
            raise
        return _resolve_pinned(pip, text, target, ())


def _resolve_pinned(pip: Pip, text: str, target: Target, found: Resolved) -> tuple[Pin, ...]:
    exact = {
        normalize_package_name(pin.name): pin.version for _, pins in reversed(found) for pin in pins
    }
    lines = "".join(f"{name}=={version}\n" for name, version in sorted(exact.items()))
    with create_temporary_folder("vendor") as folder:
        return pip.resolve(text, target, folder, lines)
