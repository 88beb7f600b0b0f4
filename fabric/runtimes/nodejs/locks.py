"""Files that count for everything below them: lock files, manifests, settings."""

import os
from collections.abc import Iterator

from fabric.runtimes.nodejs.tsconfig import ancestors

LOCK_FILES = (
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "node_modules/.package-lock.json",
)


def upwards(workspace: str, folder: str, names: tuple[str, ...]) -> Iterator[str]:
    """The names in every folder on the way up; outside of the workspace up to the first found."""
    found = False
    for parent in ancestors(folder):
        if found and not _within(workspace, parent):
            return
        for name in names:
            path = os.path.join(parent, name)
            found = found or os.path.isfile(path)
            yield path


def _within(workspace: str, folder: str) -> bool:
    return folder == workspace or folder.startswith(workspace + os.sep)
