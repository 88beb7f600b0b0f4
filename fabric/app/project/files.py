"""Finds and reads the files that people write: configs, compose files, `.env`."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from fabric.app.project.endpoints import Sources, list_foreign_endpoints
from fabric.app.request import CONFIG_NAME
from fabric.config.dotenv import NO_DOTENV, UnreadLine, parse_dotenv
from fabric.model.other_tools import SOURCES, find_tool
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.secrets.secrecy import is_passed_to_children
from fabric.model.secrets.secret import Secret
from fabric.ownership import reach
from fabric.system.files.disk import read_bytes

COMPOSE_NAME = "fabric.compose.yml"


class NotFoundError(FabricError):
    """A file of fabric does not exist."""


class EnvPlace(Struct, frozen=True):
    """The locations of a service's `.env` files: beside its config and beside the compose file."""

    folder: Path
    workspace: Path
    # The variables that its config reads.
    declared: frozenset[str] = frozenset()


def build_binding_environment(place: EnvPlace, process: Mapping[str, str]) -> dict[str, str]:
    """Build the environment for config bindings. Priority: process, `.env` of the config, `.env` of
    the compose file.

    Fabric's own switches in a `.env` are ignored. Clients use `calling_environment` instead.
    """
    filed = [sources.filed.reveal() for sources in list_env_sources(place, process)]
    return {**{name: text for one in reversed(filed) for name, text in one.items()}, **process}


def build_client_environment(place: EnvPlace, process: Mapping[str, str]) -> dict[str, str]:
    """Build the environment for provider clients, backends and child processes.

    From a `.env` it contains only variables that these read or the config declares, and no endpoint
    that would receive credentials from elsewhere.
    """
    found: dict[str, str] = {}
    for sources in reversed(list_env_sources(place, process)):
        foreign = list_foreign_endpoints(sources)
        found |= {
            name: text
            for name, text in sources.filed.reveal().items()
            if is_passed_to_children(name, place.declared)
        }
        # Nor does the one of the file under it count: that is not what was meant here.
        found = {name: text for name, text in found.items() if name not in foreign}
    return {**found, **process}


def list_env_file_names(place: EnvPlace, process: Mapping[str, str]) -> frozenset[str]:
    """List the variables whose values come from a `.env`."""
    every = {name for one in list_env_sources(place, process) for name in one.filed.reveal()}
    return frozenset(every - set(process))


def list_env_sources(place: EnvPlace, process: Mapping[str, str]) -> tuple[Sources, ...]:
    """List the `.env` sources, the one beside the config first. It counts as process environment
    for the second."""
    own = _read_env_sources(place.folder, process)
    if place.workspace == place.folder:
        return (own,)
    return (own, _read_env_sources(place.workspace, {**own.filed.reveal(), **process}))


def _read_env_sources(folder: Path, process: Mapping[str, str]) -> Sources:
    path = folder / ".env"
    try:
        found = parse_dotenv(read_bytes(path).decode("utf-8", "replace"))
    except (FileNotFoundError, NotADirectoryError):
        found = NO_DOTENV
    except OSError as error:
        raise _unreadable_file_error(path, error) from error
    if found.unread:
        raise FabricError(*(_unread_line_problem(path, line) for line in found.unread))
    filed = {name: value for name, value in found.pairs if not name.startswith("FABRIC_")}
    switches = tuple(dict.fromkeys(name for name, _ in found.pairs if name not in filed))
    return Sources(folder, Secret(filed), Secret(process), switches)


def _unread_line_problem(path: Path, line: UnreadLine) -> Problem:
    return Problem(
        "config/bad-env-line",
        f"line {line.number} of `{path}` is invalid: {line.why}",
        hint="write NAME=value, with quotes for multi-line values or outer spaces",
        where=Place(str(path), line.number, 1),
    )


def format_relative(folder: Path, workspace: Path) -> str:
    if folder.is_relative_to(workspace):
        return folder.relative_to(workspace).as_posix()
    ups = next(
        count for count, base in enumerate(workspace.parents, 1) if folder.is_relative_to(base)
    )
    return "../" * ups + folder.relative_to(workspace.parents[ups - 1]).as_posix()


def format_shown_path(path: Path, cwd: Path) -> str:
    """Format a path relative to the working directory."""
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)


def resolve_config_path(path: Path) -> Path:
    return resolve_file(path, CONFIG_NAME)


def find_config_in(path: Path) -> Path:
    """Find the config in a directory. Access errors are reported when it is read."""
    return path / CONFIG_NAME if os.path.isdir(path) else path  # noqa: PTH112


def locate_config(path: Path, *, is_given: bool) -> Path:
    """Return the location of a config. For a config given as text, the file can be missing."""
    if not is_given:
        return resolve_config_path(path)
    found = find_config_in(path)
    if not found.parent.is_dir():
        raise NotFoundError(_not_found_problem(found, CONFIG_NAME))
    return found.parent.resolve() / found.name


def resolve_file(path: Path, name: str) -> Path:
    """Resolve a path to the file itself or to this name in a directory, following links."""
    try:
        found = path / name if path.is_dir() else path
        is_there = found.is_file()
    except OSError as error:
        raise _unreadable_file_error(path, error) from error
    if not is_there:
        raise NotFoundError(_not_found_problem(found, name))
    return found.parent.resolve() / found.name


def _not_found_problem(path: Path, name: str) -> Problem:
    code = "compose/not-found" if name == COMPOSE_NAME else "config/not-found"
    flag = "-f" if name == COMPOSE_NAME else "-c"
    is_there = path.exists()
    hint = f"change to the project directory, or set {flag} FILE"
    message = f"no {path.name} found in {path.parent}"
    names = (one for found in SOURCES.values() for one in found)
    other = next((one for one in names if (path.parent / one).is_file()), "")
    if other in SOURCES["serverless"] and name == CONFIG_NAME and not is_there:
        return Problem(
            "config/looks-like-serverless",
            f"{message}: {other} is a config of {find_tool(other)}",
            hint=f"run: fabric import {other}",
            where=Place(str(path.parent / other)),
        )
    return Problem(
        code,
        f"{path} is not a regular file" if is_there else message,
        hint=f"convert {other} with: fabric import" if other else hint,
        where=Place(str(path)),
    )


def read_file(path: Path, name: str) -> bytes:
    try:
        return read_bytes(path)
    except FileNotFoundError as error:
        raise NotFoundError(_not_found_problem(path, name)) from error
    except OSError as error:
        raise _unreadable_file_error(path, error) from error


def read_input(path: Path) -> bytes:
    """A file that the user names on the command line."""
    try:
        return read_bytes(path)
    except OSError as error:
        message = f"cannot read `{path}`: {(error.strerror or str(error)).lower()}"
        raise FabricError(Problem("input/unreadable", message, where=Place(str(path)))) from error


def _unreadable_file_error(path: Path, error: OSError) -> FabricError:
    return FabricError(
        Problem(
            "config/unreadable",
            f"cannot read `{path.name}`: {(error.strerror or str(error)).lower()}",
            hint="check the mode and owner of the file and its directory",
            where=Place(str(path)),
        )
    )


_SERVICE = re.compile(rb"""^service:[ \t]*["']?([A-Za-z0-9_-]+)""", re.MULTILINE)


def list_service_names(folder: Path) -> frozenset[str]:
    """List the service names of all configs in a directory. Unreadable configs are skipped."""
    paths = (*folder.glob("*.yml"), *folder.glob("*.yaml"))
    names = (_SERVICE.search(read_bytes(path)) for path in paths if path.is_file())
    return frozenset(found[1].decode() for found in names if found)


_MARKS = ("fabric.compose.yml", "fabric.yml")


def find_workspace(cwd: Path) -> Path:
    """Find the nearest parent with a cache, otherwise with a compose file or config.

    The search ends at directories of other users.
    """
    folders = [Path(folder) for folder in reach(str(cwd))]
    for folder in folders:
        if (folder / ".fabric" / "cache").is_dir():
            return folder
    return next((one for one in folders if any((one / mark).is_file() for mark in _MARKS)), cwd)
