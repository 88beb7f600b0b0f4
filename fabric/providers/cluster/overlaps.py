"""Whether an Ingress alone leads each request to its function. No effects.

It knows paths, and what lies below them; neither methods nor parameters.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec import Struct

from fabric.providers.cluster.ingress import HttpPath, Routed, http_paths, is_plain

_Segments = tuple[str, ...]


class _Reach(Struct, frozen=True):
    """What the row of one route takes: its own path, or all below the segments before its first
    parameter."""

    function: str
    template: _Segments
    fixed: _Segments

    @property
    def is_prefix(self) -> bool:
        return self.template != self.fixed


def needs_gate(functions: Sequence[Routed]) -> bool:
    """Whether some request would have two rows that lead to two functions, is a browser's question
    that no function is asked, or has escapes."""
    prefixes, exact = defaultdict[_Segments, list[_Reach]](list), dict[_Segments, str]()
    paths = tuple(http_paths(functions))
    if any(one.cors or not is_plain(one.path) for one in paths):
        return True
    rows = [_reach(one) for one in paths]
    for one in rows:
        if one.is_prefix:
            prefixes[one.fixed].append(one)
        elif exact.setdefault(one.fixed, one.function) != one.function:
            return True
    return any(
        other.function != one.function and _meet(one, other)
        for one in rows
        for above in _above(one.fixed)
        for other in prefixes.get(above, ())
    )


def _reach(route: HttpPath) -> _Reach:
    segments = tuple(one for one in route.path.strip("/").split("/") if one)
    first = next((at for at, one in enumerate(segments) if "{" in one), len(segments))
    return _Reach(route.function, segments, segments[:first])


def _above(segments: _Segments) -> Iterator[_Segments]:
    return (segments[:length] for length in range(len(segments) + 1))


def _meet(one: _Reach, other: _Reach) -> bool:
    """`other` takes all below a path on the way to that of `one`. An exact row comes first, but a
    method that it has not belongs to the other one's template, where that fits as well."""
    return one.is_prefix or _takes(other.template, one.fixed)


def _takes(template: _Segments, path: _Segments) -> bool:
    for at, one in enumerate(template):
        if one.endswith("+}"):
            return len(path) > at
        if at >= len(path) or ("{" not in one and one != path[at]):
            return False
    return len(template) == len(path)
