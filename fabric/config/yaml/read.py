"""Read typed values from a checked tree. Other values give the default."""

import json

from fabric.config.values import Pairs
from fabric.config.yaml.nodes import Mapping, Node, Scalar, Sequence, Value, child, find, plain
from fabric.config.yaml.scalars import NumberTooLongError, meaning_of


def text(node: Node | None, key: str, default: str = "") -> str:
    entry = find(node, key)
    found = entry.value if entry else None
    return found.text if isinstance(found, Scalar) and found.value is not None else default


def whole(node: Node | None, key: str, default: int = 0) -> int:
    found = optional_whole(node, key)
    return default if found is None else found


def optional_whole(node: Node | None, key: str) -> int | None:
    found = child(node, key)
    value = read_as(found) if isinstance(found, Scalar) else None
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def flag(node: Node | None, key: str, *, default: bool = False) -> bool:
    found = optional_flag(node, key)
    return default if found is None else found


def optional_flag(node: Node | None, key: str) -> bool | None:
    found = child(node, key)
    value = read_as(found) if isinstance(found, Scalar) else None
    return value if isinstance(value, bool) else None


def texts(node: Node | None, key: str) -> tuple[str, ...]:
    found = child(node, key)
    items = found.items if isinstance(found, Sequence) else ()
    return tuple(item.text for item in items if isinstance(item, Scalar))


def leaves(node: Node | None, key: str) -> dict[str, Scalar]:
    """The scalars of a map by key."""
    found = child(node, key)
    entries = found.entries if isinstance(found, Mapping) else ()
    return {item.key: item.value for item in entries if isinstance(item.value, Scalar)}


def pairs(node: Node | None, key: str) -> Pairs:
    return tuple((name, leaf.text) for name, leaf in leaves(node, key).items())


def canonical(value: object) -> str:
    """Encode a value as canonical JSON: equal texts mean equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def as_json(node: Node | None, default: str = "") -> str:
    return default if node is None else canonical(plain(node))


def read_as(node: Scalar) -> Value:
    """Return the value of a scalar. A filled binding can be a number or a flag."""
    if not node.bound:
        return node.value
    try:
        return meaning_of(node.text)
    except NumberTooLongError:
        return node.text
