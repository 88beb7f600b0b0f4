"""Routes of functions, and route matching."""

from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import unquote

from msgspec import Struct

from fabric.local.access import OPEN, RouteAccess
from fabric.model.names import DEFAULT_ROUTE

ANY = "ANY"


class HttpRoute(Struct, frozen=True):
    """A route."""

    method: str
    path: str
    function: str
    # The text of the trigger: empty, or the CORS settings.
    cors: str = ""
    access: RouteAccess = OPEN
    # The version of its events, or the integration without a proxy.
    payload: str = "2.0"

    @property
    def key(self) -> str:
        return self.path if self.path == DEFAULT_ROUTE else f"{self.method} {self.path}"


class Matched(Struct, frozen=True):
    route: HttpRoute
    parameters: Mapping[str, str]


class Unrouted(Struct, frozen=True):
    """No matching route; `allowed` are the methods of the path."""

    allowed: tuple[str, ...] = ()


class _Shape(Struct):
    """The routes of one path shape, by method; `names` are the parameter names of each route."""

    segments: list[str]
    by_method: dict[str, HttpRoute]


class RouteTable:
    """The route table. Literal segments rank before parameters, and those before `{name+}`; a
    method ranks before ANY."""

    def __init__(self, routes: Iterable[HttpRoute]) -> None:
        self._default, paths = _split_default(routes)
        self.routes = (*sorted(paths, key=_rank), *self._default)
        self._literal: dict[tuple[str, ...], _Shape] = {}
        templates: dict[tuple[str, ...], _Shape] = {}
        for route in sorted(paths, key=_rank):
            segments = _split_path(route.path)
            shapes = templates if "{" in route.path else self._literal
            shape = shapes.setdefault(_build_shape(segments), _Shape(segments, {}))
            shape.by_method.setdefault(route.method, route)
        self._templates = tuple(templates.values())

    def find(self, method: str, path: str) -> Matched | Unrouted:
        segments = _decode_segments(path)
        # What browsers and tools ask first is answered as GET is.
        wanted = (method, "GET", ANY) if method == "HEAD" else (method, ANY)
        allowed: list[str] = []
        for shape in self._list_shapes(segments):
            for one in wanted:
                if route := shape.by_method.get(one):
                    return Matched(route, _match_template(_split_path(route.path), segments) or {})
            allowed += shape.by_method
        for route in self._default:
            return Matched(route, {})
        return Unrouted(tuple(sorted(set(allowed))))

    def on_path(self, path: str) -> tuple[HttpRoute, ...]:
        """Return all routes of a path, whatever their method; most specific first."""
        shapes = self._list_shapes(_decode_segments(path))
        found = (route for shape in shapes for route in shape.by_method.values())
        return (*found, *self._default)

    def _list_shapes(self, segments: list[str]) -> Iterator[_Shape]:
        if literal := self._literal.get(tuple(segments)):
            yield literal
        for one in self._templates:
            if _match_template(one.segments, segments) is not None:
                yield one


def _split_default(
    routes: Iterable[HttpRoute],
) -> tuple[tuple[HttpRoute, ...], tuple[HttpRoute, ...]]:
    """Return the route of all other requests, if there is one, and the routes of paths."""
    every = tuple(routes)
    default = tuple(one for one in every if one.path == DEFAULT_ROUTE)
    return default[:1], tuple(one for one in every if one.path != DEFAULT_ROUTE)


def _decode_segments(path: str) -> list[str]:
    """Decode each segment separately, so that an encoded `/` does not split it."""
    return [unquote(one) if "%" in one else one for one in _split_path(path)]


def _split_path(path: str) -> list[str]:
    return path.strip("/").split("/")


def _build_shape(segments: list[str]) -> tuple[str, ...]:
    return tuple("{+}" if _order(one) > 1 else "{}" if _order(one) else one for one in segments)


def _rank(route: HttpRoute) -> tuple[tuple[int, ...], str]:
    return tuple(_order(one) for one in _split_path(route.path)), route.method


def _order(segment: str) -> int:
    if not segment.startswith("{"):
        return 0
    return 2 if segment.endswith("+}") else 1


def _match_template(template: list[str], segments: list[str]) -> dict[str, str] | None:
    found: dict[str, str] = {}
    for place, one in enumerate(template):
        order = _order(one)
        if order > 1:
            rest = "/".join(segments[place:])
            return {**found, one[1:-2]: rest} if rest else None
        if place >= len(segments) or (order and not segments[place]):
            return None
        if order:
            found[one[1:-1]] = segments[place]
        elif one != segments[place]:
            return None
    return found if len(template) == len(segments) else None
