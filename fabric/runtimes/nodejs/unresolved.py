"""Hints for imports that the bundler cannot resolve, from the files in the project."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from fabric.runtimes.entry import EntryFile
from fabric.runtimes.nodejs import export_maps
from fabric.runtimes.nodejs.candidates import MAIN_FIELDS, is_own, list_path_candidates
from fabric.runtimes.nodejs.packages import find_manifest
from fabric.runtimes.nodejs.refusals import WORKERS_ONLY, format_workers_hint
from fabric.runtimes.nodejs.toolchain import is_within_workspace, list_upwards
from fabric.runtimes.nodejs.tsconfig import list_ancestors, package_name, read_jsonc, read_settings
from fabric.runtimes.recorded_inputs import place
from fabric.system.files.disk import read_bytes

_UNRESOLVED = re.compile(r'Could not resolve "(?![./#])([^"]+)"')
# Members in folders below: no exclusions, no way out, no search through node_modules.
_MEMBER = re.compile(r"(?:\./)?(?!\.)[\w@*.-]+(?:/(?!\.\.|\*\*)[\w@*.-]+)*/?")
_PNPM_MEMBER = re.compile(r"^\s*-\s*[\"']?([^\"'\s#]+)", re.MULTILINE)
_TSCONFIGS = ("tsconfig.json", "jsconfig.json")


class _PackageImport(Struct, frozen=True):
    """One import of a file in `folder`."""

    entry: EntryFile
    # The configured file, or empty.
    tsconfig: str
    folder: str
    specifier: str

    @property
    def package(self) -> str:
        return package_name(self.specifier)


def import_hint(entry: EntryFile, tsconfig: str, error: Mapping[str, Any]) -> str:
    """Return the hint for an unresolved import of a package; empty for another error."""
    found = _UNRESOLVED.search(error["text"])
    if found is None:
        return ""
    if found[1].startswith(WORKERS_ONLY):
        return format_workers_hint(found[1])
    spot = error.get("place")
    path = os.path.normpath(os.path.join(entry.root, spot["file"])) if spot else entry.path
    wanted = _PackageImport(entry, tsconfig, os.path.dirname(path), found[1])
    return (
        _format_alias_hint(wanted) or _format_installed_hint(wanted) or _format_missing_hint(wanted)
    )


def _format_missing_hint(wanted: _PackageImport) -> str:
    if folder := _find_member(wanted):
        return (
            f"add `{wanted.package}`, the workspace package in `{folder}`, to the dependencies "
            "and run the package manager's install: it is not linked in node_modules"
        )
    return f"install `{wanted.package}`, or add it to `build.external`"


def _find_member(wanted: _PackageImport) -> str:
    """Find the directory of a workspace member with this name; empty if there is none."""
    workspace = Path(wanted.entry.workspace)
    for folder in list_ancestors(wanted.folder):
        if not is_within_workspace(wanted.entry.workspace, folder):
            break
        for pattern in _list_member_patterns(folder):
            for manifest in sorted(Path(folder).glob(f"{pattern.strip('/')}/package.json")):
                if read_jsonc(str(manifest)).get("name") == wanted.package:
                    return place(str(workspace), str(manifest.parent))
    return ""


def _list_member_patterns(folder: str) -> Iterator[str]:
    """Yield the directories of members: `workspaces` of npm and Yarn, `packages` of pnpm."""
    document = read_jsonc(os.path.join(folder, "package.json")).get("workspaces")
    named = document.get("packages") if isinstance(document, dict) else document
    found = [one for one in named if isinstance(one, str)] if isinstance(named, list) else []
    found += _PNPM_MEMBER.findall(_read_text(os.path.join(folder, "pnpm-workspace.yaml")))
    yield from (one for one in found if _MEMBER.fullmatch(one))


def _read_text(path: str) -> str:
    try:
        return read_bytes(path).decode("utf-8", "replace")
    except OSError:
        return ""


def _format_alias_hint(wanted: _PackageImport) -> str:
    """Format the hint for a name of `paths` whose files do not exist, such as those of an unbuilt
    library."""
    paths = [path for path in _list_alias_paths(wanted) if path]
    if not paths:
        return ""
    for path in paths:
        if unbuilt := _format_unbuilt_hint(wanted, f"{path}/package.json", "."):
            return unbuilt
    shown = " or ".join(f"`{place(wanted.entry.workspace, path)}`" for path in paths)
    return (
        f"build the library first, or correct `paths`: `{wanted.specifier}` is an alias of "
        f"{shown} in the tsconfig, which does not exist"
    )


def _list_alias_paths(wanted: _PackageImport) -> Iterator[str]:
    for alias in read_settings(_find_tsconfig(wanted)).aliases:
        if alias.pattern != "*":
            yield from dict.fromkeys(alias.candidates(wanted.specifier))


def _find_tsconfig(wanted: _PackageImport) -> str:
    entry = wanted.entry
    if wanted.tsconfig:
        return os.path.normpath(os.path.join(entry.root, wanted.tsconfig))
    paths = list_upwards(entry.workspace, wanted.folder, _TSCONFIGS, entry.probe)
    return next(filter(os.path.isfile, paths), "")


def _format_installed_hint(wanted: _PackageImport) -> str:
    """Format the hint for an installed package without the imported file."""
    manifest = find_manifest(wanted.folder, wanted.specifier)
    if not manifest:
        return ""
    subpath = export_maps.find_subpath(wanted.specifier, wanted.package)
    if unbuilt := _format_unbuilt_hint(wanted, manifest, subpath):
        return unbuilt
    if subpath == ".":
        return (
            f"check the package.json of `{wanted.package}`: it is installed, but has no "
            "code to import"
        )
    return f"update `{wanted.package}`, or correct the import: it does not export `{subpath}`"


def _format_unbuilt_hint(wanted: _PackageImport, manifest: str, subpath: str) -> str:
    """Format the hint for a package whose manifest names missing files."""
    folder = os.path.dirname(manifest)
    missing = [one for one in _list_entries(manifest, subpath) if not _is_there(folder, one)]
    if not missing:
        return ""
    name = read_jsonc(manifest).get("name") or wanted.package
    file = os.path.normpath(missing[0])
    if not is_own(folder):
        return f"install `{name}` again: its file `{file}` is missing"
    shown = place(wanted.entry.workspace, os.path.realpath(folder))
    return f"build the package `{name}` in `{shown}` first: its file `{file}` does not exist"


def _list_entries(manifest: str, subpath: str) -> Iterator[str]:
    """Yield the files that a manifest names for a subpath, except type files."""
    document = read_jsonc(manifest)
    if "exports" in document:
        found = export_maps.list_targets(document["exports"], subpath)
        yield from (one for one in found if not one.endswith((".d.ts", ".d.mts", ".d.cts")))
    elif subpath == ".":
        mains = (document.get(field) for field in MAIN_FIELDS)
        yield from (one for one in mains if isinstance(one, str))


def _is_there(folder: str, name: str) -> bool:
    return any(
        map(os.path.isfile, list_path_candidates(os.path.normpath(os.path.join(folder, name))))
    )
