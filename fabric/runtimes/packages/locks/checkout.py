"""Packages of a lock that are in the checkout: workspace members and path dependencies.

Their modules are copied, and never looked up in an index. Nothing of them is run.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from packaging.utils import canonicalize_name

from fabric.model.problems import FabricError, Place, Problem
from fabric.model.task import Pairs
from fabric.runtimes.contract import Built, Listing
from fabric.runtimes.globs import list_files
from fabric.runtimes.include import PRIVATE_RULES, read_named, refuse_outside_link
from fabric.runtimes.packages.locks.rows import read_table
from fabric.runtimes.packages.requirements import parse_toml
from fabric.runtimes.recorded_inputs import merge, place, record_tried
from fabric.system.files.disk import read_bytes

_PROJECT = "pyproject.toml"
# Backends that copy modules. Others can compile, so their sources are not the package.
_COPYING = ("", "uv_build", "hatchling", "setuptools", "flit_core", "poetry", "pdm")
_IGNORED = (*PRIVATE_RULES, "*.py[co]", "*.egg-info/", "*.dist-info/")


def copy_packages(workspace: Path, folders: Pairs) -> Built:
    """Return the modules of these packages, as pairs of name and directory, with their inputs."""
    base = os.path.realpath(workspace)
    parts = [
        _copy_package(base, name, os.path.normpath(os.path.join(base, folder)))
        for name, folder in folders
    ]
    files = {file.path: file for part in parts for file in part.files}
    return Built(tuple(files.values()), merge(*(part.seen for part in parts)))


def _copy_package(base: str, name: str, folder: str) -> Built:
    project = os.path.join(folder, _PROJECT)
    if not os.path.isdir(folder):
        message = f"directory of package `{name}` not found: `{place(base, folder)}`"
        raise FabricError(Problem("input/package-source", message, "add it, or lock again"))
    _check_backend(name, _read_backend(project), place(base, project))
    source = os.path.join(folder, "src")
    parts = [_read_listing(base, folder, one) for one in _list_modules(base, name, folder)]
    files = tuple(file for part in parts for file in part.files)
    if not any(file.path.endswith(".py") for file in files):
        raise FabricError(
            Problem(
                "input/package-source",
                f"no Python module of package `{name}` found in `{place(base, folder)}`",
                hint=f"move its modules to `src`, or to a directory `{name.replace('-', '_')}`",
                where=Place(place(base, project)),
            )
        )
    looked_at = record_tried(base, [project, source])
    return Built(files, merge(looked_at, *(part.seen for part in parts)))


def _read_listing(base: str, folder: str, listing: Listing) -> Built:
    start = os.path.normpath(os.path.join(base, listing.folder))
    for name in listing.names:
        refuse_outside_link(base, folder, os.path.join(start, name), os.path.basename(folder))
    return read_named(base, start, listing)


def _read_backend(project: str) -> str:
    try:
        document = parse_toml(read_bytes(project).decode("utf-8-sig", "replace"))
    except (FileNotFoundError, ValueError):
        return ""
    return str(read_table(document, "build-system").get("build-backend", ""))


def _check_backend(name: str, backend: str, file: str) -> None:
    if backend.partition(".")[0] not in _COPYING:
        raise FabricError(
            Problem(
                "input/package-source",
                f"cannot pack `{name}` from the checkout: its build backend is `{backend}`, and "
                "fabric only copies Python modules",
                hint="publish a wheel of it to an index, and lock that version",
                where=Place(file),
            )
        )


def _list_modules(base: str, name: str, folder: str) -> Iterator[Listing]:
    """Search `src`, otherwise the modules in the directory that have the name of the package."""
    source = os.path.join(folder, "src")
    if os.path.isdir(source):
        yield _search(base, source, "")
        return
    for each in list_files(folder, "*") + _list_folders(folder):
        if canonicalize_name(each.removesuffix(".py")) == name:
            yield _search(base, folder, each)


def _list_folders(folder: str) -> tuple[str, ...]:
    try:
        with os.scandir(folder) as entries:
            return tuple(sorted(one.name for one in entries if one.is_dir()))
    except FileNotFoundError:
        return ()


def _search(base: str, folder: str, pattern: str) -> Listing:
    names = list_files(folder, pattern, _IGNORED)
    return Listing(place(base, folder), pattern, names, _IGNORED)
