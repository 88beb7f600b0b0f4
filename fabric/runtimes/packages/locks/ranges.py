"""Version ranges as the standard and Poetry write them: `>=3.9`, `^3.9`, `~3.9 || 3.12`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import starmap

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from fabric.runtimes.packages.requirements import parse_toml

_RELEASE = re.compile(r"(?P<operator>\^|~)\s*(?P<release>\d+(?:\.\d+)*)")
_LAST_PATCHES = 100


def parse_ranges(text: str) -> tuple[SpecifierSet, ...]:
    """Return the alternatives of a range. Raises InvalidSpecifier for other notations."""
    try:
        return (SpecifierSet(text),)
    except InvalidSpecifier:
        return tuple(map(_parse_poetry_range, re.split(r"\s*\|\|?\s*", text.strip())))


def _parse_poetry_range(text: str) -> SpecifierSet:
    parts = filter(None, re.split(r"\s*,\s*|(?<=[\w*])\s+(?=[<>=!^~])", text))
    return SpecifierSet(",".join(part for each in parts for part in _convert_part(each)))


def _convert_part(part: str) -> Iterator[str]:
    """Convert one bound: `^1.2` to `>=1.2,<2`, `~1.2` to `>=1.2,<1.3`, `3.*` to `==3.*`."""
    found = _RELEASE.fullmatch(part)
    if found is None:
        if part != "*":
            yield part if part[0] in "<>=!~" else f"=={part}"
        return
    release = [int(number) for number in found["release"].split(".")]
    if found["operator"] == "~":
        kept = min(len(release), 2)
    else:
        # The first part that is not 0 stays.
        kept = next((at + 1 for at, number in enumerate(release) if number), len(release))
    end = [*release[: kept - 1], release[kept - 1] + 1]
    yield f">={found['release']}"
    yield f"<{'.'.join(map(str, end))}"


@lru_cache(maxsize=256)
def includes_python(text: str, minor: str) -> bool:
    """Return whether a range includes a release of this Python, whose last part is unknown. A range
    in another notation does."""
    versions = [f"{minor}.{last}" for last in (*range(_LAST_PATCHES), 999)]
    try:
        ranges = parse_ranges(text)
    except InvalidSpecifier:
        return True
    return any(one.contains(version) for one in ranges for version in versions)


def list_poetry_requirements(pyproject: str, groups: Sequence[str] = ()) -> Iterator[str]:
    """Yield the dependencies in `[tool.poetry]` that are needed on every target, as requirement
    lines. Alternatives have no line form, so they are yielded without a version."""
    poetry = parse_toml(pyproject).get("tool", {}).get("poetry", {})
    wanted = frozenset(map(canonicalize_name, groups))
    yield from _list_table_requirements(poetry)
    for name, table in poetry.get("group", {}).items():
        if canonicalize_name(name) in wanted:
            yield from _list_table_requirements(table)


def _list_table_requirements(section: Mapping[str, object]) -> Iterator[str]:
    table = section.get("dependencies")
    for name, given in table.items() if isinstance(table, dict) else ():
        version = given.get("version", "*") if isinstance(given, dict) else given
        is_plain = not isinstance(given, dict) or given.keys() <= {"version", "extras", "source"}
        if name != "python" and is_plain and isinstance(version, str):
            try:
                ranges = parse_ranges(version)
            except InvalidSpecifier:
                ranges = ()
            yield f"{name}{ranges[0]}" if len(ranges) == 1 else name


_PIPFILE_TABLES = {"packages": "default", "dev-packages": "develop"}
_NOT_CATEGORIES = frozenset(("source", "requires", "scripts", "pipenv"))


def list_pipfile_requirements(pipfile: str, groups: Sequence[str] = ()) -> Iterator[str]:
    """Yield the requirements of a Pipfile that are needed on every target, without extras."""
    wanted = {"default", *map(canonicalize_name, groups)}
    for title, table in parse_toml(pipfile).items():
        category = canonicalize_name(_PIPFILE_TABLES.get(title, title))
        if category in wanted and title not in _NOT_CATEGORIES and isinstance(table, dict):
            yield from filter(None, starmap(_convert_pipfile_item, table.items()))


def _convert_pipfile_item(name: str, given: object) -> str:
    version = given.get("version", "*") if isinstance(given, dict) else given
    is_plain = not isinstance(given, dict) or given.keys() <= {"version", "extras", "index"}
    return f"{name}{'' if version == '*' else version}" if is_plain else ""
