"""Layers: the names that functions use, the addresses of existing layers, and those of the project.

A layer of the project has a source instead of an ARN.
"""

import re
from collections.abc import Iterator

from fabric.config.resolve.stages import list_named_entries
from fabric.config.schema.entries import LAYER, LAYER_BUILD
from fabric.config.sections import Section
from fabric.config.steps import find_command
from fabric.config.values import Layer, LayerBuild
from fabric.config.yaml import read
from fabric.config.yaml.nodes import Mapping, Node, find_child
from fabric.model.late_values import find_late_names

_NUMBERED = re.compile(r".*:[0-9]+")
# The keys of which a layer of the project has exactly one.
SOURCES = ("packages", "path", "build")
_BUILD = Section(LayerBuild, LAYER_BUILD, readers={"command": find_command})
_LAYER = Section(Layer, LAYER, readers={"build": _BUILD.find_child}, given=("name",))


def map_layer_addresses(root: Node) -> dict[str, str]:
    """Map names of existing layers to `<arn>:<version>`. An ARN that ends in a number stays
    unchanged."""
    entries = list_named_entries(find_child(root, "layers"))
    return {
        _name(name, node): _format_address(node) for name, node in entries if not has_source(node)
    }


def list_layer_nodes(root: Node) -> Iterator[tuple[str, Mapping]]:
    """List the layers of the project, by their names in the document."""
    entries = list_named_entries(find_child(root, "layers"))
    return ((name, node) for name, node in entries if has_source(node))


def has_source(node: Node) -> bool:
    return any(find_child(node, key) is not None for key in SOURCES)


def parse_layers(root: Node) -> tuple[Layer, ...]:
    return tuple(_LAYER.read(node, name=name) for name, node in list_layer_nodes(root))


def is_address(item: str) -> bool:
    """Return whether an item is an ARN, or a value that becomes one during a run."""
    return item.startswith("arn:") or bool(find_late_names(item))


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
