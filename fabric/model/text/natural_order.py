"""Names in the order in which people count: f2 before f10."""

import re

_NUMBER = re.compile(r"(\d+)")

NaturalKey = tuple[tuple[bool, int, str], ...]


def make_natural_key(text: str) -> NaturalKey:
    parts = _NUMBER.split(text)
    return tuple(
        (not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts
    )
