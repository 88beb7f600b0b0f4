"""Route paths with parameters, and which requests match two of them. No effects."""

import re

Shape = tuple[str, ...]
_NAME = re.compile(r"\{[^{}+]+(\+?)\}")
ONE, MANY = "{}", "{+}"


def parse_shape(path: str) -> Shape:
    """Return the segments, without parameter names or trailing slash."""
    return tuple(_NAME.sub(r"{\1}", one) for one in path.strip("/").split("/"))


def is_overlapping(one: Shape, other: Shape) -> bool:
    """Return whether any path matches both."""
    if not one or not other:
        return one == other
    both = (one[0], other[0])
    if MANY in both:
        return "" not in both
    is_same = one[0] == other[0] or (ONE in both and "" not in both)
    return is_same and is_overlapping(one[1:], other[1:])


def is_within(one: Shape, other: Shape) -> bool:
    """Return whether each path that matches the first also matches the second."""
    if not one or not other:
        return one == other
    if other[0] == MANY:
        return one[0] != ""
    if one[0] == MANY or (other[0] != ONE and one[0] != other[0]) or one[0] == "":
        return one == other
    return is_within(one[1:], other[1:])


def build_expression(shape: Shape) -> str:
    """Build a regular expression in the syntax that all engines share."""
    parts = {ONE: "[^/]+", MANY: ".+"}
    return "^/" + "/".join(parts.get(one) or re.escape(one) for one in shape) + "/?$"
