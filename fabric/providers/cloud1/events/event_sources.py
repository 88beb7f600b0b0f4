"""Event sources of functions on AWS: describe, create and delete them."""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from fabric.model.problems import FabricError
from fabric.model.secrets.secrecy import REDACTED
from fabric.providers.cloud1.core.client import MAX_PARALLEL, convert_client_errors
from fabric.providers.cloud1.core.permissions import (
    build_bucket_permission,
    build_rule_permission,
    let_in,
    list_permitted_sources,
    shut_out,
)
from fabric.providers.cloud1.core.versions import Cloud1Work, build_alias_arn
from fabric.providers.cloud1.events.buckets import BucketEntries, Row, build_entry, set_entries
from fabric.providers.cloud1.events.events import (
    build_owner_prefix,
    list_function_wires,
    name_prefix,
)
from fabric.providers.cloud1.events.mappings import (
    drop_mapping,
    list_mappings,
    read_mapping,
    set_mapping,
)
from fabric.providers.cloud1.events.rules import (
    drop_rule,
    drop_schedule,
    find_schedules,
    set_rule,
    set_schedule,
)
from fabric.providers.cloud1.events.topics import drop_topic, set_topic
from fabric.providers.cloud1.events.wires import (
    BrokerWire,
    BucketWire,
    QueueWire,
    RuleWire,
    ScheduleWire,
    ServiceWires,
    StreamWire,
    TopicWire,
    Wire,
    decode_wires,
    encode_wires,
    find_same_wires,
    format_wire,
    has_same_wires,
    is_named_by_hash,
    strip_settings,
)
from fabric.providers.cloud1.functions.aliases import StoredReleaseState, read_kept_state
from fabric.providers.core.contract import DeploymentAddress, LiveFunction
from fabric.providers.core.errors import attach_error_spot
from fabric.providers.core.retry import run_parallel


class WiredNow(Struct, frozen=True):
    """Existing permissions and event sources by function."""

    sources: Mapping[str, frozenset[str]] = {}
    wires: Mapping[str, tuple[Wire, ...]] = {}

    def unknown_to(self, api: str) -> frozenset[str]:
        """Return the functions that do not permit this API."""
        return frozenset(
            name
            for name, sources in self.sources.items()
            if not any(api and source.endswith(f":{api}/*") for source in sources)
        )


NOT_LOOKED = WiredNow()
# The stored name of the role of schedules.
KEPT_SCHEDULER_ROLE = "scheduler-role"


def fetch_wires(
    work: Cloud1Work, address: DeploymentAddress, aliases: Mapping[str, str]
) -> WiredNow:
    """Read the event sources of `aliases`. Queues and schedules are listed once for all
    functions."""
    only = next(iter(aliases.values())) if len(aliases) == 1 else ""
    if not aliases:
        return NOT_LOOKED
    names = sorted(aliases)
    sources = run_parallel(
        lambda name: list_permitted_sources(work, aliases[name]), names, MAX_PARALLEL
    )
    listed: dict[str, list[Wire]] = {}
    for mapping in list_mappings(work, only):
        listed.setdefault(mapping["FunctionArn"], []).append(read_mapping(mapping))
    is_used = bool(work.own.scheduler_role_arn) or (
        KEPT_SCHEDULER_ROLE in read_kept_state(address).texts
    )
    schedules_by_alias = find_schedules(work, name_prefix(address), is_used=is_used)
    for alias, schedules in schedules_by_alias.items():
        listed.setdefault(alias, []).extend(schedules)
    by_name = dict(zip(names, sources, strict=True))
    wires = {
        name: (*_parse_sources(by_name[name]), *listed.get(aliases[name], ())) for name in names
    }
    return WiredNow(by_name, wires)


def _parse_sources(sources: Iterable[str]) -> list[Wire]:
    found: list[Wire] = []
    for source in sorted(sources):
        service, rest = source.split(":")[2], source.split(":", 5)[5]
        if service == "events":
            bus, _, name = rest.removeprefix("rule/").rpartition("/")
            found.append(RuleWire(bus or "default", name))
        elif service == "s3":
            found.append(BucketWire(rest))
        elif service == "sns":
            found.append(TopicWire(source))
    return found


KEPT_WIRES = "wired:"
_Before: TypeAlias = Mapping[str, frozenset[Wire]]


class Wiring(Struct, frozen=True):
    """The wiring of one service: aliases and desired event sources.

    Aliases of `fresh` functions are new, so existing event sources need their permission again.
    """

    work: Cloud1Work
    aliases: Mapping[str, str]
    wanted: ServiceWires
    fresh: frozenset[str] = frozenset()

    def list_wanted(self, name: str) -> tuple[Wire, ...]:
        return self.wanted.functions.get(name, ())

    def bare_of(self, name: str) -> frozenset[Wire]:
        return frozenset(map(strip_settings, self.list_wanted(name)))


def encode_wiring(wiring: Wiring, salt: str) -> dict[str, str]:
    """Return the values to store, only of functions with event sources other than HTTP."""
    return {
        KEPT_WIRES + name: encode_wires(wires, wiring.aliases[name], salt)
        for name, wires in wiring.wanted.functions.items()
        if wires
    }


def find_changed_functions(wiring: Wiring, kept: StoredReleaseState) -> frozenset[str]:
    """Return functions whose event sources are not known to be up to date."""
    new = encode_wiring(wiring, kept.salt)
    names = wiring.wanted.functions
    if not kept.is_sure:
        return frozenset(names)
    return frozenset(
        name
        for name in names
        if not has_same_wires(new.get(KEPT_WIRES + name, ""), kept.texts.get(KEPT_WIRES + name, ""))
    )


def wire_up(wiring: Wiring, names: frozenset[str], kept: StoredReleaseState, now: WiredNow) -> None:
    """Create new event sources before deleting old ones, so that no event is lost in between."""
    before = {
        name: read_known_wires(name, kept) | frozenset(now.wires.get(name, ())) for name in names
    }
    ordered = sorted(name for name in names if wiring.list_wanted(name) or before[name])
    same = {name: _find_same(wiring, name, kept) for name in names}
    run_parallel(lambda name: _set_all(wiring, name, kept, same[name]), ordered, MAX_PARALLEL)
    buckets = _list_buckets(wiring, before, same)
    run_parallel(lambda bucket: _tell(wiring, bucket), buckets, MAX_PARALLEL)
    run_parallel(lambda name: _drop_all(wiring, name, before[name]), ordered, MAX_PARALLEL)


def read_known_wires(name: str, kept: StoredReleaseState) -> frozenset[Wire]:
    return frozenset(decode_wires(kept.texts.get(KEPT_WIRES + name, "")))


def _find_same(wiring: Wiring, name: str, kept: StoredReleaseState) -> frozenset[Wire]:
    """Find the event sources that the last release created with the same settings."""
    if not kept.is_sure or name in wiring.fresh:
        return frozenset()
    text = encode_wires(wiring.list_wanted(name), wiring.aliases[name], kept.salt)
    return find_same_wires(text, kept.texts.get(KEPT_WIRES + name, ""))


def list_changed_wires(
    wiring: Wiring, names: Iterable[str], kept: StoredReleaseState
) -> dict[str, tuple[Wire, ...]]:
    """List the event sources of functions that are not known to be up to date."""
    same = {name: _find_same(wiring, name, kept) for name in names}
    return {
        name: tuple(one for one in wiring.list_wanted(name) if strip_settings(one) not in known)
        for name, known in same.items()
    }


def _set_all(wiring: Wiring, name: str, kept: StoredReleaseState, same: frozenset[Wire]) -> None:
    settled = (
        read_known_wires(name, kept) if kept.is_sure and name not in wiring.fresh else frozenset()
    )
    for wire in wiring.list_wanted(name):
        place = strip_settings(wire)
        if place in same or (is_named_by_hash(wire) and place in settled):
            continue
        whose = f"function `{name}`, {format_wire(wire)}"
        number = wiring.wanted.numbers.get((name, wire))
        with (
            attach_error_spot(name, number),
            convert_client_errors(whose, wiring.work.scope.quoted),
        ):
            _set(wiring, wire, wiring.aliases[name])
        wiring.work.scope.watch.hear(f"{name}: connected {format_wire(wire)}")


def _set(wiring: Wiring, wire: Wire, alias: str) -> None:
    work = wiring.work
    match wire:
        case RuleWire():
            set_rule(work, wire, alias)
        case ScheduleWire():
            set_schedule(work, wire, alias)
        case QueueWire() | StreamWire() | BrokerWire():
            set_mapping(work, wire, alias)
        case TopicWire():
            set_topic(work, wire, alias)
        case BucketWire(is_via_bus=True):
            return
        case BucketWire(bucket=bucket):  # which is told of all its functions at once, after this
            let_in(work, alias, build_bucket_permission(alias, bucket))


def _list_buckets(
    wiring: Wiring, before: _Before, same: Mapping[str, frozenset[Wire]]
) -> list[str]:
    """List the buckets whose notifications can have changed."""
    wires = (
        wire
        for name, old in before.items()
        for wire in (*old, *wiring.list_wanted(name))
        if strip_settings(wire) not in same[name]
    )
    return sorted({wire.bucket for wire in wires if isinstance(wire, BucketWire)})


def _tell(wiring: Wiring, bucket: str) -> None:
    wires = [
        (wire, name)
        for name, wires in sorted(wiring.wanted.functions.items())
        for wire in wires
        if isinstance(wire, BucketWire) and wire.bucket == bucket
    ]
    rows = tuple(
        build_entry(wire, wiring.aliases[name]) for wire, name in wires if not wire.is_via_bus
    )
    owner = wiring.wanted.owner
    needs_bus = any(wire.is_via_bus for wire, _ in wires)
    entries = BucketEntries(rows, lambda row: is_of(row, owner), needs_bus=needs_bus)
    with convert_client_errors(f"bucket `{bucket}`", wiring.work.scope.quoted):
        set_entries(wiring.work, bucket, entries)


def is_of(row: Row, owner: str) -> bool:
    return str(row.get("Id", "")).startswith(owner)


def _drop_all(wiring: Wiring, name: str, before: frozenset[Wire]) -> None:
    alias = wiring.aliases[name]
    for wire in sorted(before - wiring.bare_of(name), key=repr):
        drop_wire(wiring.work, wire, alias)
        match wire:
            case RuleWire(bus=bus, name=rule):
                shut_out(wiring.work, alias, build_rule_permission(alias, bus, rule))
            case BucketWire(bucket=bucket, is_via_bus=False):
                shut_out(wiring.work, alias, build_bucket_permission(alias, bucket))
        wiring.work.scope.watch.hear(f"{name}: disconnected {format_wire(wire)}")


def drop_wire(work: Cloud1Work, wire: Wire, alias: str) -> None:
    match wire:
        case RuleWire():
            drop_rule(work, wire, alias)
        case ScheduleWire():
            drop_schedule(work, wire)
        case QueueWire() | StreamWire() | BrokerWire():
            drop_mapping(work, wire, alias)
        case TopicWire():
            drop_topic(work, wire, alias)
        case BucketWire():  # told already
            return


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
    """List the recorded event sources. Impossible ones must not block a deletion, and the names of
    some are secrets, which records do not contain."""
    with contextlib.suppress(FabricError):
        wires = map(strip_settings, list_function_wires(address, one))
        return tuple(wire for wire in wires if REDACTED not in repr(wire))
    return ()


def unwire(unwiring: Unwiring) -> None:
    """Delete event sources of these functions only; others of the service stay unchanged."""
    gone = frozenset(unwiring.aliases.values())
    _unwire(unwiring, lambda row: row.get("LambdaFunctionArn") in gone)


def unwire_service(unwiring: Unwiring) -> None:
    _unwire(unwiring, lambda _: True)


def _unwire(unwiring: Unwiring, is_chosen: Callable[[Row], bool]) -> None:
    entries = BucketEntries((), lambda row: is_of(row, unwiring.owner) and is_chosen(row))
    wires = (one for one in _collect_wires(unwiring) if isinstance(one, BucketWire))
    buckets = sorted({one.bucket for one in wires if not one.is_via_bus})
    run_parallel(lambda bucket: set_entries(unwiring.work, bucket, entries), buckets, MAX_PARALLEL)
    run_parallel(lambda name: _delete_all(unwiring, name), sorted(unwiring.wires), MAX_PARALLEL)


def _collect_wires(unwiring: Unwiring) -> list[Wire]:
    return sorted({wire for wires in unwiring.wires.values() for wire in wires}, key=repr)


def _delete_all(unwiring: Unwiring, name: str) -> None:
    for wire in unwiring.wires[name]:
        drop_wire(unwiring.work, wire, unwiring.aliases[name])
    stays = [one for one in unwiring.wires[name] if not isinstance(one, RuleWire | ScheduleWire)]
    if stays:
        listed = ", ".join(map(format_wire, stays))
        unwiring.work.scope.watch.hear(
            f"{name}: its event sources and their content are kept: {listed}"
        )
