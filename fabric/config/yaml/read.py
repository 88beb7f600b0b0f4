"""Read typed values from a checked tree. Other values give the default."""

import json

from fabric.config.values import Pairs
from fabric.config.yaml.nodes import (
    Mapping,
    Node,
    NumberTooLongError,
    Scalar,
    Sequence,
    Value,
    convert_to_plain,
    find,
    find_child,
    interpret_scalar,
)


def find_text(node: Node | None, key: str) -> str | None:
    entry = find(node, key)
    found = entry.value if entry else None
    return found.text if isinstance(found, Scalar) and found.value is not None else None


def read_text(node: Node | None, key: str, default: str = "") -> str:
    found = find_text(node, key)
    return default if found is None else found


def read_integer(node: Node | None, key: str, default: int = 0) -> int:
    found = read_optional_integer(node, key)
    return default if found is None else found


def read_optional_integer(node: Node | None, key: str) -> int | None:
    found = find_child(node, key)
    value = read_as(found) if isinstance(found, Scalar) else None
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def read_flag(node: Node | None, key: str, *, default: bool = False) -> bool:
    found = read_optional_flag(node, key)
    return default if found is None else found


def read_optional_flag(node: Node | None, key: str) -> bool | None:
    found = find_child(node, key)
    value = read_as(found) if isinstance(found, Scalar) else None
    return value if isinstance(value, bool) else None


def find_texts(node: Node | None, key: str) -> tuple[str, ...] | None:
    found = find_child(node, key)
    if found is None:
        return None
    items = found.items if isinstance(found, Sequence) else ()
    return tuple(item.text for item in items if isinstance(item, Scalar))


def read_texts(node: Node | None, key: str) -> tuple[str, ...]:
    return find_texts(node, key) or ()


def read_leaves(node: Node | None, key: str) -> dict[str, Scalar]:
    """The scalars of a map by key."""
    found = find_child(node, key)
    entries = found.entries if isinstance(found, Mapping) else ()
    return {item.key: item.value for item in entries if isinstance(item.value, Scalar)}


def find_pairs(node: Node | None, key: str) -> Pairs | None:
    return None if find_child(node, key) is None else read_pairs(node, key)


def read_pairs(node: Node | None, key: str) -> Pairs:
    return tuple((name, leaf.text) for name, leaf in read_leaves(node, key).items())


def encode_canonical(value: object) -> str:
    """Encode a value as canonical JSON: equal texts mean equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def encode_node(node: Node | None, default: str = "") -> str:
    return default if node is None else encode_canonical(convert_to_plain(node))


def read_as(node: Scalar) -> Value:
    """Return the value of a scalar. A filled binding can be a number or a flag."""
    if not node.bound:
        return node.value
    try:
        return interpret_scalar(node.text)
    except NumberTooLongError:
        return node.text
