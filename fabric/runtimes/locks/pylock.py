"""`pylock.toml`, the format of PEP 751: the rows whose markers hold, without extras."""

import os

from fabric.runtimes.locks.rows import (
    LockFile,
    LockRow,
    Table,
    bad_lock_error,
    is_marker_true,
    read_file_name,
    read_name,
    read_rows,
    read_table,
)

_FOREIGN = {"vcs": "a git repository", "archive": "a file"}


def list_pylock_rows(lock: LockFile) -> tuple[LockRow, ...]:
    if not str(lock.document.get("lock-version", "")).startswith("1."):
        reason = "unsupported version of its format"
        raise bad_lock_error(lock, reason, "create it again with version 1.0 of the format")
    groups = lock.document.get("default-groups")
    given = {
        "extras": frozenset[str](),
        "dependency_groups": frozenset(map(str, groups if isinstance(groups, list) else ())),
    }
    rows = read_rows(lock.document, "packages")
    needed = (row for row in rows if is_marker_true(row.get("marker"), lock, **given))
    return tuple(_convert_row(row) for row in needed if not _is_project(row))


def _is_project(package: Table) -> bool:
    path = read_table(package, "directory").get("path")
    return path is not None and os.path.normpath(str(path)) == "."


def _convert_row(package: Table) -> LockRow:
    wheels = {
        str(wheel.get("name") or read_file_name(wheel.get("url") or wheel.get("path"))): str(
            read_table(wheel, "hashes").get("sha256", "")
        )
        for wheel in read_rows(package, "wheels")
    }
    return LockRow(
        name=read_name(package),
        version=str(package.get("version", "")),
        wheels=wheels,
        folder=str(read_table(package, "directory").get("path", "")),
        origin=next((words for key, words in _FOREIGN.items() if key in package), ""),
    )
