"""Encode the resolved document as JSON without secrets."""

from fabric.config.yaml import read
from fabric.config.yaml.nodes import (
    KeyValue,
    Mapping,
    Node,
    Scalar,
    Sequence,
    Value,
    find,
    plain_with,
    with_entry,
)
from fabric.model.secrecy import REDACTED, looks_secret, names_secret, without_userinfo

_HIDDEN_KEYS = ("connectionString",)
# Where a default stands in for an address or a secret, it is one.
_SUPPLIES = ("resources", "addons")
# Their keys are the user's own, or those of a provider.
_FREE = (
    "params",
    "extensions",
    "addons",
    "resources",
    "workflows",
    "integrations",
    "app",
    "org",
    "alerts",
    "hooks",
)


def resolved_json(root: Mapping) -> str:
    """Encode the document as canonical JSON without secrets. Stages are already applied."""
    shown = {entry.key: _section(entry) for entry in root.entries if entry.key != "stages"}
    return read.canonical(shown)


def _section(entry: KeyValue) -> object:
    if entry.key == "secrets":
        return plain_with(entry.value, _secret_leaf, entry.key)
    leaf = _supply_leaf if entry.key in _SUPPLIES else _leaf
    value = _without_named(entry.value) if entry.key in _FREE else entry.value
    return plain_with(value, leaf, entry.key)


def _without_named(node: Node) -> Node:
    """Mark everything below a credential-like key as secret."""
    if isinstance(node, Sequence):
        return node._replace(items=tuple(map(_without_named, node.items)))
    if not isinstance(node, Mapping):
        return node
    entries = (
        entry._replace(
            value=_all_secret(entry.value)
            if names_secret(entry.key)
            else _without_named(entry.value)
        )
        for entry in node.entries
    )
    return node._replace(entries=tuple(entries))


def _all_secret(node: Node) -> Node:
    match node:
        case Mapping():
            entries = (entry._replace(value=_all_secret(entry.value)) for entry in node.entries)
            return node._replace(entries=tuple(entries))
        case Sequence():
            return node._replace(items=tuple(map(_all_secret, node.items)))
        case _:
            return node._replace(secret=True)


def _supply_leaf(leaf: Scalar, key: str) -> Value:
    return REDACTED if key == "default" else _leaf(leaf, key)


def _leaf(leaf: Scalar, key: str) -> Value:
    if leaf.secret or key in _HIDDEN_KEYS:
        return REDACTED
    return without_userinfo(leaf.value) if isinstance(leaf.value, str) else leaf.value


def _secret_leaf(leaf: Scalar, key: str) -> Value:
    return leaf.value if key == "name" else REDACTED


def mark_credentials(root: Mapping) -> Mapping:
    """Mark `env` variables with credential-like names as secret."""
    root = _with_marked_env(root)
    functions = find(root, "functions")
    if functions is None:
        return root
    return with_entry(root, functions._replace(value=_in_each(functions.value)))


def _in_each(functions: Node) -> Node:
    if isinstance(functions, Sequence):
        return functions._replace(items=tuple(_marked_function(item) for item in functions.items))
    if isinstance(functions, Mapping):
        entries = (
            entry._replace(value=_marked_function(entry.value)) for entry in functions.entries
        )
        return functions._replace(entries=tuple(entries))
    return functions


def _marked_function(node: Node) -> Node:
    return _with_marked_env(node) if isinstance(node, Mapping) else node


def _with_marked_env(node: Mapping) -> Mapping:
    env = find(node, "env")
    if env is None or not isinstance(env.value, Mapping):
        return node
    entries = tuple(_marked(entry) for entry in env.value.entries)
    return with_entry(node, env._replace(value=env.value._replace(entries=entries)))


def _marked(entry: KeyValue) -> KeyValue:
    if isinstance(entry.value, Scalar) and looks_secret(entry.key):
        return entry._replace(value=entry.value._replace(secret=True))
    return entry
