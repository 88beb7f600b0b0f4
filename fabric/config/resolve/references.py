"""The references of one config: which ones it reads, and in which region."""

from typing import NamedTuple

from msgspec.structs import replace

from fabric.config.resolve.binding_scope import BindingScope, ReadLookup, refuse_managers
from fabric.config.resolve.bindings import fill
from fabric.config.yaml.nodes import Mapping, Node, Scalar, find_child, is_unfilled
from fabric.model.lookups import LookupKind, LookupPlace, LookupValue, NamedLookup


class FoundReferences(NamedTuple):
    """The references of a tree. In `node`, leaves that contain some are flagged."""

    node: Node
    names: tuple[NamedLookup, ...]


def find_references(root: Mapping, scope: BindingScope) -> FoundReferences:
    """Find the references that filling a tree would read. No value is read for it, so references
    in defaults are not listed."""
    found: dict[NamedLookup, None] = {}

    def record(kind: LookupKind, name: str) -> LookupValue:
        found[NamedLookup(kind, name)] = None
        return LookupValue("")

    filled = fill(root, replace(scope, read_lookup=record, read_secret=refuse_managers))
    return FoundReferences(filled.node, tuple(found))


def with_lookups(scope: BindingScope, read: ReadLookup, place: LookupPlace) -> BindingScope:
    """Let the references be read at one place."""
    return replace(scope, read_lookup=lambda kind, name: read(kind, name, place))


def find_region(root: Mapping) -> str | None:
    """Find the region of the service in a filled tree: "" if none is set, None if it could not be
    filled."""
    provider = find_child(root, "provider")
    name, region = find_child(provider, "name"), find_child(provider, "region")
    if region is None and isinstance(name, Scalar):
        region = find_child(root, "extensions", name.text, "region")
    if not isinstance(region, Scalar):
        return ""
    return None if is_unfilled(region) else region.text
