"""State in a folder: a file per key, replaced whole, under one lock for all writers."""

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from fabric.model.problems import FabricError, Problem
from fabric.state.backends.failures import file_access_error
from fabric.state.contract import STATE_SUFFIX, MovedError, Stored, Version
from fabric.system.files.disk import (
    keep_copy,
    lock_file,
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
        path = self._build_path(key)
        try:
            content = read_bytes(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise file_access_error(path, error) from error
        return Stored(content, _compute_version(content))

    def write(self, key: str, content: bytes, expected: Version | None) -> Version:
        path = self._build_path(key)
        make_private(self._root)
        with lock_file(self._root / _LOCK):
            self._check(key, expected)
            # Only records have to survive a power cut: whoever held a lock is gone by then.
            durable = key.endswith(STATE_SUFFIX)
            make_private(path.parent, durable=durable)
            sweep(path)
            if durable:
                keep_copy(path, _build_backup_path(path))
            write_atomic(path, content, mode=0o600, durable=durable)
            if durable:
                sync_folder(path.parent)
        return _compute_version(content)

    def delete(self, key: str, expected: Version) -> None:
        path = self._build_path(key)
        if not self._root.is_dir():
            raise MovedError(key)
        with lock_file(self._root / _LOCK):
            self._check(key, expected)
            # The backup goes first: alone it would look like a state that was lost.
            if key.endswith(STATE_SUFFIX):
                remove(_build_backup_path(path))
            remove(path)
            remove_empty_folders(path.parent, self._root)

    def list(self, prefix: str) -> tuple[str, ...]:
        # The folder part of a prefix is one folder: nothing else has to be searched.
        start = self._root / prefix.rpartition("/")[0]
        try:
            paths = [path for path in _list_files(start) if _is_content(path.name)]
        except OSError as error:
            raise file_access_error(start, error) from error
        keys = (path.relative_to(self._root).as_posix() for path in paths)
        return tuple(sorted(key for key in keys if key.startswith(prefix) and key != _LOCK))

    def close(self) -> None:
        """Nothing is held open between calls."""

    def _check(self, key: str, expected: Version | None) -> None:
        found = self.read(key)
        if (found.version if found else None) != expected:
            raise MovedError(key)

    def _build_path(self, key: str) -> Path:
        if not all(part.strip(".") for part in key.split("/")):
            raise FabricError(Problem("state/bad-key", f"invalid state key `{key}`"))
        return self._root / key


def _compute_version(content: bytes) -> Version:
    return Version(sha256(content).hexdigest())


def _build_backup_path(path: Path) -> Path:
    return path.with_name(path.name + _BACKUP)


def _list_files(start: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(start, onerror=_raise_unless_missing):
        yield from (Path(folder, name) for name in names)


def _raise_unless_missing(error: OSError) -> None:
    """Ignore a missing directory: it counts as empty."""
    if not isinstance(error, FileNotFoundError):
        raise error


def _is_content(name: str) -> bool:
    """Return whether the file is content: neither a backup nor an unfinished write."""
    unfinished = name.startswith(".") and name.endswith(".tmp")
    return not unfinished and not name.endswith(_BACKUP)
