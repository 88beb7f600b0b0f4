"""Locks whose rows have markers: `poetry.lock` (main group), and `pylock.toml` (PEP 751)."""

import os
from collections.abc import Iterator

from fabric.runtimes.locks.rows import (
    LockFile,
    LockRow,
    Table,
    bad_lock_error,
    find_wheel_version,
    is_marker_true,
    read_digest,
    read_file_name,
    read_name,
    read_rows,
    read_table,
    require_python,
)

_MAIN = "main"
# Poetry's text for a marker that no environment meets.
_NEVER = "<empty>"
_POETRY_INDEX = ("", "legacy")
_POETRY_FOREIGN = {"git": "a git repository", "url": "a URL", "file": "a file"}
_FOREIGN = {"vcs": "a git repository", "archive": "a file"}


def list_poetry_rows(lock: LockFile) -> tuple[LockRow, ...]:
    version = str(read_table(lock.document, "metadata").get("lock-version", ""))
    if not version.startswith("2.") or version == "2.0":
        reason = "unsupported version of its format"
        raise bad_lock_error(lock, reason, "run with Poetry 2: poetry lock")
    return tuple(map(_convert_poetry_row, _list_main_packages(lock)))


def list_main_group(lock: LockFile) -> Iterator[Table]:
    """Yield the packages of the main group on any target. Those of extras are in it too: their
    markers name the extra."""
    for package in read_rows(lock.document, "package"):
        groups = package.get("groups")
        if isinstance(groups, list) and _MAIN in groups:
            yield package


def _list_main_packages(lock: LockFile) -> Iterator[Table]:
    for package in list_main_group(lock):
        marker = package.get("markers")
        if isinstance(marker, dict):
            marker = marker.get(_MAIN)
        if marker != _NEVER and is_marker_true(marker, lock):
            yield package


def _convert_poetry_row(package: Table) -> LockRow:
    source = read_table(package, "source")
    kind = str(source.get("type", ""))
    is_local = kind == "directory"
    wheels = {
        str(file.get("file", "")): read_digest(file.get("hash"))
        for file in read_rows(package, "files")
    }
    return LockRow(
        name=read_name(package),
        version=str(package.get("version", "")),
        wheels=wheels,
        folder=str(source.get("url", "")) if is_local else "",
        origin=""
        if is_local or kind in _POETRY_INDEX
        else _POETRY_FOREIGN.get(kind, "another source"),
    )


def list_pylock_rows(lock: LockFile) -> tuple[LockRow, ...]:
    if not str(lock.document.get("lock-version", "")).startswith("1."):
        reason = "unsupported version of its format"
        raise bad_lock_error(lock, reason, "create it again with version 1.0 of the format")
    groups = lock.document.get("default-groups")
    given = {
        "extras": frozenset[str](),
        "dependency_groups": frozenset(map(str, groups if isinstance(groups, list) else ())),
    }
    _check_environments(lock)
    rows = read_rows(lock.document, "packages")
    needed = [row for row in rows if is_marker_true(row.get("marker"), lock, **given)]
    for row in needed:
        require_python(lock, str(row.get("requires-python", "")), read_name(row))
    return tuple(_convert_row(row) for row in needed if not _is_project(row))


def _check_environments(lock: LockFile) -> None:
    """Raise for a lock that was made for other systems only."""
    listed = lock.document.get("environments")
    if isinstance(listed, list) and listed and not any(is_marker_true(one, lock) for one in listed):
        reason = f"it is for other environments: {listed[0]}"
        raise bad_lock_error(lock, reason, "create it again for Linux and the function's Python")


def _is_project(package: Table) -> bool:
    path = read_table(package, "directory").get("path")
    return path is not None and os.path.normpath(str(path)) == "."


def _convert_row(package: Table) -> LockRow:
    wheels = {
        str(wheel.get("name") or read_file_name(wheel.get("url") or wheel.get("path"))): str(
            read_digest(f"sha256:{read_table(wheel, 'hashes').get('sha256', '')}")
        )
        for wheel in read_rows(package, "wheels")
    }
    directory = read_table(package, "directory")
    folder = [str(directory.get(key, "")) for key in ("path", "subdirectory")]
    return LockRow(
        name=read_name(package),
        version=str(package.get("version") or find_wheel_version(wheels)),
        wheels=wheels,
        folder=os.path.join(*filter(None, folder)) if folder[0] else "",
        origin=next((words for key, words in _FOREIGN.items() if key in package), ""),
    )
