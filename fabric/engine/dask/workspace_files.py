"""The uploaded files of a workspace: every possible build input, without secrets."""

import os
from collections.abc import Iterator

from msgspec import Struct

from fabric.remote.snapshots import resolve_link
from fabric.runtimes.globs import PRUNED

# Installed packages are no sources, but builds look into them.
_LEFT_OUT_FOLDERS = PRUNED - {"node_modules"}
_ENVIRONMENT = ".env"
_WITHOUT_VALUES = (".example", ".sample", ".template")


class WorkspaceFiles(Struct, frozen=True):
    """Paths relative to the workspace. `left_out` exist but are not uploaded."""

    files: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    left_out: tuple[str, ...]
    empty_folders: tuple[str, ...] = ()


def list_workspace_files(workspace: str) -> WorkspaceFiles:
    files: list[str] = []
    links: list[tuple[str, str]] = []
    left_out: list[str] = []
    empty_folders: list[str] = []
    for path in _walk(workspace):
        if path.endswith("/"):
            (empty_folders if _is_text(path) else left_out).append(path.rstrip("/"))
            continue
        if is_env_file(path) or not _is_text(path):
            left_out.append(path)
        elif not os.path.islink(f"{workspace}/{path}"):  # noqa: PTH114 - thousands of them
            (files if os.path.isfile(f"{workspace}/{path}") else left_out).append(path)  # noqa: PTH113
        elif (target := _read_link_target(workspace, path)) is not None:
            links.append((path, target))
        else:
            left_out.append(path)
    return WorkspaceFiles(tuple(files), tuple(links), tuple(left_out), tuple(empty_folders))


def is_env_file(path: str) -> bool:
    """Return whether this is a `.env` file. Its values reach builds through their declared
    inputs."""
    name = path.rpartition("/")[2]
    is_one = name == _ENVIRONMENT or name.startswith(f"{_ENVIRONMENT}.")
    return is_one and not name.endswith(_WITHOUT_VALUES)


def _walk(workspace: str) -> Iterator[str]:
    """List everything except non-empty directories. Links to directories count as links."""
    for parent, folders, names in os.walk(workspace):
        inside = os.path.relpath(parent, workspace)
        prefix = "" if inside == "." else f"{inside}/"
        linked = [one for one in folders if os.path.islink(f"{parent}/{one}")]  # noqa: PTH114
        folders[:] = sorted(set(folders) - set(linked) - _LEFT_OUT_FOLDERS)
        if prefix and not (folders or names or linked):
            yield prefix
        yield from sorted(f"{prefix}{one}" for one in (*names, *linked))


def _read_link_target(workspace: str, path: str) -> str | None:
    """Return the link target in portable form; None if it is outside the workspace."""
    try:
        target = os.readlink(f"{workspace}/{path}")  # noqa: PTH115
    except OSError:
        return None
    if target.startswith(f"{workspace}/"):
        target = os.path.relpath(target, os.path.dirname(f"{workspace}/{path}"))  # noqa: PTH120
    return target if _is_text(target) and resolve_link(path, target) is not None else None


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
