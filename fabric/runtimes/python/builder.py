"""Functions in Python: the project's own modules that an entry imports, unchanged and in place.

The archive's top is the import path: the service's folder as it is laid out, and every shared
library that `include` names. Third-party packages are vendored apart from this.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from fabric.model.problems import FabricError
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.contract import Built, BuiltFile, Toolchain, WantedModule
from fabric.runtimes.entry import PYTHON_EXTENSIONS, EntryFile, locate, unreadable
from fabric.runtimes.include import patterns_of
from fabric.runtimes.python.handler_names import handler_name
from fabric.runtimes.python.import_memory import ImportMemory
from fabric.runtimes.python.importable import refuse_not_importable
from fabric.runtimes.python.imports import ImportedName, SourceImports
from fabric.runtimes.python.modules import (
    Modules,
    Resolution,
    SearchRoot,
    packages_above,
    search_roots,
)
from fabric.runtimes.python.standard import standard_modules
from fabric.runtimes.python.unparsed import unparsed
from fabric.runtimes.python.wanted import SourcePlace, wanted_modules
from fabric.runtimes.seen import place, tried
from fabric.system.disk import read_bytes

IDENTITY = "python-closure 1"


class PythonRuntime:
    """Thread-safe; holds nothing but what files of some content import."""

    def __init__(self) -> None:
        self._memory = ImportMemory()

    def toolchain(self, workspace: Path, root: str) -> Toolchain:  # noqa: ARG002 - the protocol
        return Toolchain(IDENTITY)

    def build(self, workspace: Path, inputs: BuildInputs) -> Built:
        entry = locate(workspace, inputs, PYTHON_EXTENSIONS)
        refuse_not_importable(entry, inputs)
        roots = search_roots(entry.root, entry.path, _libraries(entry, inputs))
        walk = _Walk(entry, roots, Modules(roots, entry.probe), self._memory)
        closure = walk.follow()
        paths = closure.sources
        return Built(
            tuple(BuiltFile(_inside(roots, path), text) for path, text in closure.sources.items()),
            tried(entry.workspace, (*entry.looked_at, *closure.tried, *paths), entry.probe),
            handler=f"{entry.module}.{handler_name(entry, inputs, paths[entry.path])}",
            toolchain=IDENTITY,
            wanted=tuple(walk.wanted(closure.sources, standard_modules(inputs.runtime))),
        )

    def close(self) -> None:
        """There is no child to end."""


class _Closure(Struct, frozen=True):
    """The files by path, sorted; and every path that was looked at."""

    sources: dict[str, bytes]
    tried: set[str]


def _libraries(entry: EntryFile, inputs: BuildInputs) -> tuple[SearchRoot, ...]:
    patterns = patterns_of(entry.root, inputs)
    return tuple(
        SearchRoot(pattern.folder, pattern.library.removesuffix(".py"))
        for pattern in patterns
        if pattern.library
    )


class _Walk(Struct, frozen=True):
    """From an entry to all that it loads."""

    entry: EntryFile
    roots: list[SearchRoot]
    modules: Modules
    memory: ImportMemory

    def follow(self) -> _Closure:
        sources: dict[str, bytes] = {}
        above = list(packages_above(self.entry.path, self.entry.root))
        looked_at = set(above)
        waiting = [self.entry.path, *filter(self.entry.probe.is_file, above)]
        while waiting:
            path = waiting.pop()
            if path not in sources:
                sources[path] = _read(self.entry, path)
                for found in self._resolve(path, sources[path]):
                    looked_at.update(found.tried)
                    waiting += found.loaded
        return _Closure(dict(sorted(sources.items())), looked_at)

    def _resolve(self, path: str, source: bytes) -> Iterator[Resolution]:
        for wanted in self._imports(path, source).names:
            found = self._find(path, wanted)
            yield found
            if "*" in wanted.names and found.loaded:
                last = found.loaded[-1]
                yield self.modules.find_below(os.path.dirname(last), "", self._listed(last))

    def _find(self, path: str, wanted: ImportedName) -> Resolution:
        if not wanted.level:
            return self.modules.find(wanted.module, wanted.names)
        folder = os.path.dirname(path)
        for _ in range(wanted.level - 1):
            folder = os.path.dirname(folder)
        if not any(_holds(search.folder, folder) for search in self.roots):
            return Resolution()
        return self.modules.find_below(folder, wanted.module, wanted.names)

    def _listed(self, path: str) -> tuple[str, ...]:
        """The names that a star import of a package loads."""
        if not path.endswith("/__init__.py"):
            return ()
        return self._imports(path, _read(self.entry, path)).listed

    def wanted(
        self, sources: Mapping[str, bytes], standard: frozenset[str]
    ) -> Iterator[WantedModule]:
        tops = [_inside(self.roots, one.folder) for one in self.roots if not one.only]
        for path, source in sources.items():
            where = SourcePlace(place(self.entry.workspace, path), _inside(self.roots, path))
            names = self._imports(path, source).names
            yield from wanted_modules(names, where, tops, standard)

    def _imports(self, path: str, source: bytes) -> SourceImports:
        shown = place(self.entry.workspace, path)
        try:
            return self.memory.read_imports(source)
        except (SyntaxError, ValueError) as error:
            raise FabricError(unparsed(shown, source, error)) from error


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
