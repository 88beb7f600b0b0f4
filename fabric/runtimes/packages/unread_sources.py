"""Sources and locks of other tools: unsupported ones are rejected or reported.

A uv workspace member or a Poetry path dependency can share its name with a foreign package in a
public index. So it must never be looked up there.
"""

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from fabric.model.problems import FabricError, Place, Problem
from fabric.model.secrets.secrecy import redact_userinfo
from fabric.runtimes.packages.git_sources import find_git_problem, parse_git_line
from fabric.runtimes.packages.requirements import (
    find_local_path,
    find_local_paths,
    is_own_lock,
    list_required_names,
    list_requirement_lines,
    normalize_package_name,
    parse_toml,
    remove_git_lines,
)
from fabric.runtimes.recorded_inputs import place

PROJECT = "pyproject.toml"
_UV_LOCK = "uv.lock"
_PIPFILE, _PIPENV_LOCK = "Pipfile", "Pipfile.lock"
# Locks that fabric reads, in the order of choice.
PYLOCK = "pylock.toml"
READ_LOCKS = (PYLOCK, _UV_LOCK, "poetry.lock", _PIPENV_LOCK, "pdm.lock")
_NAMED_LOCK = re.compile(r"pylock\.[^.]+\.toml")
_REPOSITORY = re.compile(
    r"(?:(?:-e|--editable)[ =]\s*)?(?:[A-Za-z0-9._-]+(?:\[[^\]]*\])?\s*@\s*)?(?:git|hg|svn|bzr)\+"
)
_PUBLIC_INDEX = "https://pypi.org/"
_NOT_IN_LOCK = "add the project of this service to the lock, and lock again"
_LOCKS = (*READ_LOCKS, _PIPFILE)


def find_lock_kind(path: str) -> str:
    """Return the name of a lock's format: `pylock.toml` for `pylock.worker.toml`."""
    name = os.path.basename(path)
    return PYLOCK if _NAMED_LOCK.fullmatch(name) else name


def name_group_lock(group: str) -> str:
    """Return the name of the PEP 751 lock for one group."""
    return f"pylock.{group}.toml"


class UnreadSource(Struct, frozen=True):
    """A dependency from outside the package index. Its name there can belong to another owner."""

    name: str
    origin: str


def find_unread_sources(
    pyproject: str, workspace: str = "", requirements: str = ""
) -> tuple[UnreadSource, ...]:
    """Return packages with a separate source in uv or Poetry: those of `requirements`, or without
    it those of the project.

    `workspace` is the pyproject.toml of the surrounding uv workspace. Raises ValueError for bad
    TOML.
    """
    if not pyproject:
        return ()
    document = parse_toml(pyproject)
    above = parse_toml(workspace) if workspace else {}
    named = list_required_names(requirements or "\n".join(_read_dependencies(document)))
    sources: dict[str, object] = {}
    for table in (
        _read_table(above, "tool", "uv", "sources"),
        _read_table(document, "tool", "uv", "sources"),
    ):
        sources |= {normalize_package_name(name): source for name, source in table.items()}
    for name, source in _read_table(document, "tool", "poetry", "dependencies").items():
        if isinstance(source, dict | list):
            sources.setdefault(normalize_package_name(name), source)
    found = (
        UnreadSource(name, _describe_origin(sources[name])) for name in sorted(named & set(sources))
    )
    return tuple(one for one in found if one.origin)


def has_uv_workspace(pyproject: str) -> bool:
    """Return whether it defines a uv workspace, in any TOML notation. A parent project with bad
    TOML is not a workspace."""
    if "workspace" not in pyproject:
        return False
    try:
        return "workspace" in _read_table(parse_toml(pyproject), "tool", "uv")
    except ValueError:
        return False


def find_unread_indexes(pyproject: str) -> tuple[str, ...]:
    """Return the package indexes that uv or Poetry use instead of, or in addition to, pip's."""
    tool = _read_table(parse_toml(pyproject), "tool") if pyproject else {}
    listed = (_read_table(tool, "uv").get("index"), _read_table(tool, "poetry").get("source"))
    indexes = [each for one in listed if isinstance(one, list) for each in one]
    return tuple(
        str(one.get("name") or "without a name")
        for one in indexes
        if isinstance(one, dict) and not str(one.get("url", "")).startswith(_PUBLIC_INDEX)
    )


def _read_dependencies(document: Mapping[str, object]) -> list[str]:
    found = _read_table(document, "project").get("dependencies", [])
    return [str(one) for one in found] if isinstance(found, list) else []


def _read_table(document: Mapping[str, object], *keys: str) -> Mapping[str, object]:
    found: object = document
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


_ORIGINS = {
    "workspace": "a member of the uv workspace",
    "path": "a path",
    "git": "a git repository",
    "url": "a URL",
    "file": "a file",
    "index": "another index",
    "source": "another index",
}


def _describe_origin(source: object) -> str:
    """Describe the origin; empty for a plain version constraint."""
    if isinstance(source, list):
        return next(filter(None, map(_describe_origin, source)), "")
    keys = source if isinstance(source, dict) else {}
    return next((words for key, words in _ORIGINS.items() if keys.get(key)), "")


class OtherTools(Struct, frozen=True):
    """The uv, Poetry and pipenv files of a directory below `base`."""

    base: str
    folder: str
    # Reads a file; a missing one is empty.
    text_of: Callable[[str], str]
    # The groups that a function needs: each can have a lock.
    groups: tuple[str, ...] = ()
    # Where lines of requirements with repositories and paths are.
    places: Mapping[str, Place] = {}

    @property
    def _workspace(self) -> str:
        """The pyproject.toml of the surrounding uv workspace; empty without one."""
        above = os.path.dirname(self.folder)
        while True:
            path = os.path.join(above, PROJECT)
            if has_uv_workspace(self.text_of(path)):
                return path
            if above == os.path.dirname(above) or os.path.isdir(os.path.join(above, ".git")):
                return ""
            above = os.path.dirname(above)

    @property
    def looked_at(self) -> tuple[str, ...]:
        workspace = self._workspace
        locks = [os.path.join(self.folder, name) for name in (*self._named_locks, *_LOCKS)]
        shared = [workspace, os.path.join(os.path.dirname(workspace), _UV_LOCK)]
        return (*locks, *(shared if workspace else ()))

    def check(self, name: str, text: str, project: str, file: str) -> None:
        """Raise for packages whose names must not be looked up in an index. `project` are the
        requirements of pyproject.toml."""
        problems = [
            self._build_path_problem(line, self.places.get(line, Place(file)))
            for line in find_local_paths(text)
            if not _REPOSITORY.match(line)
        ]
        problems += _list_repository_problems(text, Place(file), self.places)
        if name == PROJECT or (name.endswith(".lock") and is_own_lock(text)):
            problems += self._find_source_problems(project)
        elif text:
            with contextlib.suppress(ValueError):  # nothing else of it is read
                problems += self._find_source_problems(remove_git_lines(text))
        if problems:
            raise FabricError(*problems)

    def _build_path_problem(self, line: str, where: Place) -> Problem:
        path = find_local_path(line)
        if path and not os.path.exists(os.path.join(self.folder, path)):
            message = f"`{line}` does not exist"
            hint = "correct the path: it is relative to the directory of the requirements"
            return Problem("input/package-path", message, hint, where)
        return Problem(
            "input/package-path",
            f"`{line}` is a path, and fabric does not build packages from source",
            hint="name a directory with a pyproject.toml, or list a version with a wheel in an "
            "index",
            where=where,
        )

    def check_locked(self, listed: str, project: str) -> None:
        """Raise for packages of Pipenv or Poetry without a lock, if nothing else lists packages.
        `listed` is the file that counts, and `project` are the requirements of pyproject.toml."""
        if listed != PROJECT or list_requirement_lines(project):
            return
        path = os.path.join(self.folder, _PIPFILE)
        if self.text_of(path).strip() and not os.path.isfile(f"{path}.lock"):
            file = place(self.base, path)
            message = f"`{file}` has no lock"
            raise FabricError(
                Problem("input/lock-missing", message, "run: pipenv lock", Place(file))
            )
        path = os.path.join(self.folder, PROJECT)
        text = self.text_of(path)
        document = parse_toml(text) if text else {}
        names = sorted(_read_table(document, "tool", "poetry", "dependencies").keys() - {"python"})
        if names and not any(self.readable_locks):
            file = place(self.base, path)
            listed = ", ".join(f"`{name}`" for name in names)
            message = f"`{file}` has dependencies of Poetry without a lock: {listed}"
            raise FabricError(
                Problem("input/lock-missing", message, "run: poetry lock", Place(file))
            )

    def _find_source_problems(self, requirements: str) -> list[Problem]:
        path, workspace = os.path.join(self.folder, PROJECT), self._workspace
        above = self.text_of(workspace) if workspace else ""
        found = find_unread_sources(self.text_of(path), above, requirements)
        return [foreign_source_problem(one, Place(place(self.base, path))) for one in found]

    @property
    def _named_locks(self) -> tuple[str, ...]:
        return tuple(map(name_group_lock, self.groups))

    @property
    def readable_locks(self) -> Iterator[str]:
        """The paths of locks that can contain this project, in the order of choice."""
        there = [one for one in self.looked_at if os.path.isfile(one)]
        for name in (*self._named_locks, *READ_LOCKS):
            yield from (one for one in there if os.path.basename(one) == name)

    def unread_locks(self, name: str, text: str) -> tuple[Problem, ...]:
        """Yield a warning for each lock of another tool that is ignored."""
        if name.endswith(".lock") and list_requirement_lines(text) and not is_own_lock(text):
            return ()
        there = [one for one in self.looked_at if os.path.basename(one) in _LOCKS]
        locks = [place(self.base, one) for one in there if os.path.isfile(one)]
        replaced = {_PIPFILE} if _PIPENV_LOCK in map(os.path.basename, locks) else set[str]()
        if os.path.basename(name) in self._named_locks:
            replaced.add(PYLOCK)
        locks = [one for one in locks if os.path.basename(one) not in replaced]
        read = name if list_requirement_lines(text) or name in locks else ""
        ignored = (_lock_warning(lock, read) for lock in locks if lock != read)
        return (*ignored, *self._find_index_warnings(name))

    def _find_index_warnings(self, name: str) -> Iterator[Problem]:
        if name == PROJECT or find_lock_kind(name) in READ_LOCKS:
            path = os.path.join(self.folder, PROJECT)
            for index in find_unread_indexes(self.text_of(path)):
                yield _index_warning(index, place(self.base, path))


def _list_repository_problems(
    text: str, file: Place, places: Mapping[str, Place]
) -> Iterator[Problem]:
    for line in list_requirement_lines(text):
        where = places.get(line, file)
        source = parse_git_line(line)
        if source is not None:
            problem = find_git_problem(source, line, where)
            if problem is not None:
                yield problem
        elif _REPOSITORY.match(line):
            yield Problem(
                "input/package-source",
                f"unsupported repository: `{redact_userinfo(line)}`",
                hint="use a git repository at a commit: NAME @ git+URL@COMMIT",
                where=where,
            )


def foreign_source_problem(one: UnreadSource, where: Place) -> Problem:
    message = (
        f"unsupported source of package `{one.name}`: {one.origin} (on the package index, the "
        "name can belong to another owner)"
    )
    hint = (
        "list the packages of this function in a requirements.lock without it, and move its code "
        "into the service"
    )
    if one.origin == _ORIGINS["git"]:
        message = f"the repository of package `{one.name}` is not pinned to a commit by a lock"
    if one.origin in (_ORIGINS["git"], _ORIGINS["path"], _ORIGINS["workspace"]):
        hint = "lock the project with uv or Poetry, and keep the lock beside its pyproject.toml"
    return Problem("input/package-source", message, hint, where)


def _index_warning(index: str, file: str) -> Problem:
    return Problem(
        "vendor/index-ignored",
        f"ignoring the index `{index}` of `{file}`: packages come from the index in the "
        "settings of pip",
        hint="set PIP_INDEX_URL, or list the packages in a requirements.txt with --index-url",
        where=Place(file),
    )


def _lock_warning(lock: str, read: str) -> Problem:
    instead = f"versions come from `{read}`" if read else "no packages are installed"
    return Problem(
        "vendor/lock-ignored",
        f"ignoring `{lock}`: {instead}",
        hint=_NOT_IN_LOCK if read in ("", PROJECT) else f"delete `{read}` to use it",
        where=Place(lock),
    )
