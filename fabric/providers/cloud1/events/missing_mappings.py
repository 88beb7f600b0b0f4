"""Event source mappings of the last release that do not deliver events."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from fabric.model.records.record import FunctionRecord
from fabric.providers.cloud1.core.versions import Cloud1Work, build_alias_arn
from fabric.providers.cloud1.events.event_sources import KEPT_WIRES
from fabric.providers.cloud1.events.mappings import list_mappings, read_mapping
from fabric.providers.cloud1.events.wires import (
    BrokerWire,
    QueueWire,
    StreamWire,
    Wire,
    decode_wires,
    format_wire,
)
from fabric.providers.cloud1.functions.aliases import read_kept_state
from fabric.providers.core.contract import DeploymentAddress

_OFF = frozenset({"Disabled", "Disabling"})


def find_missing_mappings(work: Cloud1Work, address: DeploymentAddress) -> Iterator[str]:
    """Yield the mappings that were deleted or disabled manually. One list contains all mappings."""
    texts = read_kept_state(address).texts
    functions = address.previous.functions if address.previous else ()
    expected = [
        (one, wire)
        for one in functions
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
        elif mapping.get("State") in _OFF and not _has_disabled_trigger(one):
            yield f"an enabled {title}"


def _identify(mapping: Mapping[str, Any]) -> tuple[str, Wire]:
    return mapping["FunctionArn"], read_mapping(mapping)


def _has_disabled_trigger(one: FunctionRecord) -> bool:
    """Return whether the config disables a trigger of the function."""
    return any(json.loads(text).get("enabled") is False for text in one.triggers)
