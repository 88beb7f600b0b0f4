"""Whether an Ingress alone can route each request to its function. No effects.

It matches exact paths and prefixes, not methods or parameters.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec import Struct

from fabric.providers.cluster.routes import HttpPath, Routed, is_plain, list_http_paths

_Segments = tuple[str, ...]


class _Reach(Struct, frozen=True):
    """The paths that one Ingress row matches: one exact path, or all paths below the segments
    before the first parameter."""

    function: str
    template: _Segments
    fixed: _Segments

    @property
    def is_prefix(self) -> bool:
        return self.template != self.fixed


def has_gate_need(functions: Sequence[Routed]) -> bool:
    """Return whether a gateway is needed.

    Reasons: a request matches two rows of different functions, a route needs CORS preflights, or a
    path has escapes.
    """
    prefixes, exact = defaultdict[_Segments, list[_Reach]](list), dict[_Segments, str]()
    paths = tuple(list_http_paths(functions))
    if any(one.cors or not is_plain(one.path) for one in paths):
        return True
    rows = [_reach(one) for one in paths]
    for one in rows:
        if one.is_prefix:
            prefixes[one.fixed].append(one)
        elif exact.setdefault(one.fixed, one.function) != one.function:
            return True
    return any(
        other.function != one.function and _is_overlap(one, other)
        for one in rows
        for above in _list_prefixes(one.fixed)
        for other in prefixes.get(above, ())
    )


def _reach(route: HttpPath) -> _Reach:
    segments = tuple(one for one in route.path.strip("/").split("/") if one)
    first = next((at for at, one in enumerate(segments) if "{" in one), len(segments))
    return _Reach(route.function, segments, segments[:first])


def _list_prefixes(segments: _Segments) -> Iterator[_Segments]:
    return (segments[:length] for length in range(len(segments) + 1))


def _is_overlap(one: _Reach, other: _Reach) -> bool:
    """Return whether requests can match both rows; `other` matches all paths below a prefix of
    `one`.

    An exact row wins, but a method that it lacks belongs to a fitting template of the other row.
    """
    return one.is_prefix or _is_template_match(other.template, one.fixed)


def _is_template_match(template: _Segments, path: _Segments) -> bool:
    for at, one in enumerate(template):
        if one.endswith("+}"):
            return len(path) > at
        if at >= len(path) or ("{" not in one and one != path[at]):
            return False
    return len(template) == len(path)
