"""Reduce a config to the settings that locate its records."""

from fabric.config.yaml.nodes import KeyValue, Mapping, Node, Scalar, Sequence, is_unfilled

_KEPT = frozenset(
    {"service", "provider", "providerOverrides", "backend", "stages", "secrets", "params"}
)
# What says where one name leads to.
_ROUTED = ("fabric", "extensions")
# What a config cannot be without, and records do not hang on: any will do.
_ANY = {"runtime": "nodejs20.x", "entry": "index.js"}


def place_alone(root: Mapping, *, keeps_router: bool = False) -> Mapping:
    """Reduce the config before bindings are filled, because dropped settings can have unset
    bindings."""
    kept = (*_KEPT, *(_ROUTED if keeps_router else ()), "functions")
    entries = (entry for entry in root.entries if entry.key in kept)
    return root._replace(entries=tuple(map(_place_of, entries)))


def _place_of(entry: KeyValue) -> KeyValue:
    match entry.key, entry.value:
        case "provider", Mapping() as provider:
            return entry._replace(value=_select_keys(provider, ("name", "region", "runtime")))
        case "providerOverrides", Mapping(entries=labels) as overrides:
            closed = tuple(one._replace(value=_with_any(one.value)) for one in labels)
            return entry._replace(value=overrides._replace(entries=closed))
        case "extensions", Mapping() as extensions:
            return entry._replace(value=_select_keys(extensions, ("router",)))
        case "functions", Sequence(items=items) as functions:
            return entry._replace(
                value=functions._replace(items=tuple(map(_reduce_function, items)))
            )
        case "functions", Mapping(entries=entries) as functions:
            named = tuple(one._replace(value=_reduce_function(one.value)) for one in entries)
            return entry._replace(value=functions._replace(entries=named))
        case _:
            return entry


def _with_any(override: Node) -> Node:
    """Replace the runtime of an override, because it would have to match the placeholder entry."""
    if not isinstance(override, Mapping):
        return override
    return override._replace(entries=tuple(map(_replace_bindings, override.entries)))


def _reduce_function(function: Node) -> Node:
    return _select_keys(function, ("name", "entry")) if isinstance(function, Mapping) else function


def _select_keys(node: Mapping, keys: tuple[str, ...]) -> Mapping:
    """Select only these keys."""
    kept = (entry for entry in node.entries if entry.key in keys and not _is_open_region(entry))
    return node._replace(entries=tuple(map(_replace_bindings, kept)))


def _is_open_region(entry: KeyValue) -> bool:
    """Return whether the region has a binding. Its value is then in the record too."""
    return entry.key == "region" and isinstance(entry.value, Scalar) and is_unfilled(entry.value)


def _replace_bindings(entry: KeyValue) -> KeyValue:
    text = _ANY.get(entry.key)
    return entry._replace(value=Scalar(text, text, entry.line, entry.column)) if text else entry
