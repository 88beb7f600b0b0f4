"""Comments of a YAML source, by the line of the key that they are about."""

import re
from typing import NamedTuple

_TRAILING = re.compile(r"""^(?:[^'"#]|'[^']*'|"(?:[^"\\]|\\.)*"|(?<=\S)#)*\s(#\s?.*)$""")


class Comment(NamedTuple):
    """The lines above a key, and the text after its value."""

    above: tuple[str, ...] = ()
    after: str = ""


NO_COMMENT = Comment()


def read_comments(text: str) -> dict[int, Comment]:
    """Read the comments. Lines count from 1."""
    found: dict[int, Comment] = {}
    above: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if bare.startswith("#"):
            above.append(bare)
            continue
        trailing = _TRAILING.match(line) if "#" in line else None
        if bare and (above or trailing):
            found[number] = Comment(tuple(above), trailing[1].strip() if trailing else "")
        above = []
    return found
