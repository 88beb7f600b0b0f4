"""Event sources that were deleted, disabled or changed manually since the last release."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from fabric.model.late_values import fill_bindings, find_late_names
from fabric.model.problems import FabricError
from fabric.model.records.record import FunctionRecord
from fabric.providers.cloud1.core.client import GONE, ignore_codes
from fabric.providers.cloud1.core.versions import Cloud1Work, build_alias_arn
from fabric.providers.cloud1.events.event_sources import KEPT_WIRES
from fabric.providers.cloud1.events.events import list_function_wires
from fabric.providers.cloud1.events.mappings import (
    list_changed_settings,
    list_mappings,
    read_mapping,
)
from fabric.providers.cloud1.events.rules import (
    list_changed_rule_settings,
    list_changed_schedule_settings,
)
from fabric.providers.cloud1.events.wires import (
    BrokerWire,
    QueueWire,
    RuleWire,
    ScheduleWire,
    StreamWire,
    Wire,
    decode_wires,
    format_wire,
    read_options,
    strip_settings,
)
from fabric.providers.cloud1.functions.aliases import read_kept_state
from fabric.providers.core.contract import DeploymentAddress, LiveFunction

_OFF = frozenset({"Disabled", "Disabling"})


def find_missing_mappings(work: Cloud1Work, address: DeploymentAddress) -> Iterator[str]:
    """Yield the mappings that were deleted or disabled manually. One list contains all mappings."""
    texts = read_kept_state(address).texts
    expected = [
        (one, wire)
        for one in _list_functions(address)
        for wire in decode_wires(texts.get(KEPT_WIRES + one.name, ""))
        if isinstance(wire, QueueWire | StreamWire | BrokerWire)
    ]
    if not expected:
        return
    found = {_identify(mapping): mapping for mapping in list_mappings(work)}
    for one, wire in expected:
        mapping = found.get((build_alias_arn(one.resource_id), wire))
        title = f"event source mapping of the {format_wire(wire)} for `{one.name}`"
        if mapping is None or mapping.get("State") == "Deleting":
            yield f"the {title}"
        elif mapping.get("State") in _OFF and wire in _list_enabled(address, one):
            yield f"an enabled {title}"


def _identify(mapping: Mapping[str, Any]) -> tuple[str, Wire]:
    return mapping["FunctionArn"], read_mapping(mapping)


def _list_enabled(address: DeploymentAddress, one: FunctionRecord) -> list[Wire]:
    """List the released event sources that the config does not disable."""
    return [
        strip_settings(wire)
        for wire in _list_known(address, one)
        if getattr(wire, "is_enabled", True) and read_options(wire).get("enabled", True)
    ]


def find_changed_sources(work: Cloud1Work, address: DeploymentAddress) -> Iterator[str]:
    """Yield the event sources that have other settings than the last release gave them."""
    expected = [
        (one, wire) for one in _list_functions(address) for wire in _list_known(address, one)
    ]
    if not expected:
        return
    mappings = {_identify(mapping): mapping for mapping in list_mappings(work)}
    for one, wire in expected:
        alias = build_alias_arn(one.resource_id)
        names = _list_changes(work, wire, alias, mappings.get((alias, strip_settings(wire))))
        if names:
            title = f"the {format_wire(wire)} for `{one.name}` was changed manually"
            yield f"{title}: {', '.join(names)} (run fabric deploy --force)"


def _list_functions(address: DeploymentAddress) -> tuple[FunctionRecord, ...]:
    return address.previous.functions if address.previous else ()


def _list_known(address: DeploymentAddress, one: FunctionRecord) -> list[Wire]:
    """List the released event sources whose settings have known values."""
    known = decode_wires(read_kept_state(address).texts.get(KEPT_WIRES + one.name, ""))
    filled = (fill_bindings(text, dict(one.late)) for text in one.triggers)
    triggers = tuple(text for text in filled if not find_late_names(text))
    function = LiveFunction(one.name, one.resource_name, one.resource_id, triggers=triggers)
    with contextlib.suppress(FabricError):
        wires = list_function_wires(address, function)
        return [wire for wire in wires if strip_settings(wire) in known]
    return []


def _list_changes(
    work: Cloud1Work, wire: Wire, alias: str, mapping: Mapping[str, Any] | None
) -> list[str]:
    match wire:
        case QueueWire() | StreamWire() | BrokerWire() if mapping is not None:
            names = list_changed_settings(mapping, wire)
            # A disabled mapping is reported as a missing one.
            return [one for one in names if one != "enabled" or mapping.get("State") not in _OFF]
        case RuleWire() | ScheduleWire():
            found: list[list[str]] = []
            with ignore_codes(GONE):
                found.append(
                    list_changed_rule_settings(work, wire, alias)
                    if isinstance(wire, RuleWire)
                    else list_changed_schedule_settings(work, wire, alias)
                )
            return found[0] if found else ["deleted"]
        case _:
            return []
