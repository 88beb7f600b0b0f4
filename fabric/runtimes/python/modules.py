"""Resolution of dotted names in Python's own order: package, module, namespace directory."""

import os
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from fabric.runtimes.contract import ImportedModule
from fabric.runtimes.python.imports import ImportedName
from fabric.runtimes.recorded_inputs import Probe


class SearchRoot(Struct, frozen=True):
    """A directory on the import path."""

    folder: str
    # Limits it to one top-level name (a shared library).
    only: str = ""


class Resolution(Struct, frozen=True):
    """A resolved import. `loaded` are the files that it runs, outermost package first; `tried` are
    all lookups."""

    loaded: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    # Has the import path directory of each file.
    bases: tuple[str, ...] = ()

    def below(self, base: str) -> "Resolution":
        return Resolution(self.loaded, self.tried, (base,) * len(self.loaded))


def search_roots(root: str, entry: str, libraries: tuple[SearchRoot, ...]) -> list[SearchRoot]:
    """Return the service directory, the entry's directory and those between, then shared
    libraries."""
    folders = [root]
    folder = os.path.dirname(entry)
    while len(folder) > len(root):
        folders.append(folder)
        folder = os.path.dirname(folder)
    return [*(SearchRoot(folder) for folder in folders), *libraries]


class Modules:
    """The lookups of one build: each path and each absolute import is resolved once."""

    def __init__(
        self, roots: list[SearchRoot], probe: Probe, standard: frozenset[str] = frozenset()
    ) -> None:
        """Create the lookups. `standard` are Python's own modules: only the first root takes
        precedence over them."""
        self._roots = roots
        self._standard = standard
        self._probe = probe
        self._found: dict[tuple[str, tuple[str, ...]], Resolution] = {}

    def find(self, dotted: str, names: tuple[str, ...] = ()) -> Resolution:
        """Resolve an absolute import: the first root that has the top-level name as a package or a
        module.

        A directory without `__init__.py` is a namespace package: every root can contain a portion
        of it.
        """
        found = self._found.get((dotted, names))
        if found is None:
            found = self._found[dotted, names] = _join_resolutions(
                list(self._list_portions(dotted, names))
            )
        return found

    def _list_portions(self, dotted: str, names: tuple[str, ...]) -> Iterator[Resolution]:
        top = dotted.partition(".")[0]
        for search in self._roots:
            if search.only and search.only != top:
                continue
            if search is not self._roots[0] and top in self._standard:
                continue
            yield self.find_below(search.folder, dotted, names).below(search.folder)
            if any(map(self._probe.is_file, _list_forms(os.path.join(search.folder, top)))):
                return

    def find_below(self, folder: str, dotted: str, names: tuple[str, ...] = ()) -> Resolution:
        """Resolve `dotted` below a directory, then each of `names` as a possible submodule."""
        loaded: list[str] = []
        tried: list[str] = []
        for part in filter(None, dotted.split(".")):
            folder = os.path.join(folder, part)
            found = self._find_first(folder, tried)
            if found:
                loaded.append(found)
            if found == f"{folder}.py":
                return Resolution(tuple(loaded), tuple(tried))
        submodules = [
            self._find_first(os.path.join(folder, name), tried) for name in names if name != "*"
        ]
        return Resolution((*loaded, *filter(None, submodules)), tuple(tried))

    def _find_first(self, base: str, tried: list[str]) -> str:
        for path in _list_forms(base):
            tried.append(path)
            if self._probe.is_file(path):
                return path
        return ""


def list_packages_above(path: str, root: str) -> Iterator[str]:
    """Yield the `__init__.py` candidates that run before a module: from its directory up to the
    root."""
    folder = os.path.dirname(path)
    while len(folder) > len(root):
        yield os.path.join(folder, "__init__.py")
        folder = os.path.dirname(folder)


def _list_forms(base: str) -> tuple[str, str]:
    return f"{base}/__init__.py", f"{base}.py"


def _join_resolutions(parts: list[Resolution]) -> Resolution:
    return Resolution(
        tuple(path for part in parts for path in part.loaded),
        tuple(path for part in parts for path in part.tried),
        tuple(base for part in parts for base in part.bases),
    )


# The modules that a function's own files import, and the archive paths that would satisfy them.


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
