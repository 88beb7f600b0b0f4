"""Placeholders for values that are known only after an upstream's release or a stack, and for ARNs
of the service, which contain the account.

A placeholder is a name between two characters that no config can contain. Texts must pass
`all_known` before they leave this process to a child, a file or an address.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from fabric.model.problems import FabricError, Problem

_OPEN, _CLOSE = "\ue000", "\ue001"
_PLACEHOLDER = re.compile(f"{_OPEN}([A-Za-z0-9_:.-]+){_CLOSE}")
# As JSON has them when it is written in ASCII.
_ESCAPED = ("\\ue000", "\\ue001")
WHERE_LATE = "`env`, `params`, `extensions`, the address of a resource and the secrets of an addon"


# How the names of outputs of the service's own stack begin.
STACK_OUTPUT = "stack:"
# How the names of ARNs of the service's own functions and workflows begin. The deployer fills them.
OWN_ARNS = ("function:", "workflow:")


def format_placeholder(name: str) -> str:
    """Format the placeholder of a variable without a known value."""
    return f"{_OPEN}{name}{_CLOSE}"


def find_late_names(text: str) -> tuple[str, ...]:
    """The variables that a text still waits for."""
    return tuple(_PLACEHOLDER.findall(text)) if _OPEN in text else ()


def fill_placeholders(text: str, values: Mapping[str, str]) -> str:
    """Replace placeholders by known values."""
    if _OPEN not in text:
        return text
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)


def fill_document(node: object, values: Mapping[str, str]) -> object:
    """Replace placeholders in all texts of a JSON document, including keys."""
    match node:
        case str():
            return fill_placeholders(node, values)
        case Mapping():
            return {
                fill_placeholders(str(key), values): fill_document(value, values)
                for key, value in node.items()
            }
        case Sequence():
            return [fill_document(item, values) for item in node]
        case _:
            return node


def require_known_values(what: str, texts: Iterable[str]) -> None:
    """Raise if a text that is about to leave this process has an unknown value."""
    for text in texts:
        if _OPEN in text or _ESCAPED[0] in text:
            names = find_late_names(text.replace(_ESCAPED[0], _OPEN).replace(_ESCAPED[1], _CLOSE))
            if names:
                raise FabricError(unknown_value_problem(what, names[0]))


def unknown_value_problem(what: str, name: str) -> Problem:
    return Problem(
        "config/late-value",
        f"{what} depends on a value that is not known yet: `{name}`",
        hint=f"deploy the dependency first, or use the value only in {WHERE_LATE}",
    )
