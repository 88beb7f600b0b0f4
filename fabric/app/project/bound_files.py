"""Text of the project's own files, for `${file:PATH}` in a config."""

import os
from pathlib import Path

from fabric.model.problems import FabricError, Problem
from fabric.system.disk import read_bytes

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
