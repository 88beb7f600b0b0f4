"""Files that affect everything below them: lock files, manifests, settings."""

import functools
import os
from collections.abc import Iterator

from fabric.runtimes.nodejs.tsconfig import ancestors
from fabric.runtimes.seen import Kind, Probe

LOCK_FILES = (
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "node_modules/.package-lock.json",
)


def upwards(workspace: str, folder: str, names: tuple[str, ...], probe: Probe) -> tuple[str, ...]:
    """List the names in every parent directory; outside the workspace only up to the first
    match."""
    inside = _paths_inside(workspace, folder, names)
    if any(probe.kind(path) is Kind.FILE for path in inside):
        return inside
    outside = ancestors(os.path.dirname(workspace) if inside else folder)
    return (*inside, *_up_to_first(outside, names, probe))


def _up_to_first(folders: Iterator[str], names: tuple[str, ...], probe: Probe) -> Iterator[str]:
    for folder in folders:
        paths = _named(folder, names)
        yield from paths
        if any(probe.kind(path) is Kind.FILE for path in paths):
            return


@functools.lru_cache(4096)
def _paths_inside(workspace: str, folder: str, names: tuple[str, ...]) -> tuple[str, ...]:
    parents = (parent for parent in ancestors(folder) if within(workspace, parent))
    return tuple(path for parent in parents for path in _named(parent, names))


def _named(folder: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{folder.rstrip('/')}/{name}" for name in names)


def within(workspace: str, folder: str) -> bool:
    return folder == workspace or folder.startswith(f"{workspace}/")
