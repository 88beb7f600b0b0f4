"""Recorded inputs of a build as workspace paths, and the check that they still hold."""

import functools
import os
import stat
from collections.abc import Iterable
from enum import StrEnum

from fabric.runtimes.contract import FileRows, InputTrace, Listing
from fabric.runtimes.globs import list_files


class Kind(StrEnum):
    NOTHING = "nothing"
    FILE = "file"
    FOLDER = "folder"


class Probe:
    """File kinds and link targets by path, read once per path during one build."""

    def __init__(self, workspace: str) -> None:
        self._modes: dict[str, int] = {}
        # The workspace is given as a real path; each folder below it costs one question more.
        self._real_folders: dict[str, str] = {workspace: workspace}

    def kind(self, path: str) -> Kind:
        mode = self._read_mode(path)
        if not mode:
            return Kind.NOTHING
        return Kind.FOLDER if stat.S_ISDIR(mode) else Kind.FILE

    def is_file(self, path: str) -> bool:
        """Return whether it is a regular file, not a pipe or a device."""
        return stat.S_ISREG(self._read_mode(path))

    def _read_mode(self, path: str) -> int:
        found = self._modes.get(path)
        if found is None:
            found = self._modes[path] = _read_path_mode(path)
        return found

    def real(self, path: str) -> str:
        """Return the real path of something that exists; `path` is absolute and has no `..`."""
        if os.path.islink(path):
            return os.path.realpath(path)
        folder, _, name = path.rpartition("/")
        return f"{self._resolve_folder(folder)}/{name}"

    def _resolve_folder(self, folder: str) -> str:
        found = self._real_folders.get(folder)
        if found is None:
            found = self._real_folders[folder] = self.real(folder) if folder else ""
        return found


def _read_path_mode(path: str) -> int:
    """Return the mode of a path; 0 if it does not exist."""
    # Most paths are not there, and an exception costs more than the question.
    if not os.access(path, os.F_OK):
        return 0
    try:
        return os.stat(path).st_mode
    except OSError:
        return 0


@functools.lru_cache(1 << 16)
def place(workspace: str, path: str) -> str:
    """Format an absolute path for messages and records: relative to the workspace, with `/`."""
    # os.path.relpath asks for the working folder, and costs ten times as much.
    up = ""
    while not path.startswith(f"{workspace}/"):
        if path == workspace:
            return up.rstrip("/") or "."
        if not workspace:
            break
        workspace = workspace.rpartition("/")[0]
        up += "../"
    return up + path[len(workspace) + 1 :]


def merge(*parts: InputTrace) -> InputTrace:
    """Merge many Seen to one, sorted, with each path once. A file that counts wholly in one part
    has no rows."""
    files = _sort_unique(path for part in parts for path in part.files)
    return InputTrace(
        files=files,
        absent=_sort_unique(path for part in parts for path in part.absent),
        listings=tuple(dict.fromkeys(item for part in parts for item in part.listings)),
        links=tuple(sorted({link for part in parts for link in part.links})),
        folders=_sort_unique(path for part in parts for path in part.folders),
        rows=_merge_rows((one for part in parts for one in part.rows), frozenset(files)),
    )


def _merge_rows(parts: Iterable[FileRows], whole: frozenset[str]) -> tuple[FileRows, ...]:
    found: dict[str, set[str]] = {}
    for one in parts:
        if one.file not in whole:
            found.setdefault(one.file, set()).update(one.rows)
    return tuple(FileRows(file, tuple(sorted(rows))) for file, rows in sorted(found.items()))


def _sort_unique(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(paths)))


def record_tried(workspace: str, paths: Iterable[str], probe: Probe | None = None) -> InputTrace:
    """Record absolute paths that were checked, sorted by their current kind.

    A path through a symbolic link is recorded with its target.
    """
    probe = probe or Probe(workspace)
    found: dict[Kind, list[str]] = {kind: [] for kind in Kind}
    for path in set(paths):
        found[probe.kind(path)].append(path)
    present = (*found[Kind.FILE], *found[Kind.FOLDER])
    led = [(path, real) for path in present if (real := probe.real(path)) != path]
    return InputTrace(
        files=_list_places(workspace, found[Kind.FILE]),
        absent=_list_places(workspace, found[Kind.NOTHING]),
        folders=_list_places(workspace, found[Kind.FOLDER]),
        links=tuple(sorted((place(workspace, path), place(workspace, real)) for path, real in led)),
    )


def _list_places(workspace: str, paths: list[str]) -> tuple[str, ...]:
    return tuple(sorted(place(workspace, path) for path in paths))


def look_ups_hold(workspace: str, seen: InputTrace) -> bool:
    """Return whether everything except file contents is unchanged: lookups, searches and links."""
    return (
        all(os.path.isfile(os.path.join(workspace, path)) for path in seen.all_files)
        and not any(os.path.exists(os.path.join(workspace, path)) for path in seen.absent)
        and all(os.path.isdir(os.path.join(workspace, path)) for path in seen.folders)
        and all(_is_listing_current(workspace, listing) for listing in seen.listings)
        and all(_link_holds(workspace, path, real) for path, real in seen.links)
    )


def _is_listing_current(workspace: str, listing: Listing) -> bool:
    folder = os.path.join(workspace, listing.folder)
    return list_files(folder, listing.pattern, listing.ignore) == listing.names


def _link_holds(workspace: str, path: str, real: str) -> bool:
    return place(workspace, os.path.realpath(os.path.join(workspace, path))) == real
