"""Select services by name, by dependencies, or by changed files.

Pure functions: callers query git and the traces.
"""

from collections.abc import Collection, Iterable, Sequence
from posixpath import basename, dirname, splitext

from msgspec import Struct

from fabric.model.walks import Needs, find_reachable, reverse_edges

# Text for people: outside of all services no build reads it unless it remembers having done so.
_PROSE = frozenset({".md", ".rst", ".adoc"})
_PAPERS = frozenset({"LICENSE", ".gitignore", ".gitattributes", ".editorconfig"})


class Territory(Struct, frozen=True):
    """The paths that a service depends on, all absolute.

    `seen` were read by cached builds, `searched` are listed directories. Without `remembered`, its
    inputs outside its directory are unknown.
    """

    name: str
    folder: str
    # Its own anywhere (config, `.env`).
    files: frozenset[str] = frozenset()
    seen: frozenset[str] = frozenset()
    searched: frozenset[str] = frozenset()
    # File names that count in its directory and all parents.
    manifests: frozenset[str] = frozenset()
    remembered: bool = False
    # Changed files whose used parts are equal.
    unaffected_by: frozenset[str] = frozenset()


def select_affected(
    territories: Sequence[Territory], shared: Collection[str], changed: Iterable[str]
) -> frozenset[str]:
    """Select the services that these files can affect. `shared` files affect all."""
    own = {file: one.name for one in territories for file in one.files}
    found: set[str] = set()
    for path in changed:
        if path in shared:
            return frozenset(one.name for one in territories)
        home = _find_innermost_folder(path, territories)
        found.update(one.name for one in territories if _is_affected_by(path, one, home))
        if home is not None and path not in own:
            found.update(
                one.name
                for one in territories
                if one.folder == home and path not in one.unaffected_by
            )
    return frozenset(found)


def _is_affected_by(path: str, one: Territory, home: str | None) -> bool:
    if path in one.unaffected_by:
        return False
    if path in one.files or path in one.seen or one.folder.startswith(f"{path}/"):
        return True
    if any(_is_inside(path, folder) for folder in one.searched):
        return True
    if basename(path) in one.manifests and _is_inside(one.folder, dirname(path)):
        return True
    return home is None and not one.remembered and not _is_prose(path)


def _find_innermost_folder(path: str, territories: Iterable[Territory]) -> str | None:
    """Find the innermost service directory of a file, because services can be nested."""
    around = sorted({one.folder for one in territories if _is_inside(path, one.folder)}, key=len)
    return around[-1] if around else None


def _is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _is_prose(path: str) -> bool:
    return splitext(path)[1].lower() in _PROSE or basename(path) in _PAPERS


class Widening(Struct, frozen=True):
    """Which related services to add to the selected ones."""

    dependents: bool = False
    dependencies: bool = False


def expand_selection(names: Iterable[str], needs: Needs, by: Widening) -> frozenset[str]:
    """Add dependents and dependencies to the names, as requested."""
    start = frozenset(names)
    after = find_reachable(start, reverse_edges(needs)) if by.dependents else start
    before = find_reachable(start, needs) if by.dependencies else start
    return after | before
