"""Numbers and flags from bindings: a text such as `false` gets the type of its key."""

from fabric.config.schema.check import check
from fabric.config.schema.shapes import (
    Either,
    Fields,
    Flag,
    Integer,
    Kinds,
    Many,
    Named,
    Number,
    Shape,
    Table,
)
from fabric.config.yaml.nodes import Mapping, Node, Scalar, Sequence, find_child
from fabric.config.yaml.read import read_as

_TYPED = (Flag, Integer, Number)


def convert_bound_values(shape: Shape, root: Mapping) -> Mapping:
    """Give the values of bindings the types of a checked shape. Everything else is unchanged."""
    made = _convert(shape, root) if _has_bound(root) else root
    return made if isinstance(made, Mapping) else root


def _has_bound(node: Node) -> bool:
    if isinstance(node, Scalar):
        return node.bound
    if isinstance(node, Sequence):
        return any(map(_has_bound, node.items))
    return any(_has_bound(one.value) for one in node.entries)


def _convert(shape: Shape, node: Node) -> Node:
    if isinstance(shape, Either):
        shape = next((one for one in shape.shapes if not tuple(check(one, node))), shape)
    if isinstance(node, Scalar):
        is_typed = node.bound and isinstance(shape, _TYPED)
        return node._replace(value=read_as(node)) if is_typed else node
    if isinstance(shape, Kinds) and isinstance(node, Mapping):
        kind = find_child(node, "type")
        shape = dict(shape.kinds).get(kind.text if isinstance(kind, Scalar) else "", Fields(()))
    if isinstance(node, Sequence):
        item = _find_item_shape(shape)
        if item is None:
            return node
        return node._replace(items=tuple(_convert(item, one) for one in node.items))
    entries = (
        one
        if (inner := _find_entry_shape(shape, one.key)) is None
        else one._replace(value=_convert(inner, one.value))
        for one in node.entries
    )
    return node._replace(entries=tuple(entries))


def _find_item_shape(shape: Shape) -> Shape | None:
    if isinstance(shape, Named):
        return shape.entry
    return shape.item if isinstance(shape, Many) else None


def _find_entry_shape(shape: Shape, key: str) -> Shape | None:
    match shape:
        case Fields():
            return shape.index.get(key)
        case Named():
            return shape.nameless
        case Table():
            return shape.value
    return None
