"""Files that count for everything below them: lock files, manifests, settings."""

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


def upwards(workspace: str, folder: str, names: tuple[str, ...], probe: Probe) -> Iterator[str]:
    """The names in every folder on the way up; outside of the workspace up to the first found."""
    found = False
    for parent in ancestors(folder):
        if found and not within(workspace, parent):
            return
        for name in names:
            path = f"{parent.rstrip('/')}/{name}"
            found = found or probe.kind(path) is Kind.FILE
            yield path


def within(workspace: str, folder: str) -> bool:
    return folder == workspace or folder.startswith(f"{workspace}/")
