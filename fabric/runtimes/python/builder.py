"""Functions in Python: the project's own modules that an entry imports, unchanged and in place.

The archive's top is the import path: the service's folder as it is laid out, and every shared
library that `include` names. Third-party packages are vendored apart from this.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from fabric.model.problems import FabricError, Place, Problem
from fabric.model.task import BuildInputs
from fabric.runtimes.contract import Built, BuiltFile, Toolchain
from fabric.runtimes.entry import PYTHON_EXTENSIONS, EntryFile, locate, unreadable
from fabric.runtimes.include import patterns_of
from fabric.runtimes.python.imports import ImportedName, read_all, read_imports
from fabric.runtimes.python.modules import (
    Resolution,
    SearchRoot,
    find_below,
    find_module,
    packages_above,
    search_roots,
)
from fabric.runtimes.seen import merge, place, tried
from fabric.system.disk import read_bytes

IDENTITY = "python-closure 1"


class PythonRuntime:
    """Holds nothing: every build stands for itself."""

    def toolchain(self, workspace: Path, root: str) -> Toolchain:  # noqa: ARG002 - the protocol
        return Toolchain(IDENTITY)

    def build(self, workspace: Path, inputs: BuildInputs) -> Built:
        entry = locate(workspace, inputs, PYTHON_EXTENSIONS)
        roots = search_roots(entry.root, entry.path, _libraries(entry, inputs))
        closure = _follow(entry, roots)
        return Built(
            tuple(BuiltFile(_inside(roots, path), text) for path, text in closure.sources),
            merge(entry.seen, tried(entry.workspace, [*closure.tried, *dict(closure.sources)])),
            handler=f"{entry.module}.{entry.export or 'handler'}",
            toolchain=IDENTITY,
        )

    def close(self) -> None:
        """There is no child to end."""


class _Closure(Struct, frozen=True):
    sources: tuple[tuple[str, bytes], ...]
    tried: tuple[str, ...]


def _libraries(entry: EntryFile, inputs: BuildInputs) -> tuple[SearchRoot, ...]:
    patterns = patterns_of(entry.root, inputs)
    return tuple(
        SearchRoot(pattern.folder, pattern.library.removesuffix(".py"))
        for pattern in patterns
        if pattern.library
    )


def _follow(entry: EntryFile, roots: list[SearchRoot]) -> _Closure:
    sources: dict[str, bytes] = {}
    looked_at = list(packages_above(entry.path, entry.root))
    waiting = [entry.path, *filter(os.path.isfile, looked_at)]
    while waiting:
        path = waiting.pop()
        if path not in sources:
            sources[path] = _read(entry, path)
            for found in _resolve(entry, roots, path, sources[path]):
                looked_at += found.tried
                waiting += found.loaded
    return _Closure(tuple(sorted(sources.items())), tuple(looked_at))


def _resolve(
    entry: EntryFile, roots: list[SearchRoot], path: str, source: bytes
) -> Iterator[Resolution]:
    for wanted in _imports(entry, path, source):
        found = _find(roots, path, wanted)
        yield found
        if "*" in wanted.names and found.loaded:
            last = found.loaded[-1]
            names = read_all(_read(entry, last)) if last.endswith("/__init__.py") else ()
            yield find_below(os.path.dirname(last), "", names)


def _find(roots: list[SearchRoot], path: str, wanted: ImportedName) -> Resolution:
    if not wanted.level:
        return find_module(roots, wanted.module, wanted.names)
    folder = os.path.dirname(path)
    for _ in range(wanted.level - 1):
        folder = os.path.dirname(folder)
    if not any(_holds(search.folder, folder) for search in roots):
        return Resolution()
    return find_below(folder, wanted.module, wanted.names)


def _imports(entry: EntryFile, path: str, source: bytes) -> tuple[ImportedName, ...]:
    shown = place(entry.workspace, path)
    try:
        return read_imports(source)
    except SyntaxError as error:
        where = Place(shown, error.lineno or 0, error.offset or 0)
        frame = (error.text or "").rstrip("\n")
        raise FabricError(
            Problem("build/failed", f"syntax error: {error.msg}", where=where, frame=frame)
        ) from error
    except ValueError as error:
        raise FabricError(Problem("build/failed", str(error), where=Place(shown))) from error


def _read(entry: EntryFile, path: str) -> bytes:
    try:
        return read_bytes(path)
    except OSError as error:
        raise unreadable(place(entry.workspace, path), str(error.strerror)) from error


def _inside(roots: list[SearchRoot], path: str) -> str:
    """The path in the archive: below the service's folder, else below the library's parent."""
    root = next(search.folder for search in roots if _holds(search.folder, path))
    return os.path.relpath(path, root)


def _holds(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder + os.sep)
