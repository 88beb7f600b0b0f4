"""`uv.lock`: the dependencies of one workspace member, followed from its row."""

import os
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from urllib.parse import parse_qs

from packaging.utils import canonicalize_name

from fabric.model.problems import FabricError, Problem
from fabric.runtimes.packages.git_sources import GitSource, build_git_source
from fabric.runtimes.packages.locks.rows import (
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
    read_texts,
)

_CHECKOUT = ("editable", "directory")
_FOREIGN = {"url": "a URL", "path": "a file"}


def list_uv_rows(lock: LockFile) -> tuple[LockRow, ...] | None:
    """Return the rows that the project needs; None if it is not in the lock."""
    document = lock.document
    if document.get("version") != 1:
        hint = "run: uv export --no-emit-workspace --no-dev -o requirements.lock"
        raise bad_lock_error(lock, "unsupported version of its format", hint)
    packages = read_rows(document, "package")
    root = next((one for one in packages if _find_folder(one) == lock.project), None)
    if root is None:
        return None
    metadata = read_table(root, "metadata")
    lock.check_names(
        (*read_table(root, "dev-dependencies"), *read_table(metadata, "requires-dev")),
        (*read_table(root, "optional-dependencies"), *read_texts(metadata, "provides-extras")),
    )
    return tuple(map(_convert_row, _follow(lock, packages, root)))


def _follow(lock: LockFile, packages: tuple[Table, ...], root: Table) -> tuple[Table, ...]:
    """Walk again until no other conflicting extra is found: markers name them."""
    active = frozenset(
        (
            _encode_conflict("project", read_name(root)),
            *(_encode_conflict("extra", read_name(root), one) for one in lock.extras),
            *(_encode_conflict("group", read_name(root), one) for one in lock.groups),
        )
    )
    while True:
        closure = _Closure(lock, packages, active)
        found = closure.follow(root)
        if not lock.document.get("conflicts") or closure.active <= active:
            _check_conflicts(lock, closure.active)
            return found
        active |= closure.active


def _check_conflicts(lock: LockFile, active: AbstractSet[str]) -> None:
    """Raise for groups and extras that the project declares as conflicting."""
    listed = lock.document.get("conflicts")
    for rows in listed if isinstance(listed, list) else ():
        table = read_rows({"": rows}, "")
        chosen = [row for row in table if _name_conflict_item(row) in active]
        if len(chosen) > 1:
            names = [
                " ".join(f"{key} `{row[key]}`" for key in ("extra", "group") if key in row)
                or f"package `{row.get('package')}`"
                for row in chosen
            ]
            message = f"`{lock.name}` cannot combine {' and '.join(names)}: they are conflicting"
            hint = "choose one of them in `build.extras` and `build.groups` of the function"
            raise FabricError(Problem("input/conflicting-groups", message, hint, lock.place()))


def _name_conflict_item(row: Table) -> str:
    kind = next((key for key in ("extra", "group") if key in row), "project")
    return _encode_conflict(kind, read_name({"name": row.get("package")}), str(row.get(kind, "")))


def _encode_conflict(kind: str, package: str, name: str = "") -> str:
    """Return an item of `conflicts` as markers name it."""
    return "-".join(filter(None, (kind, str(len(package)), package, canonicalize_name(name))))


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
        repository=_read_git_source(package, str(source["git"])) if "git" in source else None,
    )


def _read_git_source(package: Table, text: str) -> GitSource:
    """Read `URL?subdirectory=DIR&rev=main#COMMIT`."""
    address, _, commit = text.partition("#")
    url, _, query = address.partition("?")
    folder = parse_qs(query).get("subdirectory", [""])[0]
    return build_git_source(read_name(package), url, commit, folder)


def _read_wheel_name(wheel: Table) -> str:
    return read_file_name(wheel.get("filename") or wheel.get("url") or wheel.get("path"))


class _Closure:
    """The walk from one package over its dependencies that the target needs."""

    def __init__(
        self, lock: LockFile, packages: tuple[Table, ...], active: AbstractSet[str]
    ) -> None:
        self._lock = lock
        # Conflicting extras and groups as markers name them: those known before, and found.
        self._known, self.active = active, set(active)
        self._by_name: dict[str, list[Table]] = {}
        for package in packages:
            self._by_name.setdefault(read_name(package), []).append(package)

    def follow(self, root: Table) -> tuple[Table, ...]:
        """Return every package below the root, each once, without the root."""
        seen = dict[tuple[int, str], Table]()
        waiting = [(root, extra) for extra in ("", *self._lock.extras)]
        groups = read_table(root, "dev-dependencies")
        for group in groups:
            if canonicalize_name(group) in self._lock.groups:
                waiting.extend(self._list_edges(read_rows(groups, group)))
        while waiting:
            package, extra = waiting.pop()
            if (id(package), extra) not in seen:
                seen[id(package), extra] = package
                waiting.extend(self._list_needs(package, extra))
        unique = {id(package): package for package in seen.values() if package is not root}
        return tuple(unique.values())

    def _list_needs(self, package: Table, extra: str) -> Iterator[tuple[Table, str]]:
        optional = read_table(package, "optional-dependencies")
        kind = "extra" if extra else "project"
        self.active.add(_encode_conflict(kind, read_name(package), extra))
        return self._list_edges(
            read_rows(optional, extra) if extra else read_rows(package, "dependencies")
        )

    def _list_edges(self, edges: Iterable[Table]) -> Iterator[tuple[Table, str]]:
        for edge in edges:
            if is_marker_true(edge.get("marker"), self._lock, extras=self._known):
                needed = self._find(edge)
                yield needed, ""
                yield from ((needed, extra) for extra in read_texts(edge, "extra"))

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
        return any(is_marker_true(marker, self._lock, extras=self._known) for marker in listed)
