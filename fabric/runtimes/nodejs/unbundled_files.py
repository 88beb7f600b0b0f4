"""Files that bundled packages need beside the bundle: native modules, and data files.

A bundle lacks them and fails only at run time; as external packages they are packed.
"""

import functools
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from fabric.model.problems import Problem
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.entry import EntryFile
from fabric.runtimes.globs import is_match
from fabric.runtimes.nodejs.bundler import Module
from fabric.runtimes.nodejs.candidates import NODE_MODULES
from fabric.runtimes.nodejs.lookups import package_folder
from fabric.runtimes.nodejs.packages import find_manifest
from fabric.runtimes.nodejs.tsconfig import read_jsonc
from fabric.system.files.disk import read_bytes

# Packages that find or build native modules for others.
_LOADERS = frozenset(
    {"bindings", "node-gyp-build", "node-gyp-build-optional-packages", "prebuild-install"}
    | {"node-pre-gyp", "@mapbox/node-pre-gyp", "@discordjs/node-pre-gyp", "node-addon-api"}
)
_NATIVE_FIELDS = ("gypfile", "binary", "napi")
# Generated code in `node_modules`, and the package that loads it.
_GENERATED = {".prisma": "@prisma/client"}
_ENGINE = re.compile(r"\.node$")
# A path that begins at the module's own folder: `__dirname + "/x"`, `join(__dirname, "x", "y")`,
# `new URL("./x", import.meta.url)`.
_BESIDE = re.compile(
    rb"__dirname\s*(?:\+\s*(?P<added>[\"'`][^\"'`$\n]+[\"'`])|,(?P<joined>[^()]{1,120})\))"
    rb"|new\s+URL\s*\(\s*(?P<url>[\"'`][^\"'`$\n]+[\"'`])\s*,\s*import\.meta\.url"
)
_READS = re.compile(
    rb"\b(?:readFile|createReadStream|readdir|open|sendFile|readFileSync|readdirSync|openSync)\s*\("
)
# Packages with workers often work without them.
_STARTS = re.compile(rb"\bnew\s+Worker\s*\(")
_TEXT = re.compile(r"[\"'`]([^\"'`]+)[\"'`]")
# What is left of such paths in a bundle; CommonJS has no `import.meta`.
_PLACES = (b"__dirname", b"import.meta", b"import_meta")
_BANNER_END = b"globalThis.__dirname ??= fabricFolder(fabricPath(import.meta.url));"


class _LeftBehind(Struct, frozen=True):
    """The reason why a package does not work in a bundle."""

    package: str
    why: str


def find_bundle_problems(
    inputs: BuildInputs, modules: Iterable[Module], code: bytes
) -> tuple[Problem, ...]:
    """Return a warning for each bundled package that needs more than its code."""
    bundled = tuple(modules)
    found = {
        one.package: one
        for one in (*_find_reading_packages(bundled, code), *_find_native_packages(bundled))
    }
    return tuple(_build_warning(inputs, found[name]) for name in sorted(found))


def find_unpacked_files(
    entry: EntryFile, inputs: BuildInputs, modules: Iterable[Module]
) -> Iterator[Problem]:
    """Find files that modules of the project name beside themselves, and the archive lacks."""
    paths = {module.path for module in modules}
    for path in sorted(one for one in paths if not package_folder(one)):
        file = _find_read_file(path, paths)
        name = os.path.relpath(file, entry.root) if file else ".."
        if name.startswith("..") or any(is_match(one, name) for one in inputs.include):
            continue
        hint = f'add to the function in fabric.yml: `include: ["{name}"]`'
        if os.path.dirname(path) != os.path.dirname(entry.path):
            hint = f"move it to the directory of `{entry.name}`, where the bundle is, and {hint}"
        module = os.path.relpath(path, entry.root)
        message = f"`{module}` uses the file `{name}`, which the archive does not contain"
        yield Problem("build/not-packed", f"function `{inputs.function}`: {message}", hint)


def _build_warning(inputs: BuildInputs, left: _LeftBehind) -> Problem:
    hint = f'add to fabric.yml: `build: {{external: ["{left.package}"]}}`'
    if any(name.startswith("cloudflare:") for name in inputs.provided):
        hint = "use another package, or deploy to another provider: Workers run only bundles"
    message = f"function `{inputs.function}`: package `{left.package}` {left.why}"
    return Problem("build/not-in-bundle", message, hint=hint)


def _find_native_packages(modules: Iterable[Module]) -> Iterator[_LeftBehind]:
    why = "loads a native module, which a bundle does not contain"
    folders = dict.fromkeys(package_folder(module.path) for module in modules)
    for folder in filter(None, folders):
        is_generated = os.path.basename(folder) in _GENERATED
        manifest = f"{folder}/package.json"
        if _has_engine(folder) if is_generated else _is_native(folder, _read_file_state(manifest)):
            yield _LeftBehind(_name_of(folder), why)


def _name_of(folder: str) -> str:
    name = folder.rpartition(f"/{NODE_MODULES}/")[2]
    return _GENERATED.get(name, name)


def _has_engine(folder: str) -> bool:
    inner = os.path.join(folder, "client")
    return os.path.isdir(inner) and any(map(_ENGINE.search, os.listdir(inner)))


_FileState: TypeAlias = tuple[int, int]


def _read_file_state(path: str) -> _FileState:
    """Return values that change with a file: functions of a service bundle the same packages."""
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


@functools.lru_cache(4096)
def _is_native(folder: str, state: _FileState) -> bool:
    del state
    document = read_jsonc(os.path.join(folder, "package.json"))
    needs = document.get("dependencies")
    return (
        any(document.get(field) for field in _NATIVE_FIELDS)
        or (isinstance(needs, dict) and not _LOADERS.isdisjoint(needs))
        or os.path.isfile(os.path.join(folder, "binding.gyp"))
        or any(map(_is_for_one_platform, _list_optional_manifests(folder, document)))
    )


def _list_optional_manifests(folder: str, document: Mapping[str, Any]) -> Iterator[str]:
    names = document.get("optionalDependencies")
    for name in names if isinstance(names, dict) else ():
        if manifest := find_manifest(os.path.realpath(folder), name):
            yield manifest


def _is_for_one_platform(manifest: str) -> bool:
    document = read_jsonc(manifest)
    return bool(document.get("os")) and bool(document.get("cpu"))


def _find_reading_packages(modules: Iterable[Module], code: bytes) -> Iterator[_LeftBehind]:
    """Find packages that read an existing file outside the bundle."""
    own = code.partition(_BANNER_END)[2] or code
    if not any(word in own for word in _PLACES):
        return
    paths = {module.path for module in modules}
    for path in sorted(paths):
        folder = package_folder(path)
        file = _find_read_file(path, paths) if folder else ""
        if folder and file:
            why = (
                f"reads its file `{os.path.relpath(file, folder)}`, which a bundle does not contain"
            )
            yield _LeftBehind(_name_of(folder), why)


def _find_read_file(path: str, bundled: set[str]) -> str:
    named = (
        file for file in _list_named_files(path, _read_file_state(path)) if file not in bundled
    )
    return next(filter(os.path.exists, named), "")


@functools.lru_cache(4096)
def _list_named_files(path: str, state: _FileState) -> tuple[str, ...]:
    """List the paths below its own directory that a module names, if it reads files at all."""
    del state
    try:
        text = read_bytes(path)
    except OSError:
        return ()
    is_read = _READS.search(text) or (not package_folder(path) and _STARTS.search(text))
    if not is_read:
        return ()
    return tuple(_extract_paths(os.path.dirname(path), text))


def _extract_paths(folder: str, text: bytes) -> Iterator[str]:
    for match in _BESIDE.finditer(text):
        named = match["added"] or match["joined"] or match["url"]
        parts = _TEXT.findall(named.decode("utf-8", "replace"))
        if parts and re.search(r"\w/?$", parts[-1]):  # `..` and `/` are only steps
            yield os.path.normpath("/".join((folder, *parts)))
