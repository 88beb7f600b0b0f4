"""Files that affect everything below them: lock files, manifests, settings."""

import functools
import os
from collections.abc import Iterator

from fabric.runtimes.nodejs.tsconfig import list_ancestors
from fabric.runtimes.recorded_inputs import Kind, Probe

LOCK_FILES = (
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "node_modules/.package-lock.json",
)


def list_upwards(
    workspace: str, folder: str, names: tuple[str, ...], probe: Probe
) -> tuple[str, ...]:
    """List the names in every parent directory; outside the workspace only up to the first
    match."""
    inside = _list_paths_inside(workspace, folder, names)
    if any(probe.kind(path) is Kind.FILE for path in inside):
        return inside
    outside = list_ancestors(os.path.dirname(workspace) if inside else folder)
    return (*inside, *_list_up_to_first(outside, names, probe))


def _list_up_to_first(
    folders: Iterator[str], names: tuple[str, ...], probe: Probe
) -> Iterator[str]:
    for folder in folders:
        paths = _join_names(folder, names)
        yield from paths
        if any(probe.kind(path) is Kind.FILE for path in paths):
            return


@functools.lru_cache(4096)
def _list_paths_inside(workspace: str, folder: str, names: tuple[str, ...]) -> tuple[str, ...]:
    parents = (
        parent for parent in list_ancestors(folder) if is_within_workspace(workspace, parent)
    )
    return tuple(path for parent in parents for path in _join_names(parent, names))


def _join_names(folder: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{folder.rstrip('/')}/{name}" for name in names)


def is_within_workspace(workspace: str, folder: str) -> bool:
    return folder == workspace or folder.startswith(f"{workspace}/")
