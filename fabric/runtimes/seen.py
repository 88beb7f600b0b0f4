"""What a build looked at, as paths of the workspace; and whether all of that still stands."""

import os
import stat
from collections.abc import Iterable

from fabric.runtimes.contract import Listing, Seen
from fabric.runtimes.globs import list_files


def place(workspace: str, path: str) -> str:
    """An absolute path as people and traces know it: relative to the workspace, with `/`."""
    # os.path.relpath costs ten times as much, and nearly every path lies inside.
    if path.startswith(workspace + "/"):
        return path[len(workspace) + 1 :]
    return os.path.relpath(path, workspace)


def merge(*parts: Seen) -> Seen:
    """One Seen of many; sorted, each path once."""
    return Seen(
        files=_unique(path for part in parts for path in part.files),
        absent=_unique(path for part in parts for path in part.absent),
        listings=tuple(dict.fromkeys(item for part in parts for item in part.listings)),
        links=tuple(sorted({link for part in parts for link in part.links})),
        folders=_unique(path for part in parts for path in part.folders),
    )


def _unique(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(paths)))


def tried(workspace: str, paths: Iterable[str], links: Iterable[str] = ()) -> Seen:
    """Seen of absolute paths that were looked at, each sorted by what is there now.

    Each of `links` is kept only where it leads elsewhere.
    """
    found: dict[str, list[str]] = {"file": [], "folder": [], "nothing": []}
    for path in set(paths):
        found[_what_is_at(path)].append(place(workspace, path))
    return Seen(
        files=tuple(sorted(found["file"])),
        absent=tuple(sorted(found["nothing"])),
        folders=tuple(sorted(found["folder"])),
        links=tuple(sorted(set(_led_elsewhere(workspace, links)))),
    )


def _what_is_at(path: str) -> str:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return "nothing"
    return "folder" if stat.S_ISDIR(mode) else "file"


def _led_elsewhere(workspace: str, paths: Iterable[str]) -> Iterable[tuple[str, str]]:
    for path in paths:
        real = os.path.realpath(path)
        if real != path:
            yield place(workspace, path), place(workspace, real)


def look_ups_hold(workspace: str, seen: Seen) -> bool:
    """Whether all but the files' content is as it was: look-ups, searches and links."""
    return (
        all(os.path.isfile(os.path.join(workspace, path)) for path in seen.files)
        and not any(os.path.exists(os.path.join(workspace, path)) for path in seen.absent)
        and all(os.path.isdir(os.path.join(workspace, path)) for path in seen.folders)
        and all(_listing_holds(workspace, listing) for listing in seen.listings)
        and all(_link_holds(workspace, path, real) for path, real in seen.links)
    )


def _listing_holds(workspace: str, listing: Listing) -> bool:
    folder = os.path.join(workspace, listing.folder)
    return list_files(folder, listing.pattern, listing.ignore) == listing.names


def _link_holds(workspace: str, path: str, real: str) -> bool:
    return place(workspace, os.path.realpath(os.path.join(workspace, path))) == real
