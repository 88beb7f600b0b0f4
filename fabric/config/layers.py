"""Layers: the names that functions use, and their addresses."""

import re

from fabric.config.resolve.stages import named_entries
from fabric.config.yaml import read
from fabric.config.yaml.nodes import Mapping, Node, child

_NUMBERED = re.compile(r".*:[0-9]+")


def layer_addresses(root: Node) -> dict[str, str]:
    """Map names to `<arn>:<version>`. An ARN that ends in a number stays unchanged."""
    entries = named_entries(child(root, "layers"))
    return {_name(name, node): _address(node) for name, node in entries}


def is_address(item: str) -> bool:
    return item.startswith("arn:")


def layers_of(function: Mapping, addresses: dict[str, str]) -> tuple[str, ...]:
    return tuple(addresses.get(item, item) for item in read.texts(function, "layers"))


def _name(name: str, node: Mapping) -> str:
    if name:
        return name
    arn = read.text(node, "arn")
    return (arn.rpartition(":")[0] if _NUMBERED.fullmatch(arn) else arn).rpartition(":")[2]


def _address(node: Mapping) -> str:
    arn, version = read.text(node, "arn"), read.text(node, "version")
    return arn if _NUMBERED.fullmatch(arn) or not version else f"{arn}:{version}"
