"""Layers: the names that functions use, and their addresses."""

import re

from fabric.config.resolve.stages import list_named_entries
from fabric.config.yaml import read
from fabric.config.yaml.nodes import Mapping, Node, find_child

_NUMBERED = re.compile(r".*:[0-9]+")


def map_layer_addresses(root: Node) -> dict[str, str]:
    """Map names to `<arn>:<version>`. An ARN that ends in a number stays unchanged."""
    entries = list_named_entries(find_child(root, "layers"))
    return {_name(name, node): _format_address(node) for name, node in entries}


def is_address(item: str) -> bool:
    return item.startswith("arn:")


def list_function_layers(function: Mapping, addresses: dict[str, str]) -> tuple[str, ...]:
    return tuple(addresses.get(item, item) for item in read.read_texts(function, "layers"))


def _name(name: str, node: Mapping) -> str:
    if name:
        return name
    arn = read.read_text(node, "arn")
    return (arn.rpartition(":")[0] if _NUMBERED.fullmatch(arn) else arn).rpartition(":")[2]


def _format_address(node: Mapping) -> str:
    arn, version = read.read_text(node, "arn"), read.read_text(node, "version")
    return arn if _NUMBERED.fullmatch(arn) or not version else f"{arn}:{version}"
