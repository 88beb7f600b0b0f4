"""The sources of an import: which files of other tools a directory has, and their texts."""

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from fabric.importing.files import is_source
from fabric.importing.surroundings import Surroundings
from fabric.model.other_tools import SOURCES, find_kind
from fabric.model.problems import FabricError, Place, Problem
from fabric.system.files.disk import read_bytes

UNREADABLE = "import/unreadable"
# Directories without sources of the project.
SKIPPED = frozenset(("node_modules", ".git", ".fabric", ".serverless", ".aws-sam", ".venv", "venv"))
_FAR = "../../.."
_MOST_BYTES = 4 << 20
_MOST_SOURCES = 500
# Configs that are programs.
_CODE = ("serverless.ts", "serverless.js", "serverless.mjs", "serverless.cjs")
_PRINT = "run: osls print --format json > serverless.json, and import that file"


class Source(Struct, frozen=True):
    """A config of another tool. `shown` is its path relative to the working directory."""

    kind: str
    file: Path
    shown: str


def get_folder(place: Path) -> Path:
    return place if place.is_dir() else place.parent


def format_shown(path: Path, cwd: Path) -> str:
    """Format a path relative to the working directory, unless it is far away."""
    relative = os.path.relpath(path, cwd)
    return os.path.normpath(path) if relative.startswith(_FAR) else relative


def find_sources(path: str, kind: str, cwd: Path) -> list[Source]:
    """Find the sources at a path: a file, those of a directory, or those of directories below."""
    place = cwd / path
    if place.is_dir():
        found = _find_in_folder(kind, place, cwd) or _find_below(kind, place, cwd)
    elif place.is_file():
        found = [_read_choice(kind, place, cwd)]
    else:
        raise FabricError(Problem("input/not-found", f"no file or directory `{path}`"))
    if not found:
        folder = get_folder(place)
        templates = [folder / one for one in SOURCES["sam"] if (folder / one).is_file()]
        if templates and kind in ("", "sam"):
            raise build_no_functions_error([format_shown(one, cwd) for one in templates], "sam")
        names = ", ".join(names[0] for names in SOURCES.values())
        message = f"no config of another tool found in `{path}`"
        hint = f"fabric imports {names}"
        if any((folder / one).is_file() for one in _CODE):
            hint = _PRINT
        raise FabricError(Problem("input/not-found", message, hint))
    return found


def build_no_functions_error(names: Sequence[str], kind: str) -> FabricError:
    message = f"{', '.join(f'`{one}`' for one in names)} has no functions that fabric can deploy"
    hint = "name another config, or use --from"
    if kind == "sam":
        hint = "deploy such a template with CloudFormation, and use its outputs with ${cfn:…}"
    return FabricError(Problem("import/no-functions", message, hint))


def _read_choice(kind: str, place: Path, cwd: Path) -> Source:
    kind = kind or find_kind(place.name)
    if kind:
        return Source(kind, place, format_shown(place, cwd))
    message, hint = f"unknown source `{place.name}`", f"use --from: {', '.join(SOURCES)}"
    if place.name in _CODE:
        message, hint = f"`{place.name}` is code, which fabric does not run", _PRINT
    raise FabricError(Problem("usage/unknown-choice", message, hint))


def _find_in_folder(kind: str, folder: Path, cwd: Path) -> list[Source]:
    kinds = (kind,) if kind else tuple(SOURCES)
    found = [
        Source(one, folder / name, format_shown(folder / name, cwd))
        for one in kinds
        for name in SOURCES[one]
        if (folder / name).is_file() and is_source(one, read_source_text(folder / name, cwd))
    ]
    if len(found) > 1:
        names = ", ".join(f"`{one.file.name}`" for one in found)
        message = f"the directory contains several configs: {names}"
        hint = f"run: fabric import {found[0].shown}"
        raise FabricError(Problem("usage/ambiguous", message, hint))
    return found


def _find_below(kind: str, top: Path, cwd: Path) -> list[Source]:
    """Find the services of a monorepo: one config in each directory."""
    found: list[Source] = []
    for folder, folders, _ in os.walk(top):
        folders[:] = sorted(
            one for one in folders if one not in SKIPPED and not one.startswith(".")
        )
        if Path(folder) != top:
            found += _find_in_folder(kind, Path(folder), cwd)
        if len(found) > _MOST_SOURCES:
            message = f"more than {_MOST_SOURCES} configs found below `{format_shown(top, cwd)}`"
            raise FabricError(Problem("input/too-many", message, "import one directory at a time"))
    return found


def read_source_text(path: Path, cwd: Path) -> str:
    where = Place(format_shown(path, cwd))
    try:
        raw = read_bytes(path)
    except OSError as error:
        message = f"cannot read `{path.name}`: {(error.strerror or str(error)).lower()}"
        raise FabricError(Problem(UNREADABLE, message, where=where)) from error
    if len(raw) > _MOST_BYTES:
        message = f"`{path.name}` has {len(raw):,} bytes (maximum {_MOST_BYTES:,})"
        raise FabricError(Problem(UNREADABLE, message, where=where))
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        message = f"`{path.name}` is not UTF-8"
        hint = f"byte {error.start + 1:,} is the first that is not; convert the file"
        raise FabricError(Problem(UNREADABLE, message, hint, where)) from error


def _find_top(folder: Path) -> Path:
    """Find the project: the nearest directory with `.git`, otherwise the imported one."""
    for one in (folder.resolve(), *folder.resolve().parents):
        if (one / ".git").exists():
            return one
    return folder.resolve()


def open_surroundings(folder: Path, top: Path, cwd: Path, prefix: str) -> Surroundings:
    """Give access to the files around a source. `top` is the imported directory."""
    root = _find_top(top)

    def locate(path: str) -> Path | None:
        try:
            found = (folder / path).resolve()
        except (OSError, ValueError, RuntimeError):
            return None
        return found if found.is_relative_to(root) else None

    def read_text(path: str) -> str | None:
        found = locate(path)
        if found is None or not found.is_file():
            return None
        return read_source_text(found, cwd)

    def list_names(path: str) -> tuple[str, ...]:
        found = locate(path)
        return tuple(sorted(os.listdir(found))) if found and found.is_dir() else ()

    return Surroundings(
        read_text,
        list_names,
        lambda path: (found := locate(path)) is not None and found.is_file(),
        lambda path: (found := locate(path)) is not None and found.is_dir(),
        folder_name=folder.resolve().name or "service",
        prefix=prefix,
    )
