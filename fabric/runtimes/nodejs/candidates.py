"""The paths that Node's and the bundler's resolver try for one specifier, in their order."""

import os
import re
from collections.abc import Iterable, Iterator

from fabric.runtimes.nodejs import export_maps
from fabric.runtimes.nodejs.tsconfig import ancestors, package_name, read_jsonc
from fabric.runtimes.seen import Kind, Probe

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


def path_candidates(base: str) -> Iterator[str]:
    """A path as a specifier may write it: file, with an extension, rewritten, folder."""
    yield from _file_candidates(base)
    plain = re.split(r"[?#]", base)[0].rstrip("/")
    if plain != base:
        yield from _file_candidates(plain)
    yield from _folder_candidates(plain)


def _file_candidates(base: str) -> Iterator[str]:
    yield base
    for extension in EXTENSIONS:
        yield base + extension
    stem, extension = os.path.splitext(base)
    for other in _REWRITTEN.get(extension, ()):
        yield stem + other


def _folder_candidates(base: str) -> Iterator[str]:
    manifest = f"{base}/package.json"
    yield manifest
    document = read_jsonc(manifest)
    for field in MAIN_FIELDS:
        if isinstance(main := document.get(field), str):
            target = os.path.normpath(os.path.join(base, main))
            yield from _file_candidates(target)
            yield from _file_candidates(f"{target}/index")
    yield from _file_candidates(f"{base}/index")


def up_to(winner: str, paths: Iterable[str], probe: Probe) -> Iterator[str]:
    """What was tried, up to the winner; all of it where none of them is the winner."""
    for path in paths:
        yield path
        if path == winner:
            return
        if winner and probe.kind(path) is Kind.FILE and probe.real(path) == winner:
            return


def ways_to_nothing(base: str, probe: Probe) -> Iterator[str]:
    """The folders that a look-up without a result would have gone through.

    A file in the place of one turns "not found" into an error.
    """
    folder = os.path.dirname(base)
    while probe.kind(folder) is not Kind.FOLDER:
        yield folder
        folder = os.path.dirname(folder)
    yield folder


def javascript_twins(winner: str) -> Iterator[str]:
    """What a manifest may name for a TypeScript source: it wins as soon as it exists."""
    stem, extension = os.path.splitext(winner)
    return (stem + other for other in _SOURCE_OF.get(extension, ()))


def package_candidates(folder: str, specifier: str, winner: str, probe: Probe) -> Iterator[str]:
    """node_modules on the way up, until the package that won."""
    for parent in ancestors(folder):
        if os.path.basename(parent) == NODE_MODULES:
            continue
        modules = os.path.join(parent, NODE_MODULES)
        if probe.kind(modules) is not Kind.FOLDER:
            yield modules
            continue
        package = f"{modules}/{package_name(specifier)}"
        yield from _in_modules(modules, package, specifier, probe)
        if winner and winner.startswith(os.path.realpath(package) + os.sep):
            return


def _in_modules(modules: str, package: str, specifier: str, probe: Probe) -> Iterator[str]:
    yield f"{package}/package.json"
    target = f"{modules}/{specifier}"
    if probe.kind(package) is not Kind.FOLDER:
        yield from _file_candidates(target)
        yield from ways_to_nothing(f"{package}/", probe)
    elif is_own(package) or not is_versioned(package):
        yield from path_candidates(target)
        yield from exported(package, specifier)
        yield package


def is_own(package: str) -> bool:
    """Whether a package is linked in from the project: its files count one by one."""
    return NODE_MODULES not in os.path.realpath(package).split(os.sep)


def is_versioned(package: str) -> bool:
    """Whether the manifest stands for all of a package's files: they change with its version."""
    return bool(read_jsonc(f"{package}/package.json").get("version"))


def imports_targets(folder: str, specifier: str) -> Iterator[str]:
    """The targets that a manifest's `imports` has for a `#name`: paths, or names of packages."""
    manifest = _nearest_manifest(folder)
    above = os.path.dirname(manifest)
    found = export_maps.targets(read_jsonc(manifest).get("imports"), specifier) if manifest else ()
    yield from sorted({re.sub(r"^\./", f"{above}/", leaf) for leaf in found})


def own_package(folder: str) -> tuple[str, str]:
    """The package that a folder is a part of, and the name that it may call itself by."""
    manifest = _nearest_manifest(folder)
    name = read_jsonc(manifest).get("name") if manifest else ""
    return os.path.dirname(manifest), name if isinstance(name, str) else ""


def exported(package: str, specifier: str) -> Iterator[str]:
    """The files that a package's `exports` name for a specifier, there or not."""
    subpath = export_maps.subpath_of(specifier, package_name(specifier))
    document = read_jsonc(f"{package}/package.json")
    for target in export_maps.targets(document.get("exports"), subpath):
        yield from _file_candidates(os.path.normpath(f"{package}/{target}"))


def _nearest_manifest(folder: str) -> str:
    manifests = (os.path.join(parent, "package.json") for parent in ancestors(folder))
    return next(filter(os.path.isfile, manifests), "")
