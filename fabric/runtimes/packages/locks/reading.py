"""Read the lock of another tool: from its text to the packages of one function."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

import msgspec
from msgspec import Struct
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from fabric.model.builds.python_target import MAIN_ONLY, OptionalDependencies, PythonTarget
from fabric.model.problems import FabricError, Place, Problem
from fabric.runtimes.packages.locks.marked_locks import (
    list_chosen_groups,
    list_pdm_rows,
    list_pipenv_rows,
    list_poetry_rows,
    list_pylock_rows,
)
from fabric.runtimes.packages.locks.rows import (
    LockedPackages,
    LockFile,
    LockRow,
    Table,
    find_lock_command,
    read_name,
    read_table,
    require_python,
    select_packages,
)
from fabric.runtimes.packages.locks.uv_lock import list_uv_rows
from fabric.runtimes.packages.requirements import is_marker_met, parse_requirement, parse_toml
from fabric.runtimes.packages.unread_sources import find_lock_kind

_POETRY, _PIPENV = "poetry.lock", "Pipfile.lock"
_READERS: Mapping[str, Callable[[LockFile], tuple[LockRow, ...] | None]] = {
    "pylock.toml": list_pylock_rows,
    "uv.lock": list_uv_rows,
    _POETRY: list_poetry_rows,
    _PIPENV: list_pipenv_rows,
    "pdm.lock": list_pdm_rows,
}


class LockText(Struct, frozen=True, kw_only=True):
    """The text of a lock, its `path`, and its name in messages."""

    path: str
    name: str
    text: str


def _list_nothing(_folder: str, _extras: tuple[str, ...]) -> tuple[str, ...]:
    return ()


class LockUser(Struct, frozen=True, kw_only=True):
    """The project that a lock is read for: its directory, its dependencies, and the target."""

    folder: str
    dependencies: Sequence[str]
    target: PythonTarget
    # The groups and extras to read, and those that the project defines.
    optional: OptionalDependencies = MAIN_ONLY
    declared: OptionalDependencies = MAIN_ONLY
    # Lists the dependencies of a package in the checkout, by its directory relative to the lock,
    # with these extras.
    list_member_lines: Callable[[str, tuple[str, ...]], Sequence[str]] = _list_nothing


def read_lock(given: LockText, user: LockUser) -> LockedPackages | None:
    """Return the packages of the user; None if the lock does not contain its project."""
    lock = LockFile(
        name=given.name,
        text=given.text,
        document=_parse(given),
        target=user.target,
        project=os.path.relpath(user.folder, os.path.dirname(given.path)),
        optional=user.optional,
        declared=user.declared,
    )
    listed = lock.document.get("requires-python")
    require_python(
        lock, str(listed or read_table(lock.document, "metadata").get("python-versions", ""))
    )
    rows = _READERS[find_lock_kind(given.path)](lock)
    if rows is None:
        return None
    _check_dependencies(lock, rows, user.dependencies)
    _check_members(lock, rows, user)
    return select_packages(rows, lock)


# One lock serves many functions and services.
@lru_cache(maxsize=4)
def _parse(given: LockText) -> Table:
    is_json = os.path.basename(given.path) == _PIPENV
    try:
        return _parse_json(given.text) if is_json else parse_toml(given.text)
    except ValueError as error:
        code = "input/bad-lock" if is_json else "input/bad-toml"
        message = f"`{given.name}`: {error}"
        raise FabricError(Problem(code, message, where=Place(given.name))) from error


def _parse_json(text: str) -> Table:
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except RecursionError:
        message = "nested too deeply"
        raise ValueError(message) from None


def _check_dependencies(
    lock: LockFile, rows: Sequence[LockRow], dependencies: Sequence[str]
) -> None:
    """Raise for a dependency that the lock lacks, or has in another version."""
    if read_table(lock.document, "manifest").get("overrides"):
        return
    outdated = _find_outdated(lock, rows, dependencies)
    if outdated:
        raise FabricError(
            Problem(
                "input/lock-outdated",
                f"`{lock.name}` does not match the dependencies of its project: {outdated}",
                hint=find_lock_command(lock),
                where=lock.place(),
            )
        )


def _find_outdated(lock: LockFile, rows: Sequence[LockRow], dependencies: Sequence[str]) -> str:
    """Find the first dependency that the rows lack, or have in another version."""
    # Poetry locks a dependency that an extra has too for that extra only.
    is_poetry = os.path.basename(lock.name) == _POETRY
    known = map(read_name, list_chosen_groups(lock)) if is_poetry else ()
    versions = {**dict.fromkeys(known, ""), **{row.name: row.version for row in rows}}
    needed = filter(None, map(parse_requirement, dependencies))
    return next((str(one) for one in needed if _is_outdated(one, versions, lock.target)), "")


def _check_members(lock: LockFile, rows: Sequence[LockRow], user: LockUser) -> None:
    """Raise for a dependency of a package in the checkout that the lock does not contain yet."""
    if read_table(lock.document, "manifest").get("overrides"):
        return
    for row, lines in _list_member_lines(rows, user):
        outdated = _find_outdated(lock, rows, lines)
        if outdated:
            message = f"`{lock.name}` does not match the dependencies of `{row.name}`: {outdated}"
            hint, where = find_lock_command(lock), lock.place(row.name)
            raise FabricError(Problem("input/lock-outdated", message, hint, where))


def _list_member_lines(
    rows: Sequence[LockRow], user: LockUser
) -> Iterator[tuple[LockRow, Sequence[str]]]:
    """Yield the dependencies of each package in the checkout, with the extras that the project and
    the other packages ask for."""
    members, asked = [row for row in rows if row.folder], [*user.dependencies]
    extras: Mapping[str, tuple[str, ...]] = {}
    while True:
        listed = [
            (row, user.list_member_lines(row.folder, extras.get(row.name, ()))) for row in members
        ]
        found = _collect_extras([*asked, *(line for _, lines in listed for line in lines)])
        if found == extras:
            return iter(listed)
        extras = found


def _collect_extras(lines: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for one in filter(None, map(parse_requirement, lines)):
        if one.extras:
            found.setdefault(canonicalize_name(one.name), set()).update(one.extras)
    return {name: tuple(sorted(extras)) for name, extras in found.items()}


def _is_outdated(needed: Requirement, versions: Mapping[str, str], target: PythonTarget) -> bool:
    if not is_marker_met(needed, target.markers(), otherwise=False):
        return False
    version = versions.get(canonicalize_name(needed.name))
    if version is None:
        return True
    return bool(version) and not needed.specifier.contains(version, prereleases=True)
