"""Recorded inputs from a bundler metafile: files that were read, and paths where a new file would
take precedence.

The metafile contains results, not lookups. So the lookups are repeated from each import's
specifier. Recording too much costs a build; recording too little would give a stale archive.
"""

import os
import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from fabric.runtimes.contract import InputTrace, Listing
from fabric.runtimes.entry import EntryFile
from fabric.runtimes.globs import NOTHING_PRUNED, list_files
from fabric.runtimes.nodejs import candidates
from fabric.runtimes.nodejs.bundler import Import, Module
from fabric.runtimes.nodejs.candidates import NODE_MODULES, list_tried_paths
from fabric.runtimes.nodejs.package_rows import (
    InstalledPackage,
    list_patch_folders,
    list_patches,
    read_package,
    record_rows,
)
from fabric.runtimes.nodejs.toolchain import LOCK_FILES, list_upwards
from fabric.runtimes.nodejs.tsconfig import TsSettings, package_name, read_settings
from fabric.runtimes.recorded_inputs import Kind, place, record_tried

_TSCONFIGS = ("tsconfig.json", "jsconfig.json")
_MANIFESTS = ("package.json",)
_PLUG_AND_PLAY = (".pnp.data.json", ".pnp.cjs", ".pnp.js")
_STYLES = ".css"
_URL = re.compile(r"(node|https?|data|file):")


def look_ups(entry: EntryFile, modules: Iterable[Module], tsconfig: str = "") -> InputTrace:
    """Record everything that decided a bundle, as paths of the workspace. `tsconfig` is the
    configured one, which replaces the ones found."""
    modules = tuple(modules)
    trail = _Trail(entry, tsconfig and os.path.normpath(os.path.join(entry.root, tsconfig)))
    paths = set(entry.looked_at)
    listings = list[Listing]()
    for module in modules:
        paths.update(trail.of_module(module))
        for item in module.imports:
            paths.update(trail.of_import(module.path, item))
            searched = _record_glob(entry.workspace, module.path, item.specifier)
            listings += [searched] if searched else []
    listings += [_record_all_below(entry.workspace, package) for package in trail.unversioned]
    listings += list_patches(entry, trail.packages)
    paths.update(list_patch_folders(entry, trail.packages))
    listed = {path for listing in listings for path in _list_found(entry.workspace, listing)}
    tried = record_tried(entry.workspace, paths | listed, entry.probe)
    seen = replace(tried, listings=tuple(dict.fromkeys(listings)))
    whole = listed.union(entry.looked_at, (module.path for module in modules))
    return record_rows(entry, seen, trail.packages, whole)


def _record_all_below(workspace: str, package: str) -> Listing:
    rules = (NOTHING_PRUNED,)
    return Listing(place(workspace, package), "**", list_files(package, "**", rules), rules)


def _list_found(workspace: str, listing: Listing) -> Iterator[str]:
    folder = os.path.normpath(os.path.join(workspace, listing.folder))
    return (f"{folder}/{name}" for name in listing.names)


class _Trail:
    """The lookups of one build; each directory's settings and each package are resolved once."""

    def __init__(self, entry: EntryFile, tsconfig: str) -> None:
        self._tsconfig = tsconfig
        self._probe = entry.probe
        self._workspace = entry.workspace
        self._settings: dict[str, TsSettings] = {}
        self._packages: dict[str, tuple[str, str]] = {}
        self._chains: dict[str, TsSettings] = {}
        self._done: set[tuple[str, str]] = set()
        # The installed packages of the bundle, by directory.
        self.packages: dict[str, InstalledPackage] = {}

    @property
    def unversioned(self) -> tuple[str, ...]:
        """Packages without a version so far: only their files show a change."""
        return tuple(folder for folder, one in self.packages.items() if not one.version)

    def of_module(self, module: Module) -> Iterable[str]:
        """Yield the module itself, with the manifests and settings of its directory."""
        if (package := package_folder(module.path)) is not None:
            if package not in self.packages:
                self.packages[package] = read_package(package)
            locks = self._list_new_names(find_modules_owner(module.path), LOCK_FILES)
            return (f"{package}/package.json", *locks)
        folder = os.path.dirname(module.path)
        # Apart: the one that is found first hides none of the other kind.
        manifests = (
            *self._list_new_names(folder, _MANIFESTS),
            *self._list_new_names(folder, _PLUG_AND_PLAY),
        )
        return (module.path, *manifests, *self._find_settings(folder).tried)

    def of_import(self, importer: str, item: Import) -> Iterator[str]:
        """Yield the paths tried for one specifier before the match."""
        folder = os.path.dirname(importer)
        if package_folder(importer) is None:
            for base in self._list_bases(importer, item.specifier):
                yield from list_tried_paths(
                    item.path, candidates.list_path_candidates(base), self._probe
                )
                if not item.path:
                    yield from candidates.list_missing_folders(base, self._probe)
            if not _is_path(item.specifier) and package_folder(item.path) is None:
                yield from candidates.list_javascript_twins(item.path)
        for name in self._package_names(folder, item.specifier):
            yield from self._package(folder, name, item.path)
            if package_folder(importer) is None:
                yield from self._resolve_own_name(folder, name)

    def _list_bases(self, importer: str, specifier: str) -> Iterator[str]:
        """Yield the possible base paths of a specifier: itself, by `paths` and `baseUrl`, by
        `imports`."""
        folder = os.path.dirname(importer)
        # To a stylesheet, `x.css` is a file beside it before it is a package.
        if _is_path(specifier) or importer.endswith(_STYLES):
            yield os.path.normpath(os.path.join(folder, specifier))
        if specifier.startswith("."):
            return
        for alias in self._find_settings(folder).aliases:
            yield from alias.candidates(specifier)
        if specifier.startswith("#"):
            targets = candidates.list_import_targets(folder, specifier)
            yield from (os.path.normpath(path) for path in targets if path.startswith("/"))

    def _package_names(self, folder: str, specifier: str) -> Iterator[str]:
        """Yield the packages that a specifier can mean."""
        if specifier.startswith("#"):
            targets = candidates.list_import_targets(folder, specifier)
            yield from (name for name in targets if not name.startswith("/"))
        elif not _is_path(specifier) and not _URL.match(specifier):
            yield specifier

    def _package(self, folder: str, specifier: str, winner: str) -> Iterator[str]:
        if (folder, specifier) not in self._done:
            self._done.add((folder, specifier))
            yield from candidates.list_package_candidates(folder, specifier, winner, self._probe)

    def _resolve_own_name(self, folder: str, specifier: str) -> Iterator[str]:
        """Yield targets of a package's own name from inside it."""
        if folder not in self._packages:
            self._packages[folder] = candidates.find_own_package(folder)
        package, name = self._packages[folder]
        if name and package_name(specifier) == name:
            yield from candidates.list_exported_files(package, specifier)

    def _find_settings(self, folder: str) -> TsSettings:
        if self._tsconfig:
            return self._read_chain(self._tsconfig)
        if folder not in self._settings:
            paths = list_upwards(self._workspace, folder, _TSCONFIGS, self._probe)
            found = next((path for path in paths if self._probe.kind(path) is Kind.FILE), None)
            chain = self._read_chain(found) if found else TsSettings()
            self._settings[folder] = TsSettings((*paths, *chain.tried), chain.aliases)
        return self._settings[folder]

    def _read_chain(self, path: str) -> TsSettings:
        if path not in self._chains:
            self._chains[path] = read_settings(path)
        return self._chains[path]

    def _list_new_names(self, folder: str, names: tuple[str, ...]) -> tuple[str, ...]:
        """Yield those names in parent directories, or nothing if done before."""
        if (folder, names[0]) in self._done:
            return ()
        self._done.add((folder, names[0]))
        return list_upwards(self._workspace, folder, names, self._probe)


def package_folder(path: str) -> str | None:
    """Return the package below node_modules that contains a path; None for the project's own
    files."""
    before, found, after = path.rpartition(f"/{NODE_MODULES}/")
    return f"{before}/{NODE_MODULES}/{package_name(after)}" if found else None


def find_modules_owner(path: str) -> str:
    """Return the directory of the outermost node_modules that contains a path."""
    return path.partition(f"/{NODE_MODULES}/")[0]


def _is_path(specifier: str) -> bool:
    return specifier.startswith((".", "/"))


def _record_glob(workspace: str, importer: str, specifier: str) -> Listing | None:
    """Record an import with a computed path, a search (`./pages/**/*.js`) through all files
    below."""
    if not specifier.startswith(".") or "*" not in specifier:
        return None
    base = os.path.normpath(os.path.join(os.path.dirname(importer), specifier))
    folder = base.partition("*")[0].rpartition("/")[0]
    # Nothing but `*` is a wildcard to the bundler: brackets are what some frameworks name files by.
    pattern = base[len(folder) + 1 :].replace("[", "?")
    rules = (NOTHING_PRUNED,)
    names = list_files(folder or "/", pattern, rules)
    return Listing(place(workspace, folder or "/"), pattern, names, rules)
