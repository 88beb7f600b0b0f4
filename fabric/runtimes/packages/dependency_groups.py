"""The dependencies in a `pyproject.toml`: the main ones, extras, and dependency groups."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from fabric.model.builds.python_target import MAIN_ONLY, OptionalDependencies
from fabric.model.problems import FabricError, Place, Problem
from fabric.runtimes.packages.requirements import (
    normalize_package_name,
    parse_requirement,
    parse_toml,
)

_INCLUDE = "include-group"


class ProjectDependencies(Struct, frozen=True, kw_only=True):
    """The requirement lines of a project. Names of groups and extras are normalized."""

    name: str = ""
    # The versions of Python that it is for; empty for all.
    python: str = ""
    main: tuple[str, ...] = ()
    # Only the build backend knows the main dependencies.
    is_dynamic: bool = False
    extras: Mapping[str, tuple[str, ...]] = {}
    # An item is a line, or `include-group` and the name of another group.
    groups: Mapping[str, tuple[str | tuple[str, str], ...]] = {}
    # Groups and extras that only Poetry reads.
    declared: OptionalDependencies = MAIN_ONLY

    @property
    def names(self) -> OptionalDependencies:
        """All groups and extras that the project defines."""
        return OptionalDependencies(
            (*self.groups, *self.declared.groups), (*self.extras, *self.declared.extras)
        )

    @property
    def standard_names(self) -> OptionalDependencies:
        """The groups and extras in standard tables."""
        return OptionalDependencies(tuple(self.groups), tuple(self.extras))

    def list_lines(self, optional: OptionalDependencies) -> tuple[str, ...]:
        """Return the main dependencies with those of these groups and extras. A name without an
        entry adds nothing."""
        lines = [*self.main, *self.list_optional_lines(optional)]
        return tuple(dict.fromkeys(lines))

    def list_optional_lines(self, optional: OptionalDependencies) -> Iterator[str]:
        yield from self._expand(self._list_extra_lines(optional.extras), set())
        for name in optional.groups:
            yield from self._expand(self._list_group_lines(name, ()), set())

    def _list_extra_lines(self, extras: Iterable[str]) -> Iterator[str]:
        for extra in map(normalize_package_name, extras):
            yield from self.extras.get(extra, ())

    def _list_group_lines(self, name: str, above: Sequence[str]) -> Iterator[str]:
        group = normalize_package_name(name)
        if group in above:
            message = f"dependency group `{name}` includes itself"
            raise ValueError(message)
        for item in self.groups.get(group, ()):
            if isinstance(item, str):
                yield item
            else:
                yield from self._list_group_lines(item[1], (*above, group))

    def _expand(self, lines: Iterable[str], seen: set[str]) -> Iterator[str]:
        """Replace the project's own extras, `name[extra]`, by their dependencies."""
        for line in lines:
            needed = parse_requirement(line)
            if needed is None or normalize_package_name(needed.name) != self.name:
                yield line
                continue
            extras = sorted(map(normalize_package_name, needed.extras - seen))
            seen.update(extras)
            yield from self._expand(self._list_extra_lines(extras), seen)


def read_dependencies(pyproject: str) -> ProjectDependencies:
    """Read the dependencies of a project. Raises ValueError for bad TOML."""
    if not pyproject:
        return ProjectDependencies()
    document = parse_toml(pyproject)
    project, poetry = _read_table(document, "project"), _read_table(document, "tool", "poetry")
    return ProjectDependencies(
        name=normalize_package_name(str(project.get("name", ""))),
        python=str(project.get("requires-python", "")),
        main=_read_lines(project.get("dependencies")),
        is_dynamic="dependencies" in _read_lines(project.get("dynamic")),
        extras={
            normalize_package_name(name): _read_lines(lines)
            for name, lines in _read_table(project, "optional-dependencies").items()
        },
        groups={
            normalize_package_name(name): tuple(_read_items(items))
            for name, items in _read_table(document, "dependency-groups").items()
        },
        declared=OptionalDependencies(
            tuple(map(normalize_package_name, _read_table(poetry, "group"))),
            tuple(map(normalize_package_name, _read_table(poetry, "extras"))),
        ),
    )


def _read_lines(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _read_items(value: object) -> Iterator[str | tuple[str, str]]:
    for item in value if isinstance(value, list) else ():
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict) and _INCLUDE in item:
            yield _INCLUDE, str(item[_INCLUDE])


def _read_table(document: Mapping[str, object], *keys: str) -> Mapping[str, object]:
    found: object = document
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def find_dynamic_problem(file: str, project: ProjectDependencies) -> Problem | None:
    """Find dependencies that only a run of the build backend shows, which fabric does not start."""
    if not project.is_dynamic:
        return None
    message = f"the dependencies in `{file}` are dynamic: only its build backend can list them"
    hint = "run: uv lock; or list the packages in a requirements.txt beside it"
    return Problem("input/dynamic", message, hint, Place(file))


def check_names(file: str, optional: OptionalDependencies, known: OptionalDependencies) -> None:
    """Raise for a group or an extra that a file does not have."""
    found = (
        *_find_unknown("extra", optional.extras, known.extras, file),
        *_find_unknown("dependency group", optional.groups, known.groups, file),
    )
    if found:
        raise FabricError(*found)


def _find_unknown(
    kind: str, wanted: Iterable[str], known: Iterable[str], file: str
) -> Iterator[Problem]:
    names = sorted(set(map(normalize_package_name, known)))
    listed = ", ".join(f"`{name}`" for name in names)
    key = "extras" if kind == "extra" else "groups"
    for name in wanted:
        if normalize_package_name(name) not in names:
            yield Problem(
                "input/unknown-group",
                f"unknown {kind} `{name}`: `{file}` has {listed or 'none'}",
                hint=f"correct `build.{key}`, or add `{name}` to the project and lock again",
                where=Place(file),
            )
