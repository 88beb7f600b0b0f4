"""Locks whose rows have groups and markers: of Poetry, PDM, Pipenv, and `pylock.toml` (PEP 751)."""

import os
from collections.abc import Iterator

from packaging.utils import canonicalize_name

from fabric.runtimes.packages.git_sources import GitSource, build_git_source
from fabric.runtimes.packages.locks.rows import (
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
    read_texts,
    require_python,
)
from fabric.runtimes.packages.unread_sources import name_group_lock

_MAIN = "main"
_PIPENV_MAIN, _PIPFILE_FORMAT = "default", 6
# Poetry's text for a marker that no environment meets.
_NEVER = "<empty>"
_POETRY_INDEX = ("", "legacy")
_POETRY_FOREIGN = {"url": "a URL", "file": "a file"}
_GIT = "git"


def list_poetry_rows(lock: LockFile) -> tuple[LockRow, ...]:
    version = str(read_table(lock.document, "metadata").get("lock-version", ""))
    if not version.startswith("2.") or version == "2.0":
        reason = "unsupported version of its format"
        raise bad_lock_error(lock, reason, "run with Poetry 2: poetry lock")
    packages = read_rows(lock.document, "package")
    groups = {group for package in packages for group in _read_groups(package)}
    lock.check_names(groups - {_MAIN}, read_table(lock.document, "extras"))
    return tuple(map(_convert_poetry_row, _list_needed_packages(lock)))


def list_chosen_groups(lock: LockFile) -> Iterator[Table]:
    """Yield the packages of the main group and of the chosen ones on any target. Those of extras
    are in the main group: their markers name the extra."""
    for package in read_rows(lock.document, "package"):
        if {_MAIN, *lock.groups} & _read_groups(package).keys():
            yield package


def _read_groups(package: Table) -> dict[str, str]:
    """Return the groups of a package: their names, normalized and as in the lock."""
    return {canonicalize_name(name): name for name in read_texts(package, "groups")}


def _list_needed_packages(lock: LockFile) -> Iterator[Table]:
    for package in list_chosen_groups(lock):
        marker, groups = package.get("markers"), _read_groups(package)
        chosen = [groups[name] for name in {_MAIN, *lock.groups} & groups.keys()]
        by_group = marker if isinstance(marker, dict) else dict.fromkeys(chosen, marker)
        markers = [by_group.get(group) for group in chosen]
        if any(one != _NEVER and is_marker_true(one, lock, extras=lock.extras) for one in markers):
            yield package


def _convert_poetry_row(package: Table) -> LockRow:
    source = read_table(package, "source")
    kind = str(source.get("type", ""))
    is_local = kind == "directory"
    is_read = is_local or kind in (*_POETRY_INDEX, _GIT)
    wheels = {
        str(file.get("file", "")): read_digest(file.get("hash"))
        for file in read_rows(package, "files")
    }
    return LockRow(
        name=read_name(package),
        version=str(package.get("version", "")),
        wheels=wheels,
        folder=str(source.get("url", "")) if is_local else "",
        origin="" if is_read else _POETRY_FOREIGN.get(kind, "another source"),
        repository=_read_repository(read_name(package), source, "url", "resolved_reference")
        if kind == _GIT
        else None,
    )


def _read_repository(name: str, table: Table, url: str, commit: str) -> GitSource:
    """Read the repository of a package from a table. `url` and `commit` are keys in it."""
    return build_git_source(
        name, str(table.get(url, "")), table.get(commit), table.get("subdirectory")
    )


def list_pdm_rows(lock: LockFile) -> tuple[LockRow, ...]:
    """Return the rows of `pdm.lock`, which has extras of the project as groups."""
    metadata = read_table(lock.document, "metadata")
    version = str(metadata.get("lock_version", ""))
    if not version.startswith("4.") or "inherit_metadata" not in read_texts(metadata, "strategy"):
        reason = "it has no groups and markers for each package"
        raise bad_lock_error(lock, reason, "run: pdm lock --update-reuse -S inherit_metadata")
    pythons = [str(one.get("requires_python", "")) for one in read_rows(metadata, "targets")]
    require_python(lock, " || ".join(pythons) if all(pythons) else "")
    groups = read_texts(metadata, "groups")
    lock.check_names(groups, groups)
    chosen = {"default", *lock.groups, *lock.extras}
    return tuple(
        _convert_pdm_row(package)
        for package in read_rows(lock.document, "package")
        if chosen & _read_groups(package).keys() and is_marker_true(package.get("marker"), lock)
    )


def _convert_pdm_row(package: Table) -> LockRow:
    wheels = {
        str(file.get("file") or read_file_name(file.get("url"))): read_digest(file.get("hash"))
        for file in read_rows(package, "files")
    }
    path = str(package.get("path", ""))
    is_file = path.endswith((".whl", ".gz", ".zip"))
    return LockRow(
        name=read_name(package),
        version=str(package.get("version", "")),
        wheels=wheels,
        folder="" if is_file else path,
        origin="a file" if is_file else "a URL" if "url" in package else "",
        repository=_read_repository(read_name(package), package, _GIT, "revision")
        if _GIT in package
        else None,
    )


def list_pipenv_rows(lock: LockFile) -> tuple[LockRow, ...]:
    """Return the rows of `Pipfile.lock`. Its markers are those of one Python."""
    meta = read_table(lock.document, "_meta")
    if meta.get("pipfile-spec") != _PIPFILE_FORMAT:
        raise bad_lock_error(lock, "unsupported version of its format", "run: pipenv lock")
    required = read_table(meta, "requires")
    python = str(required.get("python_version") or required.get("python_full_version") or "")
    if python:
        require_python(lock, f"=={'.'.join(python.split('.')[:2])}.*")
    names = set(lock.document) - {"_meta", _PIPENV_MAIN}
    lock.check_names(names, ())
    chosen = [
        _PIPENV_MAIN,
        *(one for one in sorted(names) if canonicalize_name(one) in lock.groups),
    ]
    return tuple(
        _convert_pipenv_row(canonicalize_name(name), package)
        for category in chosen
        for name, package in read_table(lock.document, category).items()
        if isinstance(package, dict) and is_marker_true(package.get("markers"), lock)
    )


def _convert_pipenv_row(name: str, package: Table) -> LockRow:
    origins = {"hg": "a repository", "file": "a URL"}
    path = str(package.get("path", ""))
    is_file = path.endswith((".whl", ".gz", ".zip"))
    origin = next((words for key, words in origins.items() if key in package), "")
    version = str(package.get("version", ""))
    return LockRow(
        name=name,
        version=version.removeprefix("==") if version.startswith("==") else "",
        hashes=tuple(sorted(filter(None, map(read_digest, read_texts(package, "hashes"))))),
        folder="" if is_file else path,
        origin="a file" if is_file else origin,
        repository=_read_repository(name, package, _GIT, "ref") if _GIT in package else None,
    )


def list_pylock_rows(lock: LockFile) -> tuple[LockRow, ...]:
    if not str(lock.document.get("lock-version", "")).startswith("1."):
        reason = "unsupported version of its format"
        raise bad_lock_error(lock, reason, "create it again with version 1.0 of the format")
    groups = read_texts(lock.document, "dependency-groups")
    # A lock with the name of a group is of this group.
    named = [one for one in lock.optional.groups if name_group_lock(one) in lock.name]
    lock.check_names((*groups, *named), read_texts(lock.document, "extras"))
    chosen = {*read_texts(lock.document, "default-groups"), *lock.groups}
    _check_environments(lock)
    needed = [
        row
        for row in read_rows(lock.document, "packages")
        if is_marker_true(row.get("marker"), lock, extras=lock.extras, groups=chosen)
    ]
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
    directory, vcs = read_table(package, "directory"), read_table(package, "vcs")
    is_git = vcs.get("type") == _GIT
    folder = [str(directory.get(key, "")) for key in ("path", "subdirectory")]
    return LockRow(
        name=read_name(package),
        version=str(package.get("version") or find_wheel_version(wheels)),
        wheels=wheels,
        folder=os.path.join(*filter(None, folder)) if folder[0] else "",
        origin="a file"
        if "archive" in package
        else "a repository"
        if "vcs" in package and not is_git
        else "",
        repository=_read_repository(
            read_name(package), vcs, "url" if "url" in vcs else "path", "commit-id"
        )
        if is_git
        else None,
    )
