"""Plain JavaScript without a bundler: the imported files, unchanged and in their places."""

import os
import re
from collections.abc import Iterator

from msgspec import Struct

from fabric.model.problems import FabricError, Place, Problem
from fabric.runtimes.contract import Built, BuiltFile
from fabric.runtimes.entry import EntryFile, unreadable_file_error
from fabric.runtimes.nodejs import packages
from fabric.runtimes.nodejs.bundler import Import, Module
from fabric.runtimes.nodejs.lookups import look_ups, package_folder
from fabric.runtimes.nodejs.toolchain import CLOSURE
from fabric.runtimes.recorded_inputs import place
from fabric.system.files.disk import read_bytes

_TYPESCRIPT = (".ts", ".tsx", ".mts", ".cts", ".jsx")
_EXTENSIONS = ("", ".js", ".json", "/index.js", "/index.json")
# Comments may hide or invent an import; too many imports are harmless, unresolved ones are left.
_IMPORT = re.compile(
    r"""(?:\bimport\s*\(\s*|\brequire\s*\(\s*|\bfrom\s*|\bimport\s+)(["'])([^"'\n]+)\1"""
)


class _Source(Struct, frozen=True):
    module: Module
    content: bytes


def build(entry: EntryFile, reason: FabricError) -> Built:
    """Collect the import closure of one entry. TypeScript needs the missing bundler and fails."""
    sources = _follow(entry, reason)
    modules = [source.module for source in sources]
    vendored = packages.collect(entry.root, modules)
    own = tuple(
        BuiltFile(_require_inside(entry, item.module.path), item.content) for item in sources
    )
    return Built(
        (*own, *vendored.files),
        look_ups(entry, [*modules, *vendored.modules]),
        (_no_bundler_problem(entry, reason),),
        handler=f"{entry.module}.{entry.export or 'handler'}",
        toolchain=CLOSURE,
    )


def _follow(entry: EntryFile, reason: FabricError) -> list[_Source]:
    sources: dict[str, _Source] = {}
    waiting = [entry.path]
    while waiting:
        path = waiting.pop()
        if path in sources:
            continue
        if path.endswith(_TYPESCRIPT):
            raise reason
        sources[path] = source = _read(entry, path)
        found = [item.path for item in source.module.imports if item.path]
        waiting += [path for path in found if package_folder(path) is None]
    return list(sources.values())


def _read(entry: EntryFile, path: str) -> _Source:
    try:
        content = read_bytes(path)
    except OSError as error:
        raise unreadable_file_error(place(entry.workspace, path), str(error.strerror)) from error
    code = content.decode(errors="replace") if not path.endswith(".json") else ""
    names = dict.fromkeys(match[2] for match in _IMPORT.finditer(code))
    return _Source(Module(path, tuple(_resolve(path, name) for name in names)), content)


def _resolve(importer: str, name: str) -> Import:
    folder = os.path.dirname(importer)
    if name.startswith((".", "/")):
        base = os.path.normpath(os.path.join(folder, name))
        return Import(name, next(_find_files(base), ""))
    return Import(name, packages.find_manifest(folder, name))


def _find_files(base: str) -> Iterator[str]:
    candidates = (base + extension for extension in (*_EXTENSIONS, *_TYPESCRIPT))
    return (path for path in candidates if os.path.isfile(path))


def _require_inside(entry: EntryFile, path: str) -> str:
    if not path.startswith(entry.root + os.sep):
        raise FabricError(
            Problem(
                "build/failed",
                f"`{place(entry.workspace, path)}` is outside the service directory, which "
                "requires a bundler",
                hint="add `esbuild` to devDependencies of the project",
                where=Place(place(entry.workspace, path)),
            )
        )
    return path[len(entry.root) + 1 :]


def _no_bundler_problem(entry: EntryFile, reason: FabricError) -> Problem:
    return Problem(
        "runtime/not-bundled",
        f"`{entry.name}` is packaged without bundling, with the packages it needs: "
        f"{reason.first.message}",
        hint=reason.first.hint,
    )
