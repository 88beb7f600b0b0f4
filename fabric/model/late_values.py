"""Values that are known only once an upstream is released: what stands for them until then.

A placeholder is a name between two characters that no config may hold. It is for this process
alone: whatever leaves it, to a child, a file or an address, is held against `all_known` first.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from fabric.model.problems import FabricError, Problem

_OPEN, _CLOSE = "\ue000", "\ue001"
_PLACEHOLDER = re.compile(f"{_OPEN}([A-Z0-9_]+){_CLOSE}")
# As JSON has them when it is written in ASCII.
_ESCAPED = ("\\ue000", "\\ue001")
WHERE_LATE = "`env`, `params`, `extensions`, the address of a resource and the secrets of an addon"


def placeholder(name: str) -> str:
    """What stands for a variable whose value is not known yet."""
    return f"{_OPEN}{name}{_CLOSE}"


def late_names(text: str) -> tuple[str, ...]:
    """The variables that a text still waits for."""
    return tuple(_PLACEHOLDER.findall(text)) if _OPEN in text else ()


def filled_in(text: str, values: Mapping[str, str]) -> str:
    """The text with what is known by now in place of its placeholders."""
    if _OPEN not in text:
        return text
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)


def filled_in_document(node: object, values: Mapping[str, str]) -> object:
    """A JSON document, all of whose texts are filled in; its keys as well."""
    match node:
        case str():
            return filled_in(node, values)
        case Mapping():
            return {
                filled_in(str(key), values): filled_in_document(value, values)
                for key, value in node.items()
            }
        case Sequence():
            return [filled_in_document(item, values) for item in node]
        case _:
            return node


def all_known(what: str, texts: Iterable[str]) -> None:
    """Raises where one of the texts, which are about to leave this process, is not known yet."""
    for text in texts:
        if _OPEN in text or _ESCAPED[0] in text:
            names = late_names(text.replace(_ESCAPED[0], _OPEN).replace(_ESCAPED[1], _CLOSE))
            if names:
                raise FabricError(late_problem(what, names[0]))


def late_problem(what: str, name: str) -> Problem:
    return Problem(
        "config/late-value",
        f"{what} depends on a value that is not known yet: `{name}`",
        hint=f"deploy the dependency first, or use the value only in {WHERE_LATE}",
    )
