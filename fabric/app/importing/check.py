"""The result of an import, checked as `validate` and `plan` do."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from fabric.app.importing.sources import SKIPPED, format_shown
from fabric.app.settings import Settings
from fabric.importing.files import CONFIG_FILE
from fabric.model.problems import FabricError, Place, Problem
from fabric.system.files.file_changes import FileChange

_MOST_FILES = 20_000


def check_files(folder: Path, shown: Path, settings: Settings) -> Iterator[Problem]:
    """Check the config of a directory. `shown` is the directory in the places of problems."""
    from fabric.app.plan import PlanOptions, plan
    from fabric.app.request import Request, Where
    from fabric.app.validate import validate
    from fabric.model.names import Verb

    where = Where(config=CONFIG_FILE)
    here = replace(settings, cwd=folder)
    try:
        validate(where, here)
        report = plan(Request(Verb.DEPLOY, "plan", where), PlanOptions(), here)
        found = report.problems
        # Warnings about what a real deploy would refuse.
        found += tuple(one for one in report.warnings if one.code == "plan/provider-limit")
    except FabricError as error:
        found = error.problems
    for one in found:
        yield _show(one, shown, settings.cwd)


def _show(problem: Problem, folder: Path, cwd: Path) -> Problem:
    """Show the place of a problem relative to the working directory."""
    place = problem.where
    if place is None or Path(place.file).is_absolute():
        return problem
    file = format_shown(folder / place.file, cwd)
    return replace(problem, where=Place(file, place.line, place.column))


def check_copy(
    changes: Sequence[FileChange], folders: Sequence[Path], top: Path, settings: Settings
) -> Iterator[Problem]:
    """Check the files of a dry run in a temporary copy of the project."""
    with open_copy(top) as copy:
        if copy is None:
            message = f"the result is not checked: more than {_MOST_FILES:,} files"
            yield Problem("import/not-checked", message, "run the import without --dry-run")
            return
        write_changes(changes, top, copy)
        for folder in folders:
            yield from check_files(copy / folder.relative_to(top), folder, settings)


def write_changes(changes: Sequence[FileChange], top: Path, copy: Path) -> None:
    """Write files into a copy of the project."""
    for one in changes:
        path = copy / one.path.relative_to(top)
        path.parent.mkdir(parents=True, exist_ok=True)
        # Never through a hard link to a file of the project.
        path.unlink(missing_ok=True)
        path.write_bytes(one.new)


@contextlib.contextmanager
def open_copy(
    top: Path, *, has_links: bool = True, most_files: int = _MOST_FILES
) -> Iterator[Path | None]:
    """Copy a project to a temporary directory. A large one is not copied.

    Hard links take no space. A program that writes into linked files would change the project.
    """
    with tempfile.TemporaryDirectory(prefix="fabric-import-") as name:
        copy = Path(os.path.realpath(name)) / (top.resolve().name or "project")
        try:
            _copy(top, copy, most_files, _link_or_copy if has_links else shutil.copy2)
        except _TooLargeError:
            yield None
        else:
            yield copy


class _TooLargeError(Exception):
    """The project has more files than a check copies."""


def _copy(
    top: Path, target: Path, most_files: int, copy_file: Callable[[str, str], object]
) -> None:
    count = 0

    def ignore(_: str, names: list[str]) -> list[str]:
        nonlocal count
        count += len(names)
        if count > most_files:
            raise _TooLargeError
        return [one for one in names if one in SKIPPED]

    with contextlib.suppress(shutil.Error):
        shutil.copytree(top, target, symlinks=True, ignore=ignore, copy_function=copy_file)


def _link_or_copy(source: str, target: str) -> None:
    """Link a file, or copy it to another file system."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target)
