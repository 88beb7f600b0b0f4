"""A value that an event pattern matches, as far as its rules are the well-known ones."""

from collections.abc import Callable, Mapping

from msgspec import DecodeError
from msgspec.json import decode

from fabric.model.outcomes.json_struct import Json, JsonObject


def build_matching_detail(pattern: object) -> JsonObject:
    """Build an event detail that matches a pattern: `{source: [a, b]}` gives `{source: a}`.

    The pattern can be JSON text.
    """
    if isinstance(pattern, str):
        pattern = _decode_pattern(pattern)
    return _build_matching_fields(pattern) if isinstance(pattern, Mapping) else {}


def _decode_pattern(text: str) -> object:
    try:
        found: object = decode(text)
    except DecodeError:
        return None
    return found


def _build_matching_fields(pattern: Mapping[str, object]) -> JsonObject:
    found = {key: _choose_value(rule) for key, rule in pattern.items() if not key.startswith("$")}
    return {key: value for key, value in found.items() if value is not None}


def _choose_value(rule: object) -> Json:
    """Return a matching value; None if the field must be absent."""
    match rule:
        case Mapping():
            return _build_matching_fields(rule)
        case [Mapping() as first, *_]:
            return _choose_by_rule(first)
        case [str() | bool() | int() | float() as first, *_]:
            return first
        case str() | bool() | int() | float():
            return rule
        case _:
            return None


def _choose_by_rule(rule: Mapping[str, object]) -> Json:
    for word, wanted in rule.items():
        if word in _RULES:
            return _RULES[word](wanted)
    return "sample"


def _choose_number(wanted: object) -> Json:
    """Return a number within the bounds. Each bound is a comparison and a number."""
    items = wanted if isinstance(wanted, list | tuple) else []
    least, most = float("-inf"), float("inf")
    for comparison, bound in zip(items[::2], items[1::2], strict=False):
        if not isinstance(bound, int | float):
            continue
        match comparison:
            case "=":
                return bound
            case ">" | ">=":
                least = max(least, bound)
            case _:
                most = min(most, bound)
    return _choose_between(least, most)


def _choose_between(least: float, most: float) -> Json:
    if least == float("-inf"):
        return 0 if most > 0 else _normalize_number(most - 1)
    return _normalize_number(least + 1 if least + 1 < most else (least + most) / 2)


def _normalize_number(number: float) -> Json:
    return int(number) if float(number).is_integer() else number


def _choose_text(wanted: object) -> str:
    """Return the first accepted text. A rule can wrap texts in another list."""
    while isinstance(wanted, list | tuple) and wanted:
        wanted = wanted[0]
    if isinstance(wanted, Mapping):
        return str(next(iter(wanted.values()), ""))
    return str(wanted)


_RULES: Mapping[str, Callable[[object], Json]] = {
    "prefix": _choose_text,
    "suffix": _choose_text,
    "equals-ignore-case": _choose_text,
    "wildcard": lambda wanted: _choose_text(wanted).replace("*", "sample"),
    "anything-but": lambda wanted: f"not-{_choose_text(wanted)}",
    "exists": lambda wanted: "sample" if wanted else None,
    "numeric": _choose_number,
    "cidr": lambda wanted: _choose_text(wanted).partition("/")[0],
}
