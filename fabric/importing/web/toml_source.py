"""Sources in TOML, and in JSON with comments, as trees with places."""

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from fabric.config.yaml.nodes import KeyValue, Mapping, Node, Scalar, Sequence
from fabric.model.problems import FabricError, Place, Problem

if TYPE_CHECKING:
    from tomllib import TOMLDecodeError

    from fabric.importing.source import Path

_KEY = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_KEYS = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_HEADER = re.compile(rf"\s*\[(\[)?\s*({_KEYS})\s*\]")
_ASSIGNMENT = re.compile(rf"(\s*)({_KEYS})\s*=")
_PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")
_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*(?:.*?\*/|.*)', re.DOTALL)
# As in YAML.
_DEEPEST = 64
_SCALARS = (str, int, float, bool)


class _Spot(NamedTuple):
    line: int
    column: int


def _build_problem(file: str, error: "TOMLDecodeError") -> Problem:
    message = str(error)
    found = _PLACE.search(message)
    where = Place(file, int(found[1]), int(found[2])) if found and found[1] else Place(file)
    words = _PLACE.sub("", message)
    return Problem(
        "import/unreadable",
        f"the file is not valid TOML: {words[:1].lower()}{words[1:]}",
        "",
        where,
    )


def read_toml(file: str, text: str) -> Node:
    """Read TOML. Keys have places, which the parser of Python does not report."""
    return _build(parse_toml(file, text), (), _find_places(text), _Spot(1, 1))


def parse_toml(file: str, text: str) -> dict[str, Any]:
    """Parse TOML. Damage and deep values are problems of the file."""
    import tomllib

    values: dict[str, Any] = {}
    try:
        values = tomllib.loads(text)
        deep = _is_deeper(values, _DEEPEST)
    except tomllib.TOMLDecodeError as error:
        raise FabricError(_build_problem(file, error)) from error
    except RecursionError:
        deep = True
    if deep:
        message = f"values are nested more than {_DEEPEST} levels deep"
        raise FabricError(Problem("import/unreadable", message, where=Place(file)))
    return values


def _is_deeper(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(one, levels - 1) for one in inner)


def _find_places(text: str) -> "dict[Path, _Spot]":
    """Find the lines and columns of keys."""
    found: dict[Path, _Spot] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.match(line)
        if header:
            table = _split(header[2])
            place = _Spot(number, line.index("[") + 1)
            found.setdefault(table, place)
            if header[1]:
                counts[table] = counts.get(table, -1) + 1
                table = (*table, str(counts[table]))
                found[table] = place
            else:
                table = _add_numbers(table, counts)
                found.setdefault(table, place)
        elif assigned := _ASSIGNMENT.match(line):
            spot = _Spot(number, len(assigned[1]) + 1)
            found.setdefault((*table, *_split(assigned[2])), spot)
    return found


def _split(keys: str) -> "Path":
    return tuple(one.strip("\"'") for one in re.findall(_KEY, keys))


def _add_numbers(table: "Path", counts: "dict[Path, int]") -> "Path":
    """A table below a list of tables belongs to the last of them."""
    for length in range(len(table) - 1, 0, -1):
        if table[:length] in counts:
            return (*table[:length], str(counts[table[:length]]), *table[length:])
    return table


def _build(
    value: Any,
    path: "Path",
    places: "dict[Path, _Spot]",
    outer: _Spot,
) -> Node:
    spot = places.get(path, outer)
    line, column = spot
    if isinstance(value, dict):
        entries = []
        for key, one in value.items():
            inner = places.get((*path, key), spot)
            entries.append(KeyValue(key, *inner, _build(one, (*path, key), places, inner)))
        return Mapping(tuple(entries), line, column)
    if isinstance(value, list):
        items = (_build(one, (*path, str(n)), places, spot) for n, one in enumerate(value))
        return Sequence(tuple(items), line, column)
    if isinstance(value, bool):
        return Scalar(value, str(value).lower(), line, column)
    # Dates are texts in every other format.
    value = value if isinstance(value, _SCALARS) else str(value)
    return Scalar(value, str(value), line, column)


def blank_comments(text: str) -> str:
    """Replace comments of JSON by blanks, so that places stay."""

    def blank(found: re.Match[str]) -> str:
        if found[0].startswith('"'):
            return found[0]
        return re.sub(r"[^\n]", " ", found[0])

    return _COMMENT.sub(blank, text)
