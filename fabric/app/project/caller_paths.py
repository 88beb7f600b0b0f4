"""Check paths in a received config, after following links."""

import os
from pathlib import Path

from msgspec import Struct

from fabric.config.rules.path_places import FunctionPath, list_function_paths, with_places
from fabric.config.rules.strangers import CODE, HINT
from fabric.config.values import Config
from fabric.model.problems import FabricError, Problem

_WILD = frozenset("*?[{")


def refuse_ways_out(config: Config, text: bytes, folder: Path, reach: "CallerReach") -> None:
    """Raise for entries and includes outside the workspace, or matching a file of the server.

    Links are followed. `text` is the config text.
    """
    top = os.path.realpath(reach.workspace)
    hidden = tuple(map(os.path.realpath, reach.hidden))
    found: list[tuple[FunctionPath, Problem]] = []
    for one in list_function_paths(config):
        path = os.path.realpath(folder / _strip_wildcards(one.path))
        if not _is_below(path, top):
            found.append((one, _outside_path_problem(one)))
        elif any(_is_below(secret, path) for secret in hidden):
            found.append((one, _server_file_problem(one)))
    if found:
        raise FabricError(*with_places(config, text, found))


class CallerReach(Struct, frozen=True):
    """The directory of callers' configs, and the server's own files in it."""

    workspace: Path
    hidden: tuple[str, ...] = ()


def _server_file_problem(one: FunctionPath) -> Problem:
    message = f"the path `{one.path}` of function `{one.function}` includes a file of the server"
    return Problem(CODE, message, HINT)


def _outside_path_problem(one: FunctionPath) -> Problem:
    message = f"the path `{one.path}` of function `{one.function}` is outside the workspace"
    return Problem(CODE, message, HINT)


def _strip_wildcards(pattern: str) -> str:
    """Return the directories before the first wildcard."""
    parts = pattern.split("/")
    wild = next((n for n, part in enumerate(parts) if _WILD & set(part)), len(parts))
    return "/".join(parts[:wild])


def _is_below(path: str, top: str) -> bool:
    return path == top or path.startswith(f"{top.rstrip('/')}/")
