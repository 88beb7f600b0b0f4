"""The files that list the packages of a Python function: found, read, and merged to one text."""

import os
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.builds.python_target import MAIN_ONLY, OptionalDependencies, PythonTarget
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.secrets.secrecy import redact_userinfo
from fabric.model.secrets.secret import Secret
from fabric.model.task import Pairs
from fabric.runtimes.contract import InputTrace
from fabric.runtimes.entry import PYTHON_EXTENSIONS, list_entry_candidates
from fabric.runtimes.packages.dependency_groups import (
    ProjectDependencies,
    check_names,
    find_dynamic_problem,
    read_dependencies,
)
from fabric.runtimes.packages.git_sources import parse_git_line
from fabric.runtimes.packages.local_packages import OUTSIDE_HINT, LocalPackages, LocalReader
from fabric.runtimes.packages.requirements import (
    LOCK_FILE,
    find_bare_names,
    find_line_problem,
    find_local_paths,
    format_constraint_line,
    is_own_lock,
    list_constrained_names,
    list_index_lines,
    list_numbered_lines,
    list_requirement_lines,
    lock_is_current,
    lock_name,
    mark_locked,
    remove_packages,
)
from fabric.runtimes.packages.unread_sources import PROJECT, READ_LOCKS, OtherTools, name_group_lock
from fabric.runtimes.recorded_inputs import place, record_tried
from fabric.system.files.disk import read_bytes

_NAMED = re.compile(
    r"\s*(?:-(?P<short>[rc])\s*|--(?P<long>requirement|constraint)[ =]\s*)(?P<file>\S+)"
)
_PLAIN = "requirements.txt"
# Contains the projects in directories below it, too.
_SHARED_LOCK = "uv.lock"
_OF_FUNCTION = (LOCK_FILE, _PLAIN, *READ_LOCKS)
NOWHERE: Secret[tuple[str, ...]] = Secret(())


class VendorSource(Struct, frozen=True):
    """A requirements source: `file` (relative to the workspace) contains `text`, empty for no
    packages."""

    file: str
    text: str
    seen: InputTrace
    # The index options of the requirements, which a lock does not repeat.
    where: Secret[tuple[str, ...]] = NOWHERE
    # Listed packages that the provider includes; the text omits them.
    without: tuple[str, ...] = ()
    warnings: tuple[Problem, ...] = ()
    # Packages in the checkout: name and directory, relative to the workspace.
    folders: Pairs = ()


class PackageRequest(Struct, frozen=True, kw_only=True):
    """Which packages of a directory are read. Without a target, locks of other tools are not."""

    # Packages that the provider's runtime has.
    brought: tuple[str, ...] = ()
    target: PythonTarget | None = None
    optional: OptionalDependencies = MAIN_ONLY


ANY_TARGET = PackageRequest()


class _Project(Struct, frozen=True):
    """The requirements text of a pyproject.toml, and all that it lists."""

    text: str
    dependencies: ProjectDependencies


class _Joined(Struct, frozen=True):
    """One text, the paths of the other files included in it, and the places of its repositories
    and directories."""

    text: str
    others: tuple[str, ...]
    places: tuple[tuple[str, Place], ...] = ()


class PackageFolder(Struct, frozen=True):
    """The directory of a function's package list, relative to the workspace; `looked_at` are the
    paths that decided it."""

    folder: str
    looked_at: tuple[str, ...]


class PackageFolders:
    """The package directories of one service's functions; each directory is checked once."""

    def __init__(self, workspace: Path, root: str, groups: Sequence[str] = ()) -> None:
        self._base = os.path.realpath(workspace)
        self._top = os.path.realpath(os.path.join(self._base, root))
        self._known: dict[str, PackageFolder] = {}
        above = (Path(self._top), *Path(self._top).parents)
        is_shared = any((folder / _SHARED_LOCK).is_file() for folder in above)
        named = map(name_group_lock, groups)
        self._names = (*_OF_FUNCTION, *named, *((PROJECT,) if is_shared else ()))

    def of(self, entry: str) -> PackageFolder:
        """Return the nearest directory with requirements, from the entry up to the service
        directory."""
        paths = [
            os.path.normpath(os.path.join(self._top, one))
            for one, _ in list_entry_candidates(entry)
        ]
        files = [path for path in paths if path.endswith(PYTHON_EXTENSIONS)] or paths
        file = next(filter(os.path.isfile, files), files[0]) if files[1:] else files[0]
        found = self._find_from(os.path.dirname(file))
        # Not the entry itself: it decides nothing as long as it is there, and is edited all day.
        looked_at = (*files[: files.index(file)], *found.looked_at)
        return PackageFolder(found.folder, looked_at)

    def _find_from(self, folder: str) -> PackageFolder:
        found = self._known.get(folder)
        if found is None:
            found = self._known[folder] = self._find_package_folder(folder)
        return found

    def _find_package_folder(self, folder: str) -> PackageFolder:
        if not folder.startswith(self._top + os.sep):
            return PackageFolder(place(self._base, self._top), ())
        own = tuple(os.path.join(folder, name) for name in self._names)
        if any(map(_lists_packages, own)):
            return PackageFolder(place(self._base, folder), own)
        above = self._find_from(os.path.dirname(folder))
        return PackageFolder(above.folder, (*own, *above.looked_at))


def _lists_packages(path: str) -> bool:
    """Return whether a file lists packages. Many tools have settings in a pyproject.toml."""
    if not os.path.isfile(path):
        return False
    return os.path.basename(path) != PROJECT or b"[project]" in read_bytes(path)


def find_source(workspace: Path, root: str, brought: Sequence[str] = ()) -> VendorSource | None:
    """Return the requirements of a directory; None if there is nothing to vendor."""
    found = read_public_source(workspace, root, PackageRequest(brought=tuple(brought)))
    return found if found.text else None


def read_public_source(
    workspace: Path,
    root: str,
    request: PackageRequest = ANY_TARGET,
) -> VendorSource:
    """Read the lock if it is current, otherwise requirements.txt, otherwise the lock of another
    tool for the target, otherwise pyproject.toml.

    Only reads files. The text is stored by fabric, so it does not contain the index password.
    """
    found = read_source(workspace, root, request)
    where = Secret(tuple(map(redact_userinfo, found.where.reveal())))
    return replace(found, text=redact_userinfo(found.text), where=where)


def read_source(
    workspace: Path, root: str, request: PackageRequest, *, relock: bool = False
) -> VendorSource:
    """Read the requirements with passwords, only for pip. With `relock`, a lock of fabric is
    ignored."""
    base = os.path.realpath(workspace)
    folder = os.path.realpath(os.path.join(base, root))
    plain, local = _read_plain(base, folder)
    project = _read_project(base, os.path.join(folder, PROJECT), request.optional)
    asked = [(_PLAIN, plain.text), (PROJECT, project.text)]
    asked = [
        (name, text)
        for name, text in asked
        if list_requirement_lines(text) or (name == _PLAIN and local.folders)
    ]
    is_locked = _is_custom_lock(_read_text(base, os.path.join(folder, LOCK_FILE)))
    around = OtherTools(
        base=base,
        folder=folder,
        text_of=partial(_read_text, base),
        groups=request.optional.groups,
        places=dict(plain.places),
    )
    if not is_locked and not (asked and asked[0][0] == _PLAIN):
        found = _read_other_lock(around, plain, project, request)
        if found is not None:
            return found
    listed = LOCK_FILE if is_locked else asked[0][0] if asked else PROJECT
    _check_optional(place(base, os.path.join(folder, listed)), project, request.optional)
    # Who locks everything asks for a version of everything.
    brought = frozenset(request.brought) - list_constrained_names(plain.text)
    without = find_bare_names(asked[0][1], brought) if asked and not is_locked else ()
    lean = [(name, remove_packages(text, without)) for name, text in asked]
    lock = LOCK_FILE if is_locked else lock_name(without, request.optional)
    written = _read_text(base, os.path.join(folder, lock))
    name, text = _choose_text(lock, "" if relock and is_own_lock(written) else written, lean)
    looked_at = [os.path.join(folder, one) for one in {lock, LOCK_FILE, _PLAIN, PROJECT}]
    file = place(base, os.path.join(folder, name))
    listed_in = place(base, os.path.join(folder, PROJECT)) if listed == PROJECT else ""
    _check_project(around, listed_in, project, request.target)
    around.check(name, text, project.text, file)
    return VendorSource(
        file=file,
        text=text,
        seen=record_tried(base, [*looked_at, *plain.others, *around.looked_at]),
        where=Secret(list_index_lines(plain.text)) if is_own_lock(text) else NOWHERE,
        without=without,
        folders=local.folders if listed == _PLAIN else (),
        warnings=around.unread_locks(name, text),
    )


def _read_plain(base: str, folder: str) -> tuple[_Joined, LocalPackages]:
    """Read requirements.txt, with the dependencies of directories in place of their lines."""
    found = _Lines(base).of(os.path.join(folder, _PLAIN))
    reader = LocalReader(base, folder, partial(_read_text, base), dict(found.places))
    local = reader.expand(found.text)
    return _Joined(local.text, (*found.others, *local.looked_at), found.places), local


def _is_custom_lock(text: str) -> bool:
    return bool(list_requirement_lines(text)) and not is_own_lock(text)


def _check_optional(file: str, project: _Project, optional: OptionalDependencies) -> None:
    """Raise for a group or an extra that is unknown. Only a pyproject.toml has some."""
    is_project = os.path.basename(file) == PROJECT
    check_names(file, optional, project.dependencies.standard_names if is_project else MAIN_ONLY)


def _check_project(
    around: OtherTools, file: str, project: _Project, target: PythonTarget | None
) -> None:
    """Raise for a project without a lock that needs one, or that leaves the function's Python out.
    `file` is empty if another file lists the packages."""
    if not file:
        return
    around.check_locked(PROJECT, project.text)
    dynamic = find_dynamic_problem(file, project.dependencies)
    # Without a target, a lock that can contain them is not read.
    if dynamic and (target is not None or not any(around.readable_locks)):
        raise FabricError(dynamic)
    supported = project.dependencies.python
    if project.text and target is not None and supported:
        from fabric.runtimes.packages.locks.rows import find_python_problem

        problem = find_python_problem(f"`{file}`", supported, target)
        if problem:
            raise FabricError(replace(problem, where=Place(file)))


def _read_other_lock(
    around: OtherTools, plain: _Joined, project: _Project, request: PackageRequest
) -> VendorSource | None:
    """Read the first lock of another tool that contains the project."""
    base, folder, target = around.base, around.folder, request.target
    if target is None:
        return None
    for path in around.readable_locks:
        # The parsers of locks, and the library that they use: few projects have such a lock.
        from fabric.runtimes.packages.locks.ranges import (
            list_pipfile_requirements,
            list_poetry_requirements,
        )
        from fabric.runtimes.packages.locks.reading import LockText, LockUser, read_lock

        name = place(base, path)
        optional = request.optional
        is_of_group = os.path.basename(path) in map(name_group_lock, optional.groups)
        dependencies = (
            [*project.dependencies.list_optional_lines(optional)]
            if is_of_group
            else [*list_requirement_lines(project.text)]
        )
        if os.path.basename(path) == "Pipfile.lock":
            text = around.text_of(os.path.join(folder, "Pipfile"))
            dependencies = [*list_pipfile_requirements(text, optional.groups)]
        if os.path.basename(path) == "poetry.lock":
            text = around.text_of(os.path.join(folder, PROJECT))
            dependencies += list_poetry_requirements(text, optional.groups)
        user = LockUser(
            folder=folder,
            dependencies=dependencies,
            target=target,
            optional=optional,
            declared=project.dependencies.names,
            list_member_lines=partial(_list_member_lines, base, os.path.dirname(path)),
        )
        text = around.text_of(path)
        found = read_lock(LockText(path=path, name=name, text=text), user)
        if found is None:
            continue
        looked_at = [os.path.join(folder, one) for one in (LOCK_FILE, _PLAIN, PROJECT)]
        looked_at += [
            os.path.normpath(os.path.join(os.path.dirname(path), local, PROJECT))
            for _, local in found.folders
        ]
        return VendorSource(
            file=name,
            text=found.text,
            seen=record_tried(base, [*looked_at, *plain.others, *around.looked_at]),
            where=Secret(list_index_lines(plain.text)),
            warnings=around.unread_locks(name, ""),
            folders=tuple(
                (package, _locate_package(base, path, package, local, text))
                for package, local in found.folders
            ),
        )
    return None


def _list_member_lines(
    base: str, above: str, local: str, extras: tuple[str, ...]
) -> tuple[str, ...]:
    """List the dependencies of a package in the checkout. Its directory is relative to `above`."""
    path = os.path.normpath(os.path.join(above, local, PROJECT))
    optional = OptionalDependencies((), extras)
    return _read_project(base, path, optional).dependencies.list_lines(optional)


def _locate_package(base: str, lock: str, package: str, local: str, text: str) -> str:
    """Return the directory of a package, relative to the workspace. It is in the checkout: in the
    workspace, or below the lock."""
    from fabric.runtimes.packages.locks.rows import find_package_line

    folder = os.path.normpath(os.path.join(os.path.dirname(lock), local))
    if not any(f"{folder}/".startswith(f"{top}/") for top in (base, os.path.dirname(lock))):
        raise FabricError(
            Problem(
                "input/package-source",
                f"the directory of package `{package}` is outside the workspace: `{local}`",
                hint=OUTSIDE_HINT,
                where=Place(place(base, lock), find_package_line(text, package)),
            )
        )
    return place(base, folder)


def _choose_text(lock: str, locked: str, asked: Sequence[tuple[str, str]]) -> tuple[str, str]:
    lines = list_requirement_lines(locked)
    if lines and lock_is_current(locked, asked):
        return lock, mark_locked(locked) if any(map(parse_git_line, lines)) else locked
    name, text = asked[0] if asked else (_PLAIN, "")
    return (name, text) if list_requirement_lines(text) else (name, "")


class _Lines(Struct, frozen=True):
    """Requirements with every `-r` and `-c` replaced by the file's content.

    `above` are the including files; `bounds` is true if all content only constrains versions.
    """

    workspace: str
    above: tuple[str, ...] = ()
    bounds: bool = False

    def of(self, path: str) -> _Joined:
        text = _read_text(self.workspace, path)
        _check_lines(text, place(self.workspace, path))
        inside = replace(self, above=(*self.above, path))
        parts = [
            inside.line(number, line)
            for number, line in enumerate(text.splitlines(keepends=True), 1)
        ]
        return _Joined(
            "".join(part.text for part in parts),
            tuple(other for part in parts for other in part.others),
            tuple(one for part in parts for one in part.places),
        )

    def line(self, number: int, line: str) -> _Joined:
        match = _NAMED.match(line)
        if not match or "://" in match["file"]:
            text = self._convert_line(line)
            named = list_requirement_lines(text) if "git+" in text else find_local_paths(text)
            where = Place(place(self.workspace, self.above[-1]), number)
            return _Joined(text, (), tuple((one, where) for one in named))
        path = os.path.normpath(os.path.join(os.path.dirname(self.above[-1]), match["file"]))
        self._check(path, match["file"], number)
        bounds = self.bounds or (match["short"] or match["long"]).startswith("c")
        inner = replace(self, bounds=bounds).of(path)
        return _Joined(inner.text, (path, *inner.others), inner.places)

    def _convert_line(self, line: str) -> str:
        source = parse_git_line(line.strip())
        if source and source.name and source.commit:
            return f"{source.line}\n"  # also of `-e`, in the form of all others
        ended = line if line.endswith("\n") else f"{line}\n"
        if not self.bounds:
            return ended
        return "".join(map(format_constraint_line, list_requirement_lines(line)))

    def _check(self, path: str, named: str, number: int) -> None:
        where = Place(place(self.workspace, self.above[-1]), number)
        if path in self.above:
            message = f"`{named}` includes itself"
            hint = "remove one of the two lines"
            raise FabricError(Problem("input/requirements-circle", message, hint, where))
        if not os.path.isfile(path):
            message = f"`{where.file}` includes `{named}`, which does not exist"
            hint = "correct the path: it is relative to the file that includes it"
            raise FabricError(Problem("input/requirements-missing", message, hint, where))


def _check_lines(text: str, file: str) -> None:
    """Raise for lines that no package tool can use, and for an option that asks for sources."""
    problems = [
        replace(problem, where=Place(file, number))
        for number, line in list_numbered_lines(text)
        if (problem := find_line_problem(line)) is not None
    ]
    if problems:
        raise FabricError(*problems)


def _read_text(workspace: str, path: str) -> str:
    try:
        return read_bytes(path).decode("utf-8-sig", "replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        shown = place(workspace, path)
        raise FabricError(
            Problem("build/unreadable", f"cannot read `{shown}`: {error.strerror}")
        ) from error


def _read_project(workspace: str, path: str, optional: OptionalDependencies) -> _Project:
    try:
        found = read_dependencies(_read_text(workspace, path))
        lines = found.list_lines(optional)
        return _Project("".join(f"{line}\n" for line in lines), found)
    except ValueError as error:
        shown = place(workspace, path)
        raise FabricError(
            Problem("input/bad-toml", f"`{shown}`: {error}", where=Place(shown))
        ) from error
