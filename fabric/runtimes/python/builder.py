"""Build functions in Python: an entry with the project's own modules that it imports, unchanged and
in place.

The archive root is the import path, as hosts have it: the service directory, and every shared
library in `include`.

Absolute imports of an entry in a subdirectory resolve beside it locally. Such modules are placed at
the root too, because hosts look only there. Third-party packages are vendored separately.
"""

import ast
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from fabric.model.problems import FabricError, Place, Problem
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.contract import Built, BuiltFile, ImportedModule, Toolchain
from fabric.runtimes.entry import PYTHON_EXTENSIONS, EntryFile, locate, unreadable_file_error
from fabric.runtimes.include import list_patterns
from fabric.runtimes.python.importable import refuse_not_importable
from fabric.runtimes.python.imports import (
    ImportedName,
    ImportMemory,
    SourceImports,
    parse_source,
    syntax_problem,
)
from fabric.runtimes.python.modules import (
    Modules,
    Resolution,
    SearchRoot,
    SourcePlace,
    list_packages_above,
    list_wanted_modules,
    search_roots,
)
from fabric.runtimes.python.standard import list_standard_modules
from fabric.runtimes.recorded_inputs import place, record_tried
from fabric.system.files.disk import read_bytes

IDENTITY = "python-closure 3"


# Where imports begin in an archive.
_TOPS = (".",)


class PythonRuntime:
    """The Python runtime. Thread-safe; it caches only the parsed imports of files."""

    def __init__(self) -> None:
        self._memory = ImportMemory()

    def toolchain(self, workspace: Path, root: str) -> Toolchain:  # noqa: ARG002 - the protocol
        return Toolchain(IDENTITY)

    def build(self, workspace: Path, inputs: BuildInputs) -> Built:
        entry = locate(workspace, inputs, PYTHON_EXTENSIONS)
        refuse_not_importable(entry, inputs)
        roots = search_roots(entry.root, entry.path, _list_libraries(entry, inputs))
        standard = list_standard_modules(inputs.runtime)
        walk = _Walk(entry, roots, Modules(roots, entry.probe, standard), self._memory)
        closure = walk.follow()
        paths = {one.path for one in closure.sources}
        source = closure.sources[Sourced(entry.path, entry.root)]
        return Built(
            tuple(BuiltFile(one.inside, text) for one, text in closure.sources.items()),
            record_tried(entry.workspace, (*entry.looked_at, *closure.tried, *paths), entry.probe),
            handler=f"{entry.module}.{_find_handler_name(entry, inputs, source)}",
            toolchain=IDENTITY,
            wanted=tuple(walk.list_wanted(closure.sources, standard)),
        )

    def close(self) -> None:
        """Do nothing: there is no child process."""


class Sourced(Struct, frozen=True, order=True):
    """A file and its import path directory. A module imported by two names is two modules, as at
    the host."""

    path: str
    base: str

    @property
    def inside(self) -> str:
        """Its path in the archive."""
        return os.path.relpath(self.path, self.base)


class _Closure(Struct, frozen=True):
    """The files, sorted, and every path that was checked."""

    sources: dict[Sourced, bytes]
    tried: set[str]


def _list_libraries(entry: EntryFile, inputs: BuildInputs) -> tuple[SearchRoot, ...]:
    patterns = list_patterns(entry.root, inputs)
    return tuple(
        SearchRoot(pattern.folder, pattern.library.removesuffix(".py"))
        for pattern in patterns
        if pattern.library
    )


class _Walk(Struct, frozen=True):
    """The walk from an entry to all modules that it loads."""

    entry: EntryFile
    roots: list[SearchRoot]
    modules: Modules
    memory: ImportMemory

    def follow(self) -> _Closure:
        sources: dict[Sourced, bytes] = {}
        above = list(list_packages_above(self.entry.path, self.entry.root))
        looked_at = set(above)
        first = (self.entry.path, *filter(self.entry.probe.is_file, above))
        waiting = [Sourced(path, self.entry.root) for path in first]
        while waiting:
            one = waiting.pop()
            if one not in sources:
                sources[one] = _read(self.entry, one.path)
                for found in self._resolve(one, sources[one]):
                    looked_at.update(found.tried)
                    waiting += map(Sourced, found.loaded, found.bases)
        return _Closure(_place_sources(sources), looked_at)

    def _resolve(self, one: Sourced, source: bytes) -> Iterator[Resolution]:
        for wanted in self._read_imports(one.path, source).names:
            found = self._find(one, wanted)
            yield found
            if "*" in wanted.names and found.loaded:
                last, base = found.loaded[-1], found.bases[-1]
                listed = self.modules.find_below(
                    os.path.dirname(last), "", self._list_star_names(last)
                )
                yield listed.below(base)

    def _find(self, one: Sourced, wanted: ImportedName) -> Resolution:
        if not wanted.level:
            return self.modules.find(wanted.module, wanted.names)
        folder = os.path.dirname(one.path)
        for _ in range(wanted.level - 1):
            folder = os.path.dirname(folder)
        if not any(_is_inside(search.folder, folder) for search in self.roots):
            return Resolution()
        return self.modules.find_below(folder, wanted.module, wanted.names).below(one.base)

    def _list_star_names(self, path: str) -> tuple[str, ...]:
        """List the names that a star import of a package loads."""
        if not path.endswith("/__init__.py"):
            return ()
        return self._read_imports(path, _read(self.entry, path)).listed

    def list_wanted(
        self, sources: Mapping[Sourced, bytes], standard: frozenset[str]
    ) -> Iterator[ImportedModule]:
        for one, source in sources.items():
            where = SourcePlace(place(self.entry.workspace, one.path), one.inside)
            names = self._read_imports(one.path, source).names
            yield from list_wanted_modules(names, where, _TOPS, standard)

    def _read_imports(self, path: str, source: bytes) -> SourceImports:
        shown = place(self.entry.workspace, path)
        try:
            return self.memory.read_imports(source)
        except (SyntaxError, ValueError) as error:
            raise FabricError(syntax_problem(shown, source, error)) from error


def _read(entry: EntryFile, path: str) -> bytes:
    try:
        return read_bytes(path)
    except OSError as error:
        raise unreadable_file_error(place(entry.workspace, path), str(error.strerror)) from error


def _place_sources(sources: Mapping[Sourced, bytes]) -> dict[Sourced, bytes]:
    """Keep one file per archive path, sorted: of equal names, the first on the import path."""
    found: dict[str, Sourced] = {}
    for one in sorted(sources, key=lambda one: (one.inside, len(one.base))):
        found.setdefault(one.inside, one)
    return {one: sources[one] for one in sorted(found.values())}


def _is_inside(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder + os.sep)


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _has_certain_name(source: bytes, name: str) -> bool:
    """Return whether a top-level statement of the module binds the name."""
    if re.search(
        rb"^(?:async\s+)?(?:def|class)\s+%b\b" % re.escape(name.encode()), source, re.MULTILINE
    ):
        return True
    return name in set(_list_bound_names(parse_source(source).body))


def has_possible_name(source: bytes, name: str) -> bool:
    """Return whether the module can have a name; False only if it certainly has not."""
    return _has_certain_name(source, name) or _has_hidden_names(parse_source(source))


def _list_functions(source: bytes) -> tuple[str, ...]:
    """List the top-level functions in source order."""
    body = parse_source(source).body
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return tuple(node.name for node in body if isinstance(node, functions))


def _has_hidden_names(tree: ast.Module) -> bool:
    """Return whether names can appear invisibly: by a star import or `globals()`."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(names=[ast.alias(name="*")]) | ast.Global():
                return True
            case ast.Name(id="globals" | "vars" | "locals" | "setattr" | "exec"):
                return True
            case ast.Attribute(attr="__dict__" | "modules"):
                return True
            case ast.FunctionDef(name="__getattr__"):
                return True
    return False


def _list_bound_names(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the names that top-level statements bind, without those inside functions."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        yield from _list_node_names(node)
        if not isinstance(node, (*_SCOPES, ast.Lambda)):
            waiting += ast.iter_child_nodes(node)


def _list_node_names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Name(id=name, ctx=ast.Store()):
            yield name
        case ast.alias(name=name, asname=other):
            yield other or name.partition(".")[0]
        case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
            yield name
        case ast.MatchStar(name=str() as name) | ast.MatchMapping(rest=str() as name):
            yield name


# Find the handler name of a module and check that it exists. The source is read, never run.


def _find_handler_name(entry: EntryFile, inputs: BuildInputs, source: bytes) -> str:
    """Return the export that the entry names; otherwise `handler`, otherwise the provider's default
    names."""
    names = (entry.export,) if entry.export else ("handler", *inputs.handlers)
    for is_there in (_has_certain_name, has_possible_name):
        for name in names:
            if is_there(source, name):
                return name
    raise _missing_handler_error(entry, names, source)


def _missing_handler_error(entry: EntryFile, names: tuple[str, ...], source: bytes) -> FabricError:
    shown = place(entry.workspace, entry.path)
    there = ", ".join(f"`{one}`" for one in _list_functions(source))
    return FabricError(
        Problem(
            "build/no-export",
            f"`{shown}` has no {' or '.join(f'`{name}`' for name in names)}",
            hint=(f"it has {there}; " if there else "")
            + "define the handler, or correct `entry`: `<module>.<export>`",
            where=Place(shown),
        )
    )
