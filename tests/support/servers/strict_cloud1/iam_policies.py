"""Whether identity policies allow a request, as IAM evaluates them. Pure."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from msgspec import Struct

Document = Mapping[str, Any]
_PARTS_OF_AN_ARN = 6


class IamRequest(Struct, frozen=True):
    """`context` has the values of condition keys, whose names do not depend on case."""

    action: str
    resource: str = "*"
    context: Mapping[str, str] = {}


def allows(
    policies: Sequence[Document], request: IamRequest, boundary: Document | None = None
) -> bool:
    """A `Deny` anywhere wins. A boundary must allow the request as well, and gives nothing."""
    if any(_has("Deny", one, request) for one in (*policies, *((boundary,) if boundary else ()))):
        return False
    is_bounded = boundary is None or _has("Allow", boundary, request)
    return is_bounded and any(_has("Allow", one, request) for one in policies)


def _has(effect: str, policy: Document, request: IamRequest) -> bool:
    rows = policy["Statement"]
    statements = [rows] if isinstance(rows, Mapping) else rows
    return any(one["Effect"] == effect and _applies(one, request) for one in statements)


def _applies(statement: Document, request: IamRequest) -> bool:
    return (
        _is_named(statement, "Action", _fits_action, request.action)
        and _is_named(statement, "Resource", fits_arn, request.resource)
        and _meets(statement.get("Condition", {}), request)
    )


def _is_named(statement: Document, key: str, fits: Callable[[str, str], bool], text: str) -> bool:
    """By the element, or by its negation: a statement has exactly one of both."""
    [said] = {key, f"Not{key}"} & statement.keys()
    return any(fits(one, text) for one in _texts(statement[said])) == (said == key)


def _texts(said: Any) -> list[str]:
    """One value or a list of values; `true` of YAML is a text to IAM."""
    rows = said if isinstance(said, list | tuple) else [said]
    return [str(one).lower() if isinstance(one, bool) else str(one) for one in rows]


def _fits_action(pattern: str, action: str) -> bool:
    return _fits_text(pattern.lower(), action.lower())


def fits_arn(pattern: str, arn: str) -> bool:
    """Each part of an ARN by itself: `*` of an account does not reach into the resource."""
    if pattern == "*":
        return True
    patterns, parts = pattern.split(":", _PARTS_OF_AN_ARN - 1), arn.split(":", _PARTS_OF_AN_ARN - 1)
    return len(patterns) == len(parts) and all(map(_fits_text, patterns, parts))


def _fits_text(pattern: str, text: str) -> bool:
    return _pattern(pattern).fullmatch(text) is not None


@cache
def _pattern(text: str) -> re.Pattern[str]:
    parts = ({"*": ".*", "?": "."}.get(one) or re.escape(one) for one in text)
    return re.compile("".join(parts), re.DOTALL)


def _meets(conditions: Document, request: IamRequest) -> bool:
    context = {name.lower(): value for name, value in request.context.items()}
    return all(
        _holds(operator, _texts(wanted), context.get(key.lower()))
        for operator, rows in conditions.items()
        for key, wanted in rows.items()
    )


_OPERATORS: Mapping[str, Callable[[str, str], bool]] = {
    "StringEquals": lambda wanted, found: wanted == found,
    "StringLike": _fits_text,
    "ArnEquals": fits_arn,
    "ArnLike": fits_arn,
    "Bool": lambda wanted, found: wanted.lower() == found.lower(),
}
_NEGATED = {
    "StringNotEquals": "StringEquals",
    "StringNotLike": "StringLike",
    "ArnNotEquals": "ArnEquals",
    "ArnNotLike": "ArnLike",
}


def _holds(operator: str, wanted: Iterable[str], found: str | None) -> bool:
    """Without a value only negated operators and those with `IfExists` hold. An operator that is
    not written down here is an error: a guess would let a test pass."""
    plain = operator.removesuffix("IfExists")
    fits = _OPERATORS[_NEGATED.get(plain, plain)]
    if found is None:
        return plain in _NEGATED or plain != operator
    return any(fits(one, found) for one in wanted) == (plain not in _NEGATED)
