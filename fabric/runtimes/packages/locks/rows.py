"""Rows of a lock as a function needs them on its target: one wheel each, or a directory."""

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace
from packaging.markers import (
    InvalidMarker,
    Marker,
    UndefinedComparison,
    UndefinedEnvironmentName,
)
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import (
    BuildTag,
    InvalidWheelFilename,
    canonicalize_name,
    is_normalized_name,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from fabric.model.builds.python_target import MAIN_ONLY, OptionalDependencies, PythonTarget
from fabric.model.problems import FabricError, Place, Problem
from fabric.runtimes.packages.dependency_groups import check_names
from fabric.runtimes.packages.git_sources import GitSource, find_git_problem, find_version_conflict
from fabric.runtimes.packages.locks.ranges import includes_python
from fabric.runtimes.packages.requirements import Pin, mark_locked, no_wheel_problem
from fabric.runtimes.packages.unread_sources import (
    UnreadSource,
    find_lock_kind,
    foreign_source_problem,
)

Table = Mapping[str, object]
_SHA256 = re.compile("[0-9a-f]{64}")
# Several extras can be chosen, so a comparison with one is a search in all of them.
_EXTRA = re.compile(r"""\bextra\s*(?P<operator>==|!=)\s*(?P<name>"[^"]*"|'[^']*')""")
_COMMANDS = {
    "pylock.toml": "create it again with your tool",
    "uv.lock": "run: uv lock",
    "poetry.lock": "run: poetry lock",
    "Pipfile.lock": "run: pipenv lock",
    "pdm.lock": "run: pdm lock",
}


class LockFile(Struct, frozen=True, kw_only=True):
    """A lock, parsed, and the project and target that it is read for."""

    # As messages print it.
    name: str
    text: str
    document: Table
    target: PythonTarget
    # The project's directory, relative to that of the lock.
    project: str = "."
    # The groups and extras to read, and those that the project defines.
    optional: OptionalDependencies = MAIN_ONLY
    declared: OptionalDependencies = MAIN_ONLY

    @property
    def groups(self) -> frozenset[str]:
        return frozenset(map(canonicalize_name, self.optional.groups))

    @property
    def extras(self) -> frozenset[str]:
        return frozenset(map(canonicalize_name, self.optional.extras))

    def check_names(self, groups: Iterable[str], extras: Iterable[str]) -> None:
        """Raise for a name that neither the lock nor the project has."""
        known = OptionalDependencies(
            (*groups, *self.declared.groups), (*extras, *self.declared.extras)
        )
        check_names(self.name, self.optional, known)

    def place(self, package: str = "") -> Place:
        """Return the first line of a package in the lock."""
        return Place(self.name, find_package_line(self.text, package))


def find_package_line(text: str, package: str) -> int:
    """Return the first line of a package in the text of a lock; 0 without one."""
    line = f'"{package}": {{' if text.startswith("{") else f'name = "{package}"'
    before, found, _ = re.sub(r"\n +", "\n", text).partition(f"\n{line}\n")
    return before.count("\n") + 2 if found else 0


def find_lock_command(lock: LockFile) -> str:
    return _COMMANDS[find_lock_kind(lock.name)]


def bad_lock_error(lock: LockFile, reason: str, hint: str, package: str = "") -> FabricError:
    """Return the error for a lock that cannot be read, with the place of a package."""
    message = f"cannot read `{lock.name}`: {reason}"
    return FabricError(Problem("input/bad-lock", message, hint, lock.place(package)))


class LockRow(Struct, frozen=True, kw_only=True):
    """One package of a lock. A virtual one has no files."""

    name: str
    is_virtual: bool = False
    version: str = ""
    # SHA-256 by file name; empty if the lock has none.
    wheels: Mapping[str, str] = {}
    # SHA-256 hashes of its files, from which pip chooses, if the lock has no names of files.
    hashes: tuple[str, ...] = ()
    # Its directory in the checkout, relative to that of the lock.
    folder: str = ""
    # A source that fabric does not read.
    origin: str = ""
    repository: GitSource | None = None


class LockedPackages(Struct, frozen=True):
    """The packages of one function on its target: wheels by hash, directories relative to the
    lock, and repositories at a commit."""

    pins: tuple[Pin, ...] = ()
    # Directories by package name.
    folders: tuple[tuple[str, str], ...] = ()
    repositories: tuple[GitSource, ...] = ()

    @property
    def text(self) -> str:
        """The wheels and repositories as requirements. Equal sets have equal texts."""
        lines = sorted([*(pin.line for pin in self.pins), *(one.line for one in self.repositories)])
        text = "".join(f"{line}\n" for line in lines)
        return mark_locked(text) if self.repositories else text


def select_packages(rows: Iterable[LockRow], lock: LockFile) -> LockedPackages:
    """Choose one wheel of each row for the target. Raises for all rows that have none."""
    pins, folders, problems = list[Pin](), list[tuple[str, str]](), list[Problem]()
    repositories: list[GitSource] = []
    for row in sorted(rows, key=lambda row: (row.name, row.version)):
        if row.origin:
            source = UnreadSource(row.name, row.origin)
            problems.append(foreign_source_problem(source, lock.place(row.name)))
        elif row.repository:
            _check_repository(row.repository, lock)
            problem = find_git_problem(row.repository, "", lock.place(row.name))
            problems += [problem] if problem else []
            repositories.append(row.repository)
        elif row.folder:
            folders.append((row.name, row.folder))
        elif not row.is_virtual:
            found = _convert_hashes(row, lock) if row.hashes else _choose_wheel(row, lock)
            if isinstance(found, Pin):
                pins.append(found)
            else:
                problems.append(found)
    if problems:
        raise FabricError(*problems)
    _check_versions(pins, repositories, lock)
    return LockedPackages(
        tuple(dict.fromkeys(pins)),
        tuple(dict.fromkeys(folders)),
        tuple(dict.fromkeys(repositories)),
    )


def _check_versions(pins: Iterable[Pin], repositories: Iterable[GitSource], lock: LockFile) -> None:
    """Raise for two versions of a package, which groups that are locked apart can have."""
    versions = ((pin.name, pin.version) for pin in pins)
    conflict = find_version_conflict((*versions, *((one.name, one.origin) for one in repositories)))
    if conflict:
        raise bad_lock_error(lock, conflict.reason, find_lock_command(lock), conflict.name)


def _convert_hashes(row: LockRow, lock: LockFile) -> Pin:
    _check_row(row, lock)
    return Pin(row.name, row.version, row.hashes)


def _choose_wheel(row: LockRow, lock: LockFile) -> Pin | Problem:
    _check_row(row, lock)
    ranks = rank_wheel_tags(lock.target)
    supported = [
        (min(ranks[tag] for tag in tags & ranks.keys()), build, file)
        for file, tags, build in _parse_wheels(row, lock)
        if tags & ranks.keys()
    ]
    if not supported:
        problem = no_wheel_problem(f"{row.name}=={row.version}", lock.target)
        return replace(problem, where=lock.place(row.name))
    best = min(rank for rank, _, _ in supported)
    _, file = max((build, file) for rank, build, file in supported if rank == best)
    if not row.wheels[file]:
        return Problem(
            "vendor/hash-missing",
            f"hash required: `{lock.name}` has no SHA-256 hash for `{file}`",
            hint="lock again with an index that provides hashes",
            where=lock.place(row.name),
        )
    return Pin(row.name, row.version, (row.wheels[file],))


def _check_name(name: str, lock: LockFile) -> None:
    if not is_normalized_name(name):
        raise bad_lock_error(lock, f"invalid package name `{name}`", find_lock_command(lock))


def _check_repository(source: GitSource, lock: LockFile) -> None:
    _check_name(source.name, lock)
    if not source.subdirectory.isprintable():
        reason = f"invalid subdirectory of `{source.name}`: {source.subdirectory!r}"
        raise bad_lock_error(lock, reason, find_lock_command(lock), source.name)


def _check_row(row: LockRow, lock: LockFile) -> None:
    """Raise for a name or a version that is none: both are passed to pip."""
    _check_name(row.name, lock)
    try:
        Version(row.version)
    except InvalidVersion as error:
        reason = f"invalid version `{row.version}`" if row.version else "no version"
        message = f"{reason} of `{row.name}`"
        raise bad_lock_error(lock, message, find_lock_command(lock), row.name) from error


def find_wheel_version(files: Iterable[str]) -> str:
    """Return the version in the file names of wheels, for rows without one."""
    for file in files:
        with contextlib.suppress(InvalidWheelFilename):
            return str(parse_wheel_filename(file)[1])
    return ""


@lru_cache(maxsize=32)
def rank_wheel_tags(target: PythonTarget) -> Mapping[Tag, int]:
    """Return the rank of every wheel tag that the target supports, as pip orders them."""
    major, minor = map(int, target.full_python.split(".")[:2])
    version, interpreter = (major, minor), f"cp{major}{minor}"
    platforms = target.platforms
    tags = (
        *cpython_tags(version, abis=[interpreter], platforms=platforms),
        *compatible_tags(version, interpreter=interpreter, platforms=platforms),
    )
    return {tag: rank for rank, tag in enumerate(dict.fromkeys(tags))}


def _parse_wheels(row: LockRow, lock: LockFile) -> Iterator[tuple[str, frozenset[Tag], BuildTag]]:
    for file in row.wheels:
        try:
            name, version, build, tags = parse_wheel_filename(file)
        except InvalidWheelFilename:
            continue  # source archives, and wheels that no installer selects
        if name != row.name or version.public != Version(row.version).public:
            message = f"`{file}` is not a wheel of `{row.name}` {row.version}"
            raise bad_lock_error(lock, message, find_lock_command(lock), row.name)
        yield file, tags, build


def is_marker_true(
    text: object,
    lock: LockFile,
    *,
    extras: AbstractSet[str] = frozenset(),
    groups: AbstractSet[str] = frozenset(),
) -> bool:
    """Evaluate a marker of a lock for the target with these extras and groups. No marker is
    true."""
    if not text:
        return True
    sets = {"extras": extras, "dependency_groups": groups}
    values: dict[str, str | AbstractSet[str]] = {**lock.target.markers(), "extra": "", **sets}
    try:
        return Marker(_EXTRA.sub(_convert_extra, str(text))).evaluate(values, "lock_file")
    except (InvalidMarker, UndefinedComparison, UndefinedEnvironmentName) as error:
        message = f"invalid marker `{text}`"
        raise bad_lock_error(lock, message, find_lock_command(lock)) from error


def _convert_extra(found: re.Match[str]) -> str:
    return f"{found['name']} {'in' if found['operator'] == '==' else 'not in'} extras"


def require_python(lock: LockFile, supported: str, package: str = "") -> None:
    """Raise for a lock, or a package of it, that leaves the function's Python out: its markers are
    shortened accordingly."""
    subject = f"`{package}` in `{lock.name}`" if package else f"`{lock.name}`"
    hint = "change `runtime`, or change the Python version of the project and lock again"
    problem = find_python_problem(subject, supported, lock.target)
    if problem:
        raise FabricError(replace(problem, hint=hint, where=lock.place(package)))


def find_python_problem(subject: str, supported: str, target: PythonTarget) -> Problem | None:
    """Return the problem of a project that leaves the function's Python out. Empty supports all."""
    minor = ".".join(target.full_python.split(".")[:2])
    if includes_python(supported, minor):
        return None
    message = f"{subject} is for Python {supported}, and the function runs on {minor}"
    hint = "change `runtime`, or `requires-python` of the project"
    return Problem("input/lock-python", message, hint)


def read_rows(table: Table, key: str) -> tuple[Table, ...]:
    """Return the tables in a list, and nothing for other values."""
    rows = table.get(key)
    return tuple(row for row in rows if isinstance(row, dict)) if isinstance(rows, list) else ()


def read_table(table: Table, *keys: str) -> Table:
    found: object = table
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def read_texts(table: Table, key: str) -> tuple[str, ...]:
    """Return the texts in a list, and nothing for other values."""
    items = table.get(key)
    return tuple(map(str, items)) if isinstance(items, list) else ()


def read_name(table: Table) -> str:
    return canonicalize_name(str(table.get("name", "")))


def read_file_name(url: object) -> str:
    return unquote(str(url).rpartition("/")[2].partition("#")[0])


def read_digest(value: object) -> str:
    """Return the hash of `sha256:…`; empty for other algorithms."""
    algorithm, _, digest = str(value).partition(":")
    return digest if algorithm == "sha256" and _SHA256.fullmatch(digest) else ""
