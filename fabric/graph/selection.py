"""Which services a command is about: by name, by what they depend on, by the files that changed.

Values in, names out: who asks git, or the memory of past builds, is not known here.
"""

from collections.abc import Collection, Iterable, Sequence
from posixpath import basename, dirname, splitext

from msgspec import Struct

from fabric.model.walks import Needs, reached, turned

# Text for people: outside of all services no build reads it unless it remembers having done so.
_PROSE = frozenset({".md", ".rst", ".adoc"})
_PAPERS = frozenset({"LICENSE", ".gitignore", ".gitattributes", ".editorconfig"})


class Territory(Struct, frozen=True):
    """What a service hangs on; all paths absolute.

    `files` are its alone wherever they lie (its config, its `.env`); `seen` is what its remembered
    builds read or looked for, `searched` the folders that they searched. `manifests` are names of
    files that count in its folder and in every folder above. Without `remembered` nobody knows what
    it reads outside its folder.
    """

    name: str
    folder: str
    files: frozenset[str] = frozenset()
    seen: frozenset[str] = frozenset()
    searched: frozenset[str] = frozenset()
    manifests: frozenset[str] = frozenset()
    remembered: bool = False


def affected(
    territories: Sequence[Territory], shared: Collection[str], changed: Iterable[str]
) -> frozenset[str]:
    """The services that one of these files may matter to; `shared` are files that matter to all."""
    own = {file: one.name for one in territories for file in one.files}
    found: set[str] = set()
    for path in changed:
        if path in shared:
            return frozenset(one.name for one in territories)
        home = _home(path, territories)
        found.update(one.name for one in territories if _matters(path, one, home))
        if home is not None and path not in own:
            found.update(one.name for one in territories if one.folder == home)
    return frozenset(found)


def _matters(path: str, one: Territory, home: str | None) -> bool:
    if path in one.files or path in one.seen or one.folder.startswith(f"{path}/"):
        return True
    if any(_inside(path, folder) for folder in one.searched):
        return True
    if basename(path) in one.manifests and _inside(one.folder, dirname(path)):
        return True
    return home is None and not one.remembered and not _is_prose(path)


def _home(path: str, territories: Iterable[Territory]) -> str | None:
    """The innermost folder of a service that a file lies in: services may lie in one another."""
    around = sorted({one.folder for one in territories if _inside(path, one.folder)}, key=len)
    return around[-1] if around else None


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _is_prose(path: str) -> bool:
    return splitext(path)[1].lower() in _PROSE or basename(path) in _PAPERS


class Widening(Struct, frozen=True):
    """What else is taken than the services that were chosen themselves."""

    dependents: bool = False
    dependencies: bool = False


def widened(names: Iterable[str], needs: Needs, by: Widening) -> frozenset[str]:
    """The names, with all that depend on them and all that they depend on, as far as asked for."""
    start = frozenset(names)
    after = reached(start, turned(needs)) if by.dependents else start
    before = reached(start, needs) if by.dependencies else start
    return after | before
