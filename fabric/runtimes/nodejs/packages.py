"""The node_modules packages of unbundled code, with all their dependencies."""

import os
from collections.abc import Iterable, Iterator

from msgspec import Struct

from fabric.runtimes.contract import BuiltFile
from fabric.runtimes.nodejs.bundler import Import, Module
from fabric.runtimes.nodejs.candidates import NODE_MODULES
from fabric.runtimes.nodejs.tsconfig import list_ancestors, package_name, read_jsonc
from fabric.system.files.disk import read_bytes


class Packages(Struct, frozen=True):
    """Collected packages."""

    files: tuple[BuiltFile, ...]
    # The manifests, with one import per dependency.
    modules: tuple[Module, ...]


def collect(root: str, modules: Iterable[Module]) -> Packages:
    """Collect the packages that the modules import, with their dependencies."""
    found: dict[str, Module] = {}
    waiting = [item.path for module in modules for item in module.imports]
    waiting = [path for path in waiting if path.endswith("/package.json")]
    while waiting:
        manifest = waiting.pop()
        if manifest not in found:
            found[manifest] = module = _build_module(manifest)
            waiting += [item.path for item in module.imports if item.path]
    files = {file.path: file for path in sorted(found) for file in _read_package_files(root, path)}
    return Packages(tuple(files.values()), tuple(found.values()))


def find_manifest(folder: str, specifier: str) -> str:
    """Find a package like Node does; empty for built-in modules and missing packages."""
    for parent in list_ancestors(folder):
        path = os.path.join(parent, NODE_MODULES, package_name(specifier), "package.json")
        if os.path.isfile(path):
            return path
    return ""


def _build_module(manifest: str) -> Module:
    document = read_jsonc(manifest)
    folder = os.path.dirname(manifest)
    names = sorted(
        {*document.get("dependencies", {}), *document.get("optionalDependencies", {})}
        | {*document.get("peerDependencies", {})}
    )
    return Module(manifest, tuple(Import(name, find_manifest(folder, name)) for name in names))


def _read_package_files(root: str, manifest: str) -> Iterator[BuiltFile]:
    """Yield a package's own files. Packages in its node_modules are separate packages."""
    package = os.path.dirname(manifest)
    base = root if package.startswith(root + os.sep) else package.partition(f"/{NODE_MODULES}/")[0]
    for parent, folders, names in os.walk(package):
        folders[:] = sorted(name for name in folders if name != NODE_MODULES)
        for name in sorted(names):
            path = os.path.join(parent, name)
            yield BuiltFile(os.path.relpath(path, base), read_bytes(path))
