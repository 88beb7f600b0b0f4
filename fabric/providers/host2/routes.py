"""The routes of a site's functions on Netlify. No effects.

Netlify does not define which of two matching functions wins, so no request can match two.

A path of only one function is routed with all methods. The server around its handler answers 405,
CORS preflights and HEAD.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from fabric.model.outcomes.json_struct import JsonObject
from fabric.providers.core.triggers import HttpRoute

Shape = tuple[str, ...]
ONE, MANY = "{}", "{+}"


def is_overlapping(one: Shape, other: Shape) -> bool:
    """Return whether any path matches both."""
    if not one or not other:
        return one == other
    both = (one[0], other[0])
    if MANY in both:
        return "" not in both
    is_same = one[0] == other[0] or (ONE in both and "" not in both)
    return is_same and is_overlapping(one[1:], other[1:])


def is_within(one: Shape, other: Shape) -> bool:
    """Return whether each path that matches the first also matches the second."""
    if not one or not other:
        return one == other
    if other[0] == MANY:
        return one[0] != ""
    if one[0] == MANY or (other[0] != ONE and one[0] != other[0]) or one[0] == "":
        return one == other
    return is_within(one[1:], other[1:])


def build_expression(shape: Shape) -> str:
    """Build a regular expression in the syntax that all engines share."""
    parts = {ONE: "[^/]+", MANY: ".+"}
    return "^/" + "/".join(parts.get(one) or re.escape(one) for one in shape) + "/?$"


ANY = "ANY"
_OPTIONS = "OPTIONS"
# Those that a route can be told of.
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", _OPTIONS)


class FunctionRoutes(Struct, frozen=True):
    routes: tuple[JsonObject, ...] = ()
    excluded: tuple[JsonObject, ...] = ()

    @property
    def after_files(self) -> "FunctionRoutes":
        """The same routes for requests that no static file has."""
        routes = tuple({**one, "prefer_static": True} for one in self.routes)
        return FunctionRoutes(routes, self.excluded)


class _PathOwner(Struct, frozen=True):
    """One path of one function, with its methods."""

    function: str
    shape: Shape
    rows: tuple[HttpRoute, ...]

    @property
    def methods(self) -> frozenset[str]:
        asked = {one.method for one in self.rows}
        return frozenset(METHODS) if ANY in asked else frozenset(asked)

    @property
    def takes_any(self) -> bool:
        return any(one.method == ANY for one in self.rows)


def plan_function_routes(rows: Sequence[HttpRoute]) -> dict[str, FunctionRoutes]:
    places = _group_by_path(rows)
    made: dict[str, FunctionRoutes] = {}
    for name in sorted({one.function for one in rows}):
        own = [one for one in places if one.function == name]
        left = sorted({other.shape for one in own for other in _list_left_paths(one, places)})
        routes = tuple(_route(one, places) for one in own)
        made[name] = FunctionRoutes(routes, tuple(map(_build_path, left)))
    return made


def find_collisions(rows: Sequence[HttpRoute]) -> Iterator[tuple[HttpRoute, HttpRoute]]:
    """Yield pairs of routes of two functions that Netlify cannot distinguish."""
    places = _group_by_path(rows)
    for at, one in enumerate(places):
        for other in places[at + 1 :]:
            if _is_collision(one, other, places):
                yield one.rows[0], other.rows[0]


def _group_by_path(rows: Sequence[HttpRoute]) -> list[_PathOwner]:
    found: dict[tuple[str, Shape], list[HttpRoute]] = {}
    for one in rows:
        found.setdefault((one.function, one.shape), []).append(one)
    return [_PathOwner(name, shape, tuple(found[name, shape])) for name, shape in sorted(found)]


def _is_collision(one: _PathOwner, other: _PathOwner, places: Sequence[_PathOwner]) -> bool:
    if one.function == other.function or not is_overlapping(one.shape, other.shape):
        return False
    if one.shape == other.shape:
        return bool(_list_methods(one) & _list_methods(other))
    if not one.methods & other.methods:
        return False
    return not (_can_leave(one, other, places) or _can_leave(other, one, places))


def _list_methods(one: _PathOwner) -> frozenset[str]:
    return frozenset(row.method for row in one.rows)


def _can_leave(wide: _PathOwner, close: _PathOwner, places: Sequence[_PathOwner]) -> bool:
    """Return whether the wider path can leave the narrower one completely to the other function."""
    if not is_within(close.shape, wide.shape) or not wide.methods <= close.methods:
        return False
    own = (one.shape for one in places if one.function == wide.function)
    # What is taken out of a function is taken out of all of its paths.
    return not any(
        is_overlapping(shape, close.shape)
        and (shape == close.shape or not is_within(close.shape, shape))
        for shape in own
    )


def _list_left_paths(wide: _PathOwner, places: Sequence[_PathOwner]) -> Iterator[_PathOwner]:
    for one in places:
        is_other = one.function != wide.function and one.shape != wide.shape
        if is_other and wide.methods & one.methods and _can_leave(wide, one, places):
            yield one


def _route(one: _PathOwner, places: Sequence[_PathOwner]) -> JsonObject:
    written = _build_path(one.shape)
    others = [
        other
        for other in places
        if other.function != one.function and is_overlapping(one.shape, other.shape)
    ]
    if not others:
        return written
    beside = [other for other in others if other.shape == one.shape]
    taken = frozenset(name for other in beside for name in _list_methods(other))
    methods = (one.methods - taken) if one.takes_any else one.methods
    if _is_preflight_owner(one, beside):
        methods |= {_OPTIONS}
    return {**written, "methods": [name for name in METHODS if name in methods]}


def _is_preflight_owner(one: _PathOwner, beside: Sequence[_PathOwner]) -> bool:
    """Return whether this function answers preflights: the first function on a path that can."""
    able = [place.function for place in (one, *beside) if any(row.cors for row in place.rows)]
    is_taken = any(_OPTIONS in _list_methods(place) or place.takes_any for place in beside)
    return bool(able) and min(able) == one.function and not is_taken


def _build_path(shape: Shape) -> JsonObject:
    return {"pattern": "/" + "/".join(shape), "expression": build_expression(shape)}
