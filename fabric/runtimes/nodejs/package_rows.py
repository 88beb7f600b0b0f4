"""The rows and patches of a bundle's packages: which locks and manifests count only in part."""

import os
import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from fabric.runtimes.contract import FileRows, InputTrace, Listing
from fabric.runtimes.entry import EntryFile
from fabric.runtimes.file_rows import FIELDS_ROW, select_package
from fabric.runtimes.globs import NOTHING_PRUNED, list_files
from fabric.runtimes.nodejs.candidates import NODE_MODULES
from fabric.runtimes.nodejs.toolchain import LOCK_FILES, is_within_workspace
from fabric.runtimes.nodejs.tsconfig import list_ancestors, read_jsonc
from fabric.runtimes.recorded_inputs import Kind, place

_MANIFEST = "package.json"
_LOCK_NAMES = frozenset(map(os.path.basename, LOCK_FILES))
_PATCHES = "patches"
_ALL = (NOTHING_PRUNED,)


class InstalledPackage(Struct, frozen=True):
    """A package below node_modules, as its manifest names it."""

    name: str
    version: str


def read_package(folder: str) -> InstalledPackage:
    document = read_jsonc(f"{folder}/{_MANIFEST}")
    return InstalledPackage(str(document.get("name") or ""), str(document.get("version") or ""))


Packages: TypeAlias = Mapping[str, InstalledPackage]


def record_rows(
    entry: EntryFile, seen: InputTrace, packages: Packages, whole: AbstractSet[str]
) -> InputTrace:
    """Record locks by the rows of these packages, and the project's own manifests by the fields
    that the bundler reads. `whole` files count wholly, because the bundle contains them."""
    rows = dict[str, tuple[str, ...]]()
    for file in seen.files:
        name = file.rpartition("/")[2]
        if name != _MANIFEST and name not in _LOCK_NAMES:
            continue
        path = os.path.normpath(os.path.join(entry.workspace, file))
        if path in whole:
            continue
        if name != _MANIFEST:
            selected = tuple(sorted(set(_select_rows(_find_lock_folder(path), packages))))
            rows.update({file: selected} if selected else {})
        elif _is_own_file(entry, path):
            rows[file] = (FIELDS_ROW,)
    return replace(
        seen,
        files=tuple(file for file in seen.files if file not in rows),
        rows=tuple(FileRows(file, rows[file]) for file in sorted(rows)),
    )


def _is_own_file(entry: EntryFile, path: str) -> bool:
    """Return whether a file is of the project, also if a package manager linked its directory."""
    return NODE_MODULES not in entry.probe.real(path).split("/")


def _find_lock_folder(lock: str) -> str:
    """Return the directory that a lock describes: the one above for npm's lock in node_modules."""
    folder = os.path.dirname(lock)
    return os.path.dirname(folder) if os.path.basename(folder) == NODE_MODULES else folder


def _select_rows(lock_folder: str, packages: Packages) -> Iterator[str]:
    """Select the rows of packages below a directory, and of the packages that bundle them."""
    prefix = f"{lock_folder.rstrip('/')}/"
    for folder, package in packages.items():
        if folder.startswith(prefix):
            place_ = folder[len(prefix) :]
            yield select_package(place_, package.name, package.version)
            yield from (_select_outer(prefix, one) for one in _list_outer_packages(place_))


def _list_outer_packages(path: str) -> Iterator[str]:
    """Yield the packages around a nested one. Directories of package managers are not packages."""
    while f"/{NODE_MODULES}/" in path:
        path = path.rpartition(f"/{NODE_MODULES}/")[0]
        name = path.rpartition(f"{NODE_MODULES}/")[2]
        if NODE_MODULES in path.split("/") and not name.startswith("."):
            yield path


def _select_outer(prefix: str, path: str) -> str:
    package = read_package(prefix + path)
    return select_package(path, package.name, package.version)


def list_patch_folders(entry: EntryFile, packages: Packages) -> tuple[str, ...]:
    """List the directories where patches of these packages are, or would be."""
    owners = {folder.partition(f"/{NODE_MODULES}/")[0] for folder in packages}
    return tuple(sorted({path for one in owners for path in _list_patch_paths(entry, one)}))


def _list_patch_paths(entry: EntryFile, owner: str) -> Iterator[str]:
    for folder in list_ancestors(owner):
        if folder == owner or is_within_workspace(entry.workspace, folder):
            yield os.path.join(folder, _PATCHES)


def list_patches(entry: EntryFile, packages: Packages) -> Iterator[Listing]:
    """Record the patches of these packages, such as `patches/left-pad+1.3.0.patch`: they change
    files without a new version. File names can have more before and after this part."""
    for folder in list_patch_folders(entry, packages):
        is_there = entry.probe.kind(folder) is Kind.FOLDER
        for pattern in sorted(set(map(_build_pattern, packages.values()))) if is_there else ():
            found = list_files(folder, pattern, _ALL)
            yield Listing(place(entry.workspace, folder), pattern, found, _ALL)


def _build_pattern(package: InstalledPackage) -> str:
    """Build the pattern of the last part of a name, because tools write scopes in several ways."""
    name = f"{package.name.rpartition('/')[2]}?{package.version}"
    return f"*{re.sub(r'[^A-Za-z0-9_.+-]', '?', name)}*.patch"
