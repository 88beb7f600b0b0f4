"""State in a folder: a file per key, replaced whole, under one lock for all writers."""

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from fabric.model.problems import FabricError, Problem
from fabric.state.backends.failures import closed
from fabric.state.contract import STATE_SUFFIX, MovedError, Stored, Version
from fabric.system.disk import (
    file_lock,
    keep_copy,
    make_private,
    read_bytes,
    remove,
    remove_empty_folders,
    sweep,
    sync_folder,
    write_atomic,
)

_LOCK = ".lock"
_BACKUP = ".bak"


class Local:
    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def kind(self) -> str:
        return "local"

    @property
    def place(self) -> str:
        return str(self._root)

    def read(self, key: str) -> Stored | None:
        path = self._path(key)
        try:
            content = read_bytes(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise closed(path, error) from error
        return Stored(content, _version(content))

    def write(self, key: str, content: bytes, expected: Version | None) -> Version:
        path = self._path(key)
        make_private(self._root)
        with file_lock(self._root / _LOCK):
            self._check(key, expected)
            # Only records have to survive a power cut: whoever held a lock is gone by then.
            durable = key.endswith(STATE_SUFFIX)
            make_private(path.parent, durable=durable)
            sweep(path)
            if durable:
                keep_copy(path, _backup(path))
            write_atomic(path, content, mode=0o600, durable=durable)
            if durable:
                sync_folder(path.parent)
        return _version(content)

    def delete(self, key: str, expected: Version) -> None:
        path = self._path(key)
        if not self._root.is_dir():
            raise MovedError(key)
        with file_lock(self._root / _LOCK):
            self._check(key, expected)
            # The backup goes first: alone it would look like a state that was lost.
            if key.endswith(STATE_SUFFIX):
                remove(_backup(path))
            remove(path)
            remove_empty_folders(path.parent, self._root)

    def list(self, prefix: str) -> tuple[str, ...]:
        # The folder part of a prefix is one folder: nothing else has to be searched.
        start = self._root / prefix.rpartition("/")[0]
        try:
            paths = [path for path in _files(start) if _is_content(path.name)]
        except OSError as error:
            raise closed(start, error) from error
        keys = (path.relative_to(self._root).as_posix() for path in paths)
        return tuple(sorted(key for key in keys if key.startswith(prefix) and key != _LOCK))

    def close(self) -> None:
        """Nothing is held open between calls."""

    def _check(self, key: str, expected: Version | None) -> None:
        found = self.read(key)
        if (found.version if found else None) != expected:
            raise MovedError(key)

    def _path(self, key: str) -> Path:
        if not all(part.strip(".") for part in key.split("/")):
            raise FabricError(Problem("state/bad-key", f"invalid state key `{key}`"))
        return self._root / key


def _version(content: bytes) -> Version:
    return Version(sha256(content).hexdigest())


def _backup(path: Path) -> Path:
    return path.with_name(path.name + _BACKUP)


def _files(start: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(start, onerror=_unless_gone):
        yield from (Path(folder, name) for name in names)


def _unless_gone(error: OSError) -> None:
    """Ignore a missing directory: it counts as empty."""
    if not isinstance(error, FileNotFoundError):
        raise error


def _is_content(name: str) -> bool:
    """Return whether the file is content: neither a backup nor an unfinished write."""
    unfinished = name.startswith(".") and name.endswith(".tmp")
    return not unfinished and not name.endswith(_BACKUP)
