"""Comments of a YAML source, by the line of the key that they are about."""

import re
from typing import NamedTuple

from fabric.model.secrets.secrecy import redact_credentials

_TRAILING = re.compile(r"""^(?:[^'"#]|'[^']*'|"(?:[^"\\]|\\.)*"|(?<=\S)#)*\s(#\s?.*)$""")


class Comment(NamedTuple):
    """The lines above a key, and the text after its value."""

    above: tuple[str, ...] = ()
    after: str = ""


NO_COMMENT = Comment()


def read_comments(text: str) -> dict[int, Comment]:
    """Read the comments, without credentials. Lines count from 1."""
    found: dict[int, Comment] = {}
    above: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if bare.startswith("#"):
            above.append(bare)
            continue
        trailing = _TRAILING.match(line) if "#" in line else None
        if bare and (above or trailing):
            after = redact_credentials(trailing[1].strip()) if trailing else ""
            found[number] = Comment(tuple(map(redact_credentials, above)), after)
        above = []
    return found
