"""The modules that a function's own files import, and the archive paths that would satisfy them."""

import os
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from fabric.runtimes.contract import ImportedModule
from fabric.runtimes.python.imports import ImportedName


class SourcePlace(Struct, frozen=True):
    """A source: its display path, and its path in the archive."""

    shown: str
    inside: str


def list_wanted_modules(
    names: Iterable[ImportedName],
    source: SourcePlace,
    tops: Sequence[str],
    standard: frozenset[str],
) -> Iterator[ImportedModule]:
    """Yield all imports except standard modules; `tops` are the import root directories of the
    archive."""
    for one in names:
        if one.is_optional or (not one.level and one.module.partition(".")[0] in standard):
            continue
        path = one.module.replace(".", "/")
        starts = (_find_package_folder(source.inside, one.level),) if one.level else tops
        places = tuple(os.path.normpath(os.path.join(start, path)) for start in starts)
        yield ImportedModule("." * one.level + one.module, source.shown, one.line, places)


def _find_package_folder(inside: str, level: int) -> str:
    folder = os.path.dirname(inside)
    for _ in range(level - 1):
        folder = os.path.join(folder, "..")
    return folder
