"""Placeholders for values that are known only after an upstream's release or a stack, and for ARNs
of the service, which contain the account.

A placeholder is a name between two characters that no config can contain. Texts must pass
`all_known` before they leave this process to a child, a file or an address.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fabric.model.lookups import PINNED, parse_pin
from fabric.model.problems import FabricError, Problem

_OPEN, _CLOSE = "\ue000", "\ue001"
_PLACEHOLDER = re.compile(f"{_OPEN}([A-Za-z0-9_:.@,-]+){_CLOSE}")
# As JSON has them when it is written in ASCII.
_ESCAPED = ("\\ue000", "\\ue001")
# What reads only deploys, releases and stacks can be known late; builds and names cannot.
WHERE_LATE = (
    "`env`, `tags`, sources of triggers, `permissions` and other settings of the provider, "
    "`extensions`, the address of a resource and the secrets of an addon"
)
_WHERE_IN_WORKFLOWS = (
    "`definition`, `permissions`, `substitutions` and sources of triggers of the workflow, and "
    "outputs of the stack in its `role`"
)
_WHERE_SECRETS = (
    "`env`, `tags`, `triggers`, parameters of stacks, the address of a resource and the secrets of "
    "an addon"
)
# How the names of outputs of the service's own stack, of addresses of its functions and workflows,
# and of outputs of other services begin.
STACK_OUTPUT, SERVICE_OUTPUT = "stack:", "service:"
OWN_ADDRESSES = ("function:", "workflow:")
# The id and the address of the own API, and URLs of functions, which the release creates.
OWN_API = "api:"
_FUNCTION_URL = re.compile(r"api:([A-Za-z0-9_-]+)\.url")
_BINDINGS = (STACK_OUTPUT, *OWN_ADDRESSES, OWN_API, SERVICE_OUTPUT)
_BOUND = re.compile(rb"\$\{(?:stack|function|workflow|service|api):")


def has_late_bindings(text: bytes) -> bool:
    """Return whether a text might contain bindings of late values, also in comments."""
    return _BOUND.search(text) is not None


def name_function_url(function: str) -> str:
    """Name the URL of a function among the values that the release creates."""
    return f"{OWN_API}{function}.url"


def find_url_owner(name: str) -> str:
    """Find the function whose URL has a name; empty for other values."""
    found = _FUNCTION_URL.fullmatch(name)
    return found[1] if found else ""


def format_placeholder(name: str) -> str:
    """Format the placeholder of a variable without a known value."""
    return f"{_OPEN}{name}{_CLOSE}"


def find_late_names(text: str) -> tuple[str, ...]:
    """The variables that a text still waits for."""
    return tuple(_PLACEHOLDER.findall(text)) if _OPEN in text else ()


def is_own_reference(value: object) -> bool:
    """Return whether a value is only an output of the stack, or an address of the service."""
    found = _PLACEHOLDER.fullmatch(value) if isinstance(value, str) else None
    return found is not None and found[1].startswith((STACK_OUTPUT, *OWN_ADDRESSES))


def fill_placeholders(text: str, values: Mapping[str, str]) -> str:
    """Replace placeholders by known values."""
    if _OPEN not in text:
        return text
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)


def show_placeholders(text: str) -> str:
    """Replace placeholders by the bindings that the config contains, for plans and records."""
    if _OPEN not in text:
        return text
    return _PLACEHOLDER.sub(lambda found: format_binding(found[1]), text)


def format_binding(name: str) -> str:
    """Format the binding as the config writes it."""
    if (pin := parse_pin(name)) is not None:
        return pin.text
    if not name.startswith(_BINDINGS):
        return f"${{env:{name}}}"
    if owner := find_url_owner(name):
        return f"${{function:{owner}.url}}"
    plain, default = split_default(name)
    return f"${{{plain}}}" if default is None else f"${{{plain},{default}}}"


def add_default(name: str, default: str) -> str:
    """Add a default to the name of a late value, in characters that a placeholder can contain."""
    return f"{name},{default.encode().hex()}"


def split_default(name: str) -> tuple[str, str | None]:
    plain, comma, encoded = name.partition(",")
    return plain, bytes.fromhex(encoded).decode() if comma else None


def fill_bindings(text: str, values: Mapping[str, str]) -> str:
    """Replace the bindings of shown placeholders by their values."""
    if "${" not in text:
        return text
    for name, value in values.items():
        text = text.replace(format_binding(name), value)
    return text


def fill_document(node: object, values: Mapping[str, str]) -> object:
    """Replace placeholders in all texts of a JSON document, including keys."""
    return change_texts(node, lambda text: fill_placeholders(text, values))


def change_texts(node: object, change: Callable[[str], str]) -> Any:
    """Change all texts of a JSON document, including keys."""
    match node:
        case str():
            return change(node)
        case Mapping():
            return {change(str(key)): change_texts(value, change) for key, value in node.items()}
        case Sequence():
            return [change_texts(item, change) for item in node]
        case _:
            return node


def require_known_values(what: str, texts: Iterable[str]) -> None:
    """Raise if a text that is about to leave this process has an unknown value."""
    for text in texts:
        if _OPEN in text or _ESCAPED[0] in text:
            names = find_late_names(text.replace(_ESCAPED[0], _OPEN).replace(_ESCAPED[1], _CLOSE))
            if names:
                raise FabricError(unknown_value_problem(what, names[0]))


def late_value_problem(path: str, name: str) -> Problem:
    if name.startswith(OWN_API):
        return Problem(
            "config/late-value",
            f"`{path}` uses `{format_binding(name)}`, which is known only after the release",
            hint="use it only in `parameters` of the stack `after`",
        )
    if name.startswith(PINNED):
        return Problem(
            "config/late-value",
            f"`{path}` must be known before the deploy, which reads `{format_binding(name)}`",
            hint=f"use secrets only in {_WHERE_SECRETS}",
        )
    where = _WHERE_IN_WORKFLOWS if path.startswith("workflows") else WHERE_LATE
    return Problem(
        "config/late-value",
        f"`{path}` must be known before the run, but `{name}` is known after a deploy",
        hint=f"use such values only in {where}",
    )


def unknown_value_problem(what: str, name: str) -> Problem:
    shown = format_binding(name) if name.startswith(PINNED) else name
    return Problem(
        "config/late-value",
        f"{what} depends on a value that is not known yet: `{shown}`",
        hint=f"deploy the dependency first, or use the value only in {WHERE_LATE}",
    )
