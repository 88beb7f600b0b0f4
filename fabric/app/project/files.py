"""Finds and reads the files that people write: configs, compose files, `.env`."""

import os
from collections.abc import Mapping
from pathlib import Path

from fabric.app.project.endpoints import Sources, foreign_endpoints
from fabric.app.request import CONFIG_NAME
from fabric.config.dotenv import parse_dotenv
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.secret import Secret
from fabric.system.disk import read_bytes

COMPOSE_NAME = "fabric.compose.yml"


class NotFoundError(FabricError):
    """There is no file of ours where one was looked for."""


def environment(folder: Path, process: Mapping[str, str]) -> dict[str, str]:
    """The `.env` beside a config, under the process environment; never fabric's own switches.

    For bindings of the config. Whoever calls a service takes `calling_environment`.
    """
    return {**sources_of(folder, process).filed.reveal(), **process}


def calling_environment(folder: Path, process: Mapping[str, str]) -> dict[str, str]:
    """Without addresses of the file that credentials from elsewhere would go to."""
    sources = sources_of(folder, process)
    foreign = foreign_endpoints(sources)
    filed = {name: value for name, value in sources.filed.reveal().items() if name not in foreign}
    return {**filed, **process}


def sources_of(folder: Path, process: Mapping[str, str]) -> Sources:
    path = folder / ".env"
    try:
        pairs = parse_dotenv(read_bytes(path).decode("utf-8", "replace"))
    except (FileNotFoundError, NotADirectoryError):
        pairs = ()
    except OSError as error:
        raise _unreadable(path, error) from error
    filed = {name: value for name, value in pairs if not name.startswith("FABRIC_")}
    return Sources(folder, Secret(filed), Secret(process))


def relative(folder: Path, workspace: Path) -> str:
    if folder.is_relative_to(workspace):
        return folder.relative_to(workspace).as_posix()
    ups = next(
        count for count, base in enumerate(workspace.parents, 1) if folder.is_relative_to(base)
    )
    return "../" * ups + folder.relative_to(workspace.parents[ups - 1]).as_posix()


def shown(path: Path, cwd: Path) -> str:
    """A path as people in the working folder would write it."""
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)


def config_path(path: Path) -> Path:
    return file_at(path, CONFIG_NAME)


def config_in(path: Path) -> Path:
    """What cannot be looked at is told by who reads it."""
    return path / CONFIG_NAME if os.path.isdir(path) else path  # noqa: PTH112


def file_at(path: Path, name: str) -> Path:
    """The file itself, or the one of this name in a folder; links of the path resolved."""
    try:
        found = path / name if path.is_dir() else path
        is_there = found.is_file()
    except OSError as error:
        raise _unreadable(path, error) from error
    if not is_there:
        raise NotFoundError(_not_found(found, name))
    return found.parent.resolve() / found.name


def _not_found(path: Path, name: str) -> Problem:
    code = "compose/not-found" if name == COMPOSE_NAME else "config/not-found"
    flag = "-f" if name == COMPOSE_NAME else "-c"
    is_there = path.exists()
    return Problem(
        code,
        f"{path} is no regular file" if is_there else f"there is no `{path.name}` in {path.parent}",
        hint=f"go to your project's folder, or name the file with {flag} FILE",
        where=Place(str(path)),
    )


def read_file(path: Path, name: str) -> bytes:
    try:
        return read_bytes(path)
    except FileNotFoundError as error:
        raise NotFoundError(_not_found(path, name)) from error
    except OSError as error:
        raise _unreadable(path, error) from error


def read_input(path: Path) -> bytes:
    """A file that the user names on the command line."""
    try:
        return read_bytes(path)
    except OSError as error:
        message = f"cannot read `{path}`: {(error.strerror or str(error)).lower()}"
        raise FabricError(Problem("input/unreadable", message, where=Place(str(path)))) from error


def _unreadable(path: Path, error: OSError) -> FabricError:
    return FabricError(
        Problem(
            "config/unreadable",
            f"cannot read `{path.name}`: {(error.strerror or str(error)).lower()}",
            hint="check the mode and owner of the file and its folder",
            where=Place(str(path)),
        )
    )
