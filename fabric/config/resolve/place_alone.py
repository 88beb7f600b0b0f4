"""A config without all that only a deploy has to know: what is left says where its records lie."""

from fabric.config.yaml.nodes import Mapping, Node, Sequence

_KEPT = frozenset(
    {"service", "provider", "providerOverrides", "backend", "stages", "secrets", "params"}
)
_KEPT_OF_A_FUNCTION = frozenset({"name", "entry", "runtime"})


def place_alone(root: Mapping) -> Mapping:
    """To be taken before bindings are filled: what goes may be bound to what nobody has set."""
    entries = tuple(
        entry._replace(value=_names_alone(entry.value)) if entry.key == "functions" else entry
        for entry in root.entries
        if entry.key in _KEPT or entry.key == "functions"
    )
    return root._replace(entries=entries)


def _names_alone(functions: Node) -> Node:
    """Of a list of functions, or of a map by name."""
    match functions:
        case Sequence(items=items):
            return functions._replace(items=tuple(map(_name_alone, items)))
        case Mapping(entries=entries):
            named = (entry._replace(value=_name_alone(entry.value)) for entry in entries)
            return functions._replace(entries=tuple(named))
        case _:
            return functions


def _name_alone(function: Node) -> Node:
    if not isinstance(function, Mapping):
        return function
    kept = tuple(entry for entry in function.entries if entry.key in _KEPT_OF_A_FUNCTION)
    return function._replace(entries=kept)
