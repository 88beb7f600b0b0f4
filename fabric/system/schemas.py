"""The JSON Schemas that fabric ships, and the validation of external documents."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabric.model.text.validation_message import EXPECTED, FOUND, prefix_message
from fabric.system.files.disk import read_bytes

if TYPE_CHECKING:
    from jsonschema import Draft7Validator, ValidationError

_PACKAGE = Path(__file__).resolve().parent.parent
_KINDS = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "null",
    "array": "array",
    "object": "object",
}
_TYPES = {str: "str", bool: "bool", int: "int", float: "int", list: "array", dict: "object"}
# What a reader does not know it passes over.
_PASSED_OVER = "additionalProperties"
_SHOWN = 3


def read_schema_text(name: str) -> str:
    """Return one schema, from the installed package or from the checkout."""
    places = (_PACKAGE / "schemas", _PACKAGE.parent / "schemas")
    folder = next(place for place in places if place.is_dir())
    return read_bytes(folder / f"{name}.schema.json").decode()


def find_misfits(name: str, document: object) -> tuple[str, ...]:
    """Return validation errors, such as `functions[2].endpoint: expected a text, found a
    number`."""
    found = (
        words
        for error in _build_validator(name).iter_errors(document)
        if error.validator != _PASSED_OVER
        for words in _format_error(error)
    )
    return tuple(dict.fromkeys(found))


def format_misfits(found: tuple[str, ...]) -> str:
    """Format the first errors, and the number of remaining ones."""
    rest = f" (and {len(found) - _SHOWN} more)" if len(found) > _SHOWN else ""
    return "; ".join(found[:_SHOWN]) + rest


def _build_validator(name: str) -> "Draft7Validator":
    # Costs more than most commands take: only where something comes from outside.
    import json

    from jsonschema import Draft7Validator

    return Draft7Validator(json.loads(read_schema_text(name)))


def _format_error(error: "ValidationError") -> Iterator[str]:
    path, rule, found = _format_path(error.absolute_path), _read_rule(error), error.instance
    match error.validator:
        case "required":
            names = [one for one in rule if one not in _list_keys(found)]
            yield from (prefix_message(path, f"`{one}` is required") for one in names)
        case "anyOf":
            names = [one for option in rule for one in option["required"]]
            yield prefix_message(path, " or ".join(f"`{one}`" for one in names) + " is required")
        case "type":
            yield prefix_message(
                path, f"expected {_format_expected(rule)}, found {_describe_kind(found)}"
            )
        case "enum":
            words = ", ".join(f"`{one}`" for one in rule)
            one_of = "one of " if len(rule) > 1 else ""
            yield prefix_message(path, f"expected {one_of}{words}, found {_format_found(found)}")
        case "minimum":
            yield prefix_message(path, f"expected at least {rule}, found {found}")
        case "pattern":
            yield prefix_message(
                path, f"expected text that is not blank, found {_format_found(found)}"
            )
        case _:
            yield prefix_message(path, error.message)


def _format_expected(kinds: str | list[str]) -> str:
    names = [kinds] if isinstance(kinds, str) else kinds
    return " or ".join(EXPECTED[_KINDS[name]] for name in names)


def _read_rule(error: "ValidationError") -> Any:
    """Return the value of the failed schema keyword; its type depends on the keyword."""
    return error.validator_value


def _list_keys(found: object) -> frozenset[str]:
    return frozenset(found) if isinstance(found, dict) else frozenset()


def _describe_kind(found: object) -> str:
    return FOUND[_TYPES.get(type(found), "null")]


def _format_found(found: object) -> str:
    return f"`{found}`" if isinstance(found, str | int) else _describe_kind(found)


def _format_path(steps: Iterable[str | int]) -> str:
    words = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return "".join(words).removeprefix(".")
