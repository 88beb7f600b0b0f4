"""`uv.lock`: the dependencies of one workspace member, followed from its row."""

import os
from collections.abc import Iterator

from fabric.runtimes.locks.rows import (
    LockFile,
    LockRow,
    Table,
    bad_lock_error,
    find_lock_command,
    find_wheel_version,
    is_marker_true,
    read_digest,
    read_file_name,
    read_name,
    read_rows,
    read_table,
)

_CHECKOUT = ("editable", "directory")
_FOREIGN = {"git": "a git repository", "url": "a URL", "path": "a file"}


def list_uv_rows(lock: LockFile) -> tuple[LockRow, ...] | None:
    """Return the rows that the project needs; None if it is not in the lock."""
    document = lock.document
    if document.get("version") != 1 or document.get("conflicts"):
        has_conflicts = document.get("version") == 1
        reason = "it has `conflicts`" if has_conflicts else "unsupported version of its format"
        hint = "run: uv export --no-emit-workspace --no-dev -o requirements.lock"
        raise bad_lock_error(lock, reason, hint)
    packages = read_rows(document, "package")
    root = next((one for one in packages if _find_folder(one) == lock.project), None)
    if root is None:
        return None
    return tuple(map(_convert_row, _Closure(lock, packages).follow(root)))


def _find_folder(package: Table) -> str | None:
    source = read_table(package, "source")
    paths = (source[key] for key in (*_CHECKOUT, "virtual") if key in source)
    return next((os.path.normpath(str(path)) for path in paths), None)


def _convert_row(package: Table) -> LockRow:
    source = read_table(package, "source")
    foreign = (words for key, words in _FOREIGN.items() if key in source)
    wheels = {
        _read_wheel_name(wheel): read_digest(wheel.get("hash"))
        for wheel in read_rows(package, "wheels")
    }
    return LockRow(
        name=read_name(package),
        version=str(package.get("version") or find_wheel_version(wheels)),
        is_virtual="virtual" in source,
        wheels=wheels,
        folder=next((str(source[key]) for key in _CHECKOUT if key in source), ""),
        origin=next(foreign, ""),
    )


def _read_wheel_name(wheel: Table) -> str:
    return read_file_name(wheel.get("filename") or wheel.get("url") or wheel.get("path"))


class _Closure:
    """The walk from one package over its dependencies that the target needs."""

    def __init__(self, lock: LockFile, packages: tuple[Table, ...]) -> None:
        self._lock = lock
        self._by_name: dict[str, list[Table]] = {}
        for package in packages:
            self._by_name.setdefault(read_name(package), []).append(package)

    def follow(self, root: Table) -> tuple[Table, ...]:
        """Return every package below the root, each once, without the root."""
        waiting, seen = [(root, "")], dict[tuple[int, str], Table]()
        while waiting:
            package, extra = waiting.pop()
            if (id(package), extra) not in seen:
                seen[id(package), extra] = package
                waiting.extend(self._list_needs(package, extra))
        unique = {id(package): package for package in seen.values() if package is not root}
        return tuple(unique.values())

    def _list_needs(self, package: Table, extra: str) -> Iterator[tuple[Table, str]]:
        optional = read_table(package, "optional-dependencies")
        edges = read_rows(optional, extra) if extra else read_rows(package, "dependencies")
        for edge in edges:
            if is_marker_true(edge.get("marker"), self._lock):
                needed = self._find(edge)
                yield needed, ""
                extras = edge.get("extra")
                if isinstance(extras, list):
                    yield from ((needed, str(one)) for one in extras)

    def _find(self, edge: Table) -> Table:
        found = self._by_name.get(read_name(edge), [])
        for key in ("version", "source"):
            if key in edge:
                found = [one for one in found if one.get(key) == edge[key]]
        if len(found) > 1:  # versions for separate parts of all targets
            found = [one for one in found if self._is_for_target(one)]
        if len(found) != 1:
            name = read_name(edge)
            reason = f"more than one row for `{name}`" if found else f"no row for `{name}`"
            raise bad_lock_error(self._lock, reason, find_lock_command(self._lock), name)
        return found[0]

    def _is_for_target(self, package: Table) -> bool:
        markers = package.get("resolution-markers")
        listed = markers if isinstance(markers, list) else [""]
        return any(is_marker_true(marker, self._lock) for marker in listed)
