"""A kubeconfig from the project: accepted only if it can neither run programs nor read files."""

import os
from collections.abc import Iterator
from pathlib import Path

from fabric.config.yaml.nodes import convert_to_plain
from fabric.config.yaml.reader import read
from fabric.model.outcomes.json_struct import Json
from fabric.model.problems import FabricError, Place, Problem
from fabric.system.disk import read_bytes

# Lowercase. The tool runs programs for the first two and reads the files that the others name.
_RUN = ("exec", "auth-provider")
_TOKEN_FILE = "tokenfile"  # noqa: S105
_KEY_FILES = ("client-certificate", "client-key", "certificate-authority")


def check_kubeconfig(path: Path, project: Path, *, is_filed: bool) -> None:
    """Raise for a file that is set by `.env` or is inside the project, unless it contains only
    clusters and credentials."""
    if not is_filed and not _is_below(path, project):
        return
    try:
        found = convert_to_plain(read(str(path), read_bytes(path)).root)
    except FileNotFoundError:
        return  # the tool reports that
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise FabricError(_trust_problem(path, f"cannot read it: {why}")) from error
    except FabricError as error:
        raise FabricError(_trust_problem(path, error.first.message)) from error
    for why in _find_dangers(found, path, project):
        raise FabricError(_trust_problem(path, why))


def find_checkout(folder: Path) -> Path:
    """Return the repository of a service, or its own directory without one."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)


def _is_below(path: Path, folder: Path) -> bool:
    """Return whether a path is below a directory, by name or through a link."""
    top = os.path.realpath(folder)
    return any(
        one.startswith(f"{top}/")
        for one in (os.path.realpath(path), os.path.abspath(path))  # noqa: PTH100
    )


def _is_below_resolved(path: Path, folder: Path) -> bool:
    return os.path.realpath(path).startswith(f"{os.path.realpath(folder)}/")


def _find_dangers(found: Json, path: Path, project: Path) -> Iterator[str]:
    for key, value in _list_entries(found):
        if key in _RUN and value:
            yield f"it has `{key}`, which runs a program"
        elif key == _TOKEN_FILE and value:
            yield "it has `tokenFile`, which reads a file"
        elif key in _KEY_FILES and not _is_below_resolved(path.parent / str(value), project):
            yield f"`{key}` refers to a file outside the project"


def _list_entries(found: Json) -> Iterator[tuple[str, Json]]:
    """Yield every key at any depth, in lowercase, with its value."""
    if isinstance(found, dict):
        for key, value in found.items():
            yield key.lower(), value
            yield from _list_entries(value)
    elif isinstance(found, list):
        for one in found:
            yield from _list_entries(one)


def _trust_problem(path: Path, why: str) -> Problem:
    return Problem(
        "config/not-trusted",
        f"refusing the kubeconfig `{path}` of the project: {why}",
        hint="set CLUSTER_CONFIG in the environment to a kubeconfig outside the repository",
        where=Place(str(path)),
    )
