"""Directories of the checkout in requirements: `-e .`, `../lib`, `lib @ file:lib`."""

import os
from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.builds.python_target import OptionalDependencies
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.task import Pairs
from fabric.runtimes.packages.dependency_groups import (
    check_names,
    find_dynamic_problem,
    read_dependencies,
)
from fabric.runtimes.packages.requirements import LOCAL_PATH, find_local_path, find_local_paths
from fabric.runtimes.packages.unread_sources import (
    PROJECT,
    find_unread_sources,
    foreign_source_problem,
)
from fabric.runtimes.recorded_inputs import place

OUTSIDE_HINT = (
    "create a fabric.compose.yml in a directory that contains both, and run fabric there, or "
    "publish a wheel of it to an index"
)


class LocalPackages(Struct, frozen=True):
    """A requirements text with the dependencies of directories in place of their lines."""

    text: str
    # Name and directory, relative to the workspace.
    folders: Pairs = ()
    looked_at: tuple[str, ...] = ()


class LocalReader(Struct, frozen=True):
    """Reads directories in requirements. Paths are relative to `folder`, as for pip there."""

    base: str
    folder: str
    # Reads a file; a missing one is empty.
    text_of: Callable[[str], str]
    # Where lines of requirements are.
    places: Mapping[str, Place] = {}

    def expand(self, text: str, above: tuple[str, ...] = ()) -> LocalPackages:
        """Replace each directory with a pyproject.toml. Other paths stay in the text."""
        parts = [self._expand_line(line, above) for line in text.splitlines(keepends=True)]
        return LocalPackages(
            "".join(part.text for part in parts),
            tuple(dict.fromkeys(one for part in parts for one in part.folders)),
            tuple(one for part in parts for one in part.looked_at),
        )

    def _expand_line(self, line: str, above: tuple[str, ...]) -> LocalPackages:
        listed = find_local_paths(line)
        found = LOCAL_PATH.fullmatch(listed[0]) if listed else None
        if found is None:
            return LocalPackages(line)
        path = find_local_path(listed[0])
        folder = os.path.normpath(os.path.join(self.folder, path))
        project = os.path.join(folder, PROJECT)
        text = self.text_of(project) if os.path.isdir(folder) else ""
        if not text:
            return LocalPackages(line, (), (project,))
        self._check_inside(folder, listed[0])
        extras = [found[key] for key in ("extras", "more") if found[key]]
        names = [name.strip() for one in extras for name in one.split(",")]
        return self._read_project(project, text, OptionalDependencies((), tuple(names)), above)

    def _read_project(
        self, project: str, text: str, optional: OptionalDependencies, above: tuple[str, ...]
    ) -> LocalPackages:
        shown, folder = place(self.base, project), os.path.dirname(project)
        try:
            found = read_dependencies(text)
            lines = "".join(f"{line}\n" for line in found.list_lines(optional))
            foreign = find_unread_sources(text, "", lines) if lines else ()
        except ValueError as error:
            message = f"`{shown}`: {error}"
            raise FabricError(Problem("input/bad-toml", message, where=Place(shown))) from error
        check_names(shown, optional, found.standard_names)
        problems = [foreign_source_problem(one, Place(shown)) for one in foreign]
        dynamic = find_dynamic_problem(shown, found)
        if dynamic:
            hint = f"list its packages in the requirements, and remove `dynamic` of `{shown}`"
            problems.append(replace(dynamic, hint=hint))
        if not found.name:
            hint = "add a [project] table with the name of the package"
            message = f"`{shown}` has no `project.name`"
            problems.append(Problem("input/package-source", message, hint, Place(shown)))
        if problems:
            raise FabricError(*problems)
        own = (found.name, place(self.base, folder))
        if project in above:
            return LocalPackages("", (own,), (project,))
        places = dict.fromkeys(find_local_paths(lines), Place(shown))
        reader = LocalReader(self.base, folder, self.text_of, places)
        inner = reader.expand(lines, (*above, project))
        return LocalPackages(inner.text, (own, *inner.folders), (project, *inner.looked_at))

    def _check_inside(self, folder: str, line: str) -> None:
        if not f"{os.path.realpath(folder)}/".startswith(f"{self.base}/"):
            raise FabricError(
                Problem(
                    "input/package-path",
                    f"`{line}` is outside the workspace",
                    hint=OUTSIDE_HINT,
                    where=self.places.get(line),
                )
            )
