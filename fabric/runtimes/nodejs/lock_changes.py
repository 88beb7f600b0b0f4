"""Whether the change of a lock or a manifest between two commits can affect a set of packages.

Rows are not enough for that: a service can change to another version that the lock has contained
before. Then only the edges of the lock change. So each changed line counts, with the keys above it,
and it affects the packages that it names.
"""

import json
import re
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from posixpath import basename

from fabric.runtimes.file_rows import FIELDS_ROW, hash_row, read_rows
from fabric.runtimes.nodejs.toolchain import LOCK_FILES

MANIFEST = "package.json"
_NAMES = frozenset((MANIFEST, *map(basename, LOCK_FILES)))
# The parts whose lines name packages. A change elsewhere, such as of settings, affects everything.
_PARTS = frozenset(
    {"packages", "importers", "snapshots", "dependencies", "devDependencies", "workspaces"}
    | {"optionalDependencies", "peerDependencies", "overrides", "patchedDependencies"}
)
# The parts of a manifest that no build reads.
_UNREAD = frozenset(
    {"scripts", "description", "author", "license", "keywords", "repository", "bugs", "homepage"}
    | {"engines", "private", "version", "contributors", "funding"}
)
_WORD = re.compile(r"[\w.-]+")


def has_rows(path: str) -> bool:
    """Return whether a change of this file can be compared by lines."""
    return basename(path) in _NAMES


def list_changed_lines(path: str, old: bytes, new: bytes) -> frozenset[str] | None:
    """List the lines that differ, with their keys; None if the change can affect all packages."""
    was, now = read_rows(path, old), read_rows(path, new)
    if was is None or now is None:
        return None
    is_manifest = basename(path) == MANIFEST
    if is_manifest and hash_row(was, FIELDS_ROW) != hash_row(now, FIELDS_ROW):
        return None
    lines = set(_list_lines(old)) ^ set(_list_lines(new))
    if is_manifest:
        lines = {one for one in lines if one.partition("\n")[0] not in _UNREAD}
    heads = {one.partition("\n")[0] for one in lines}
    return frozenset(lines) if all(map(_names_packages, heads)) else None


def _names_packages(head: str) -> bool:
    """Return whether an outermost key is a part with packages, or an entry of Yarn."""
    return head.rstrip(":") in _PARTS or "@" in head[1:]


def _list_lines(content: bytes) -> Iterator[str]:
    text = content.decode("utf-8", "replace").replace("\r\n", "\n")
    if text.lstrip().startswith("{"):
        yield from _flatten(json.loads(re.sub(r",(?=\s*[}\]])", "", text)), ())
        return
    above: list[tuple[int, str]] = []
    for line in filter(str.strip, text.split("\n")):
        indent = len(line) - len(line.lstrip())
        while above and above[-1][0] >= indent:
            above.pop()
        above.append((indent, line.strip()))
        yield "\n".join(word for _, word in above)


def _flatten(value: object, above: tuple[str, ...]) -> Iterator[str]:
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        yield "\n".join(above)
        for key, below in pairs:
            yield from _flatten(below, (*above, str(key)))
    else:
        yield "\n".join((*above, json.dumps(value)))


def affects_packages(lines: Iterable[str], names: AbstractSet[str]) -> bool:
    """Return whether a line names one of these packages."""
    words = [frozenset(_WORD.findall(line)) for line in lines]
    every = frozenset[str]().union(*words)
    parts = [frozenset(_WORD.findall(name)) for name in names]
    return any(part <= line for part in parts if part <= every for line in words)
