"""`poetry.lock`: the rows of the main group whose markers hold."""

from collections.abc import Iterator

from fabric.runtimes.locks.rows import (
    LockFile,
    LockRow,
    Table,
    bad_lock_error,
    is_marker_true,
    read_digest,
    read_name,
    read_rows,
    read_table,
)

_MAIN = "main"
# Poetry's text for a marker that no environment meets.
_NEVER = "<empty>"
_INDEX = ("", "legacy")
_FOREIGN = {"git": "a git repository", "url": "a URL", "file": "a file"}


def list_poetry_rows(lock: LockFile) -> tuple[LockRow, ...]:
    version = str(read_table(lock.document, "metadata").get("lock-version", ""))
    if not version.startswith("2.") or version == "2.0":
        reason = "unsupported version of its format"
        raise bad_lock_error(lock, reason, "run with Poetry 2: poetry lock")
    return tuple(map(_convert_row, _list_main_packages(lock)))


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


def _convert_row(package: Table) -> LockRow:
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
        origin="" if is_local or kind in _INDEX else _FOREIGN.get(kind, "another source"),
    )
