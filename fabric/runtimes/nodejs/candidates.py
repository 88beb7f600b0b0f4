"""The paths that the resolvers of Node and of the bundler try for one specifier, in order."""

import os
import re
from collections.abc import Iterable, Iterator

from fabric.runtimes.nodejs import export_maps
from fabric.runtimes.nodejs.tsconfig import list_ancestors, package_name, read_jsonc
from fabric.runtimes.recorded_inputs import Kind, Probe

# The bundler's own defaults, handed to it explicitly so that both sides use one list.
EXTENSIONS = (".tsx", ".ts", ".jsx", ".js", ".css", ".json")
MAIN_FIELDS = ("main", "module")
_REWRITTEN = {
    ".js": (".ts", ".tsx"),
    ".jsx": (".ts", ".tsx"),
    ".mjs": (".mts",),
    ".cjs": (".cts",),
}
_SOURCE_OF = {
    ".ts": (".js", ".jsx"),
    ".tsx": (".js", ".jsx"),
    ".mts": (".mjs",),
    ".cts": (".cjs",),
}
NODE_MODULES = "node_modules"


def list_path_candidates(base: str) -> Iterator[str]:
    """Yield the candidates of a path: file, with an extension, with a rewritten extension,
    directory."""
    yield from _list_file_candidates(base)
    plain = re.split(r"[?#]", base)[0].rstrip("/")
    if plain != base:
        yield from _list_file_candidates(plain)
    yield from _list_folder_candidates(plain)


def _list_file_candidates(base: str) -> Iterator[str]:
    yield base
    for extension in EXTENSIONS:
        yield base + extension
    stem, extension = os.path.splitext(base)
    for other in _REWRITTEN.get(extension, ()):
        yield stem + other


def _list_folder_candidates(base: str) -> Iterator[str]:
    manifest = f"{base}/package.json"
    yield manifest
    document = read_jsonc(manifest)
    for field in MAIN_FIELDS:
        if isinstance(main := document.get(field), str):
            target = os.path.normpath(os.path.join(base, main))
            yield from _list_file_candidates(target)
            yield from _list_file_candidates(f"{target}/index")
    yield from _list_file_candidates(f"{base}/index")


def list_tried_paths(winner: str, paths: Iterable[str], probe: Probe) -> Iterator[str]:
    """Yield the tried paths up to the match, or all paths if there is no match."""
    for path in paths:
        yield path
        if path == winner:
            return
        if winner and probe.kind(path) is Kind.FILE and probe.real(path) == winner:
            return


def list_missing_folders(base: str, probe: Probe) -> Iterator[str]:
    """Yield the directories of a lookup without a result.

    A file in the place of one turns "not found" into an error.
    """
    folder = os.path.dirname(base)
    while probe.kind(folder) is not Kind.FOLDER:
        yield folder
        folder = os.path.dirname(folder)
    yield folder


def list_javascript_twins(winner: str) -> Iterator[str]:
    """Yield JavaScript paths that a manifest can name for a TypeScript source: they take precedence
    once they exist."""
    stem, extension = os.path.splitext(winner)
    return (stem + other for other in _SOURCE_OF.get(extension, ()))


def list_package_candidates(
    folder: str, specifier: str, winner: str, probe: Probe
) -> Iterator[str]:
    """Yield the node_modules candidates of parent directories, up to the package that matched."""
    for parent in list_ancestors(folder):
        if os.path.basename(parent) == NODE_MODULES:
            continue
        modules = os.path.join(parent, NODE_MODULES)
        if probe.kind(modules) is not Kind.FOLDER:
            yield modules
            continue
        package = f"{modules}/{package_name(specifier)}"
        yield from _list_module_candidates(modules, package, specifier, probe)
        if winner and winner.startswith(os.path.realpath(package) + os.sep):
            return


def _list_module_candidates(
    modules: str, package: str, specifier: str, probe: Probe
) -> Iterator[str]:
    yield f"{package}/package.json"
    target = f"{modules}/{specifier}"
    if probe.kind(package) is not Kind.FOLDER:
        yield from _list_file_candidates(target)
        yield from list_missing_folders(f"{package}/", probe)
    elif is_own(package) or not is_versioned(package):
        yield from list_path_candidates(target)
        yield from list_exported_files(package, specifier)
        yield package


def is_own(package: str) -> bool:
    """Return whether a package is linked from the project, so that its files are recorded
    separately."""
    return NODE_MODULES not in os.path.realpath(package).split(os.sep)


def is_versioned(package: str) -> bool:
    """Return whether the manifest represents all files of a package, because they change only with
    its version."""
    return bool(read_jsonc(f"{package}/package.json").get("version"))


def list_import_targets(folder: str, specifier: str) -> Iterator[str]:
    """Yield the targets of a `#name` in a manifest's `imports`: paths or package names."""
    manifest = _find_nearest_manifest(folder)
    above = os.path.dirname(manifest)
    found = (
        export_maps.list_targets(read_jsonc(manifest).get("imports"), specifier) if manifest else ()
    )
    yield from sorted({re.sub(r"^\./", f"{above}/", leaf) for leaf in found})


def find_own_package(folder: str) -> tuple[str, str]:
    """Return the package that contains a directory, and the package's own name for itself."""
    manifest = _find_nearest_manifest(folder)
    name = read_jsonc(manifest).get("name") if manifest else ""
    return os.path.dirname(manifest), name if isinstance(name, str) else ""


def list_exported_files(package: str, specifier: str) -> Iterator[str]:
    """Yield the files that a package's `exports` name for a specifier, whether they exist or
    not."""
    subpath = export_maps.find_subpath(specifier, package_name(specifier))
    document = read_jsonc(f"{package}/package.json")
    for target in export_maps.list_targets(document.get("exports"), subpath):
        yield from _list_file_candidates(os.path.normpath(f"{package}/{target}"))


def _find_nearest_manifest(folder: str) -> str:
    manifests = (os.path.join(parent, "package.json") for parent in list_ancestors(folder))
    return next(filter(os.path.isfile, manifests), "")
