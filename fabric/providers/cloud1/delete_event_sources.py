"""Delete event sources of functions before the functions themselves."""

import contextlib
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from fabric.model.problems import FabricError
from fabric.providers.cloud1.aliases import StoredReleaseState
from fabric.providers.cloud1.buckets import BucketEntries, Row, set_entries
from fabric.providers.cloud1.client import MAX_PARALLEL
from fabric.providers.cloud1.create_event_sources import drop_wire, is_of, read_known_wires
from fabric.providers.cloud1.events import (
    BucketWire,
    QueueWire,
    Wire,
    build_owner_prefix,
    format_wire,
    list_function_wires,
    strip_settings,
)
from fabric.providers.cloud1.versions import Cloud1Work, build_alias_arn
from fabric.providers.cloud1.wired_now import NOT_LOOKED, fetch_wires
from fabric.providers.core.contract import DeploymentAddress, LiveFunction
from fabric.providers.core.retry import run_parallel


class Unwiring(Struct, frozen=True):
    """Functions to be deleted: their aliases and event sources."""

    work: Cloud1Work
    owner: str
    aliases: Mapping[str, str]
    wires: Mapping[str, tuple[Wire, ...]]


def plan_unwiring(
    work: Cloud1Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
    kept: StoredReleaseState,
) -> Unwiring:
    """Plan the deletion from stored values and recorded orders. If those can be incomplete,
    existing event sources are read too."""
    there = [one for one in functions if one.resource_id]
    aliases = {one.name: build_alias_arn(one.resource_id) for one in there}
    now = NOT_LOOKED if kept.is_sure else fetch_wires(work, address, aliases)
    wires = {
        one.name: (
            *read_known_wires(one.name, kept),
            *_list_ordered_wires(address, one),
            *now.wires.get(one.name, ()),
        )
        for one in there
    }
    found = {name: tuple(sorted(set(some), key=repr)) for name, some in wires.items()}
    return Unwiring(work, build_owner_prefix(address), aliases, found)


def _list_ordered_wires(address: DeploymentAddress, one: LiveFunction) -> tuple[Wire, ...]:
    """List the recorded event sources. Impossible ones must not block a deletion."""
    with contextlib.suppress(FabricError):
        return tuple(map(strip_settings, list_function_wires(address, one)))
    return ()


def unwire(unwiring: Unwiring) -> None:
    """Delete event sources of these functions only; others of the service stay unchanged."""
    gone = frozenset(unwiring.aliases.values())
    _unwire(unwiring, lambda row: row.get("LambdaFunctionArn") in gone)


def unwire_service(unwiring: Unwiring) -> None:
    _unwire(unwiring, lambda _: True)


def _unwire(unwiring: Unwiring, is_chosen: Callable[[Row], bool]) -> None:
    entries = BucketEntries((), lambda row: is_of(row, unwiring.owner) and is_chosen(row))
    buckets = [wire.bucket for wire in _collect_wires(unwiring) if isinstance(wire, BucketWire)]
    run_parallel(lambda bucket: set_entries(unwiring.work, bucket, entries), buckets, MAX_PARALLEL)
    run_parallel(lambda name: _drop_all(unwiring, name), sorted(unwiring.wires), MAX_PARALLEL)


def _collect_wires(unwiring: Unwiring) -> list[Wire]:
    return sorted({wire for wires in unwiring.wires.values() for wire in wires}, key=repr)


def _drop_all(unwiring: Unwiring, name: str) -> None:
    for wire in unwiring.wires[name]:
        drop_wire(unwiring.work, wire, unwiring.aliases[name])
    stays = [wire for wire in unwiring.wires[name] if isinstance(wire, QueueWire | BucketWire)]
    if stays:
        listed = ", ".join(map(format_wire, stays))
        unwiring.work.scope.watch.hear(
            f"{name}: its event sources and their content are kept: {listed}"
        )
