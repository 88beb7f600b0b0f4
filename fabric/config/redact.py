"""Encode the resolved document as JSON without secrets."""

from fabric.config.yaml import read
from fabric.config.yaml.nodes import (
    KeyValue,
    Mapping,
    Node,
    Scalar,
    Sequence,
    Value,
    convert_with,
    find,
    with_entry,
)
from fabric.model.late_values import is_own_reference
from fabric.model.secrets.secrecy import (
    REDACTED,
    is_arn,
    is_secret_key,
    is_secret_name,
    redact_shapes,
)

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


def encode_redacted_config(root: Mapping) -> str:
    """Encode the document as canonical JSON without secrets. Stages are already applied."""
    shown = {entry.key: _redact_section(entry) for entry in root.entries if entry.key != "stages"}
    return read.encode_canonical(shown)


def _redact_section(entry: KeyValue) -> object:
    if entry.key == "secrets":
        return convert_with(entry.value, _redact_secret_leaf, entry.key)
    leaf = _redact_supply_leaf if entry.key in _SUPPLIES else _redact_leaf
    value = _redact_named(entry.value) if entry.key in _FREE else entry.value
    return convert_with(value, leaf, entry.key)


def _redact_named(node: Node) -> Node:
    """Mark everything below a credential-like key as secret."""
    if isinstance(node, Sequence):
        return node._replace(items=tuple(map(_redact_named, node.items)))
    if not isinstance(node, Mapping):
        return node
    entries = (
        entry._replace(
            value=_mark_all_secret(entry.value)
            if is_secret_key(entry.key)
            else _redact_named(entry.value)
        )
        for entry in node.entries
    )
    return node._replace(entries=tuple(entries))


def _mark_all_secret(node: Node) -> Node:
    match node:
        case Mapping():
            entries = (
                entry._replace(value=_mark_all_secret(entry.value)) for entry in node.entries
            )
            return node._replace(entries=tuple(entries))
        case Sequence():
            return node._replace(items=tuple(map(_mark_all_secret, node.items)))
        case Scalar(value=value) if is_own_reference(value) or is_arn(value):
            return node
        case _:
            return node._replace(secret=True)


def _redact_supply_leaf(leaf: Scalar, key: str) -> Value:
    return REDACTED if key == "default" else _redact_leaf(leaf, key)


def _redact_leaf(leaf: Scalar, key: str) -> Value:
    if leaf.secret or key in _HIDDEN_KEYS:
        return REDACTED
    return redact_shapes(leaf.value) if isinstance(leaf.value, str) else leaf.value


def _redact_secret_leaf(leaf: Scalar, key: str) -> Value:
    return leaf.value if key == "name" else REDACTED


def mark_credentials(root: Mapping) -> Mapping:
    """Mark `env` variables with credential-like names as secret."""
    root = _with_marked_env(root)
    functions = find(root, "functions")
    if functions is None:
        return root
    return with_entry(root, functions._replace(value=_redact_functions(functions.value)))


def _redact_functions(functions: Node) -> Node:
    if isinstance(functions, Sequence):
        return functions._replace(items=tuple(_mark_function(item) for item in functions.items))
    if isinstance(functions, Mapping):
        entries = (entry._replace(value=_mark_function(entry.value)) for entry in functions.entries)
        return functions._replace(entries=tuple(entries))
    return functions


def _mark_function(node: Node) -> Node:
    return _with_marked_env(node) if isinstance(node, Mapping) else node


def _with_marked_env(node: Mapping) -> Mapping:
    env = find(node, "env")
    if env is None or not isinstance(env.value, Mapping):
        return node
    entries = tuple(_mark_entry(entry) for entry in env.value.entries)
    return with_entry(node, env._replace(value=env.value._replace(entries=entries)))


def _mark_entry(entry: KeyValue) -> KeyValue:
    if isinstance(entry.value, Scalar) and is_secret_name(entry.key):
        return entry._replace(value=entry.value._replace(secret=True))
    return entry
