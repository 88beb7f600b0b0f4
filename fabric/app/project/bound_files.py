"""Text of the project's own files, for `${file:PATH}` in a config."""

import os
from pathlib import Path

from msgspec import Struct

from fabric.config.rules.path_places import FunctionPath, list_function_paths, with_places
from fabric.config.rules.strangers import CODE, HINT
from fabric.config.values import Config
from fabric.model.problems import FabricError, Problem
from fabric.system.files.disk import read_bytes

_MOST_BYTES = 1 << 20


class BoundFiles:
    """Files for `${file:…}` bindings below a config's directory. Records which paths were read,
    existing or not."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.looked_at: set[Path] = set()

    def text(self, path: str) -> str | None:
        """Read a file without its final line break. Returns None if it does not exist."""
        file = self._folder / path
        self.looked_at.add(Path(os.path.normpath(file)))
        if not file.resolve().is_relative_to(self._folder.resolve()):
            raise _unreadable_file_error(
                path, "is outside the project", "copy the file into the project"
            )
        try:
            if not file.exists():
                return None
            if not file.is_file():
                raise _unreadable_file_error(path, "is not a regular file")
            return _decode_text(path, read_bytes(file))
        except OSError as error:
            raise _unreadable_file_error(
                path, f"cannot be read: {(error.strerror or str(error)).lower()}"
            ) from error


def refuse_file_binding(path: str) -> str | None:
    """Reject file bindings, because the sender of a config could read files of the server."""
    message = f"configs in requests cannot read the file `{path}`"
    hint = "write the text into the config, or start the server with --trust-bodies"
    raise FabricError(Problem("config/not-trusted", message, hint))


def _decode_text(path: str, content: bytes) -> str:
    if len(content) > _MOST_BYTES:
        raise _unreadable_file_error(path, f"has {len(content):,} bytes (maximum {_MOST_BYTES:,})")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise _unreadable_file_error(path, "is not UTF-8 text") from error
    if "\0" in text:
        raise _unreadable_file_error(path, "contains a NUL character")
    return text.removesuffix("\n").removesuffix("\r")


def _unreadable_file_error(path: str, why: str, hint: str = "") -> FabricError:
    return FabricError(Problem("config/bad-file", f"the file `{path}` {why}", hint))


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
