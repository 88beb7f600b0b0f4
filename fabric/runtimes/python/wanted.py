"""Which modules a function's own files import, and where its archive would have to hold them."""

import os
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from fabric.runtimes.contract import WantedModule
from fabric.runtimes.python.imports import ImportedName


class SourcePlace(Struct, frozen=True):
    """A source: as people know it, and where it stands in the archive."""

    shown: str
    inside: str


def wanted_modules(
    names: Iterable[ImportedName],
    source: SourcePlace,
    tops: Sequence[str],
    standard: frozenset[str],
) -> Iterator[WantedModule]:
    """All but Python's own; `tops` are the folders of the archive that imports begin at."""
    for one in names:
        if one.is_optional or (not one.level and one.module.partition(".")[0] in standard):
            continue
        path = one.module.replace(".", "/")
        starts = (_above(source.inside, one.level),) if one.level else tops
        places = tuple(os.path.normpath(os.path.join(start, path)) for start in starts)
        yield WantedModule("." * one.level + one.module, source.shown, one.line, places)


def _above(inside: str, level: int) -> str:
    folder = os.path.dirname(inside)
    for _ in range(level - 1):
        folder = os.path.join(folder, "..")
    return folder
