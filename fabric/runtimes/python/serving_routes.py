"""Route matching of a function, in containers and locally: the most specific path with the method.

Literal segments rank before parameters, and those before `{name+}`; a method ranks before ANY.

Standard library only: it runs in a container without fabric.
"""

from collections.abc import Iterable, Mapping
from urllib.parse import unquote

_ANY = "ANY"
_SHAPES = {1: "{}", 2: "{+}"}


class ServedRoute:
    """A route. `cors` are its CORS settings, if the server answers preflights. `number` is that of
    its function, if a server has several."""

    def __init__(self, method: str, path: str, cors: object = None, number: int = 0) -> None:
        self.method = method
        self.cors = cors
        self.number = number
        self.key = f"{method} {path}"
        self.segments = _split_path(path)
        self.rank = tuple(map(_order, self.segments))
        self.shape = tuple(_SHAPES.get(_order(one), one) for one in self.segments)


class MatchedRoute:
    """A matched route with its path parameters, or the catch-all key; otherwise the routes of the
    path."""

    def __init__(
        self,
        key: str = "",
        parameters: Mapping[str, str] | None = None,
        rows: Iterable[ServedRoute] = (),
    ) -> None:
        self.key = key
        self.parameters = dict(parameters or {})
        self.rows = list(rows)
        self.allowed = [] if key else sorted({one.method for one in self.rows})


def routes_of(rows: Iterable[Mapping[str, object]], number: int = 0) -> list[ServedRoute]:
    found = (
        ServedRoute(str(row["method"]), str(row["path"]), row.get("cors"), number) for row in rows
    )
    return sort_routes(found)


def sort_routes(routes: Iterable[ServedRoute]) -> list[ServedRoute]:
    return sorted(routes, key=lambda one: one.rank)


def match_route(routes: list[ServedRoute], method: str, path: str) -> MatchedRoute:
    """Match a request. Without routes, everything matches."""
    if not routes:
        return MatchedRoute("$default")
    asked = [unquote(one) for one in _split_path(path)]
    fitting = [(one, found) for one in routes if (found := _match_route(one, asked)) is not None]
    wanted = (method, "GET", _ANY) if method == "HEAD" else (method, _ANY)
    for shape in dict.fromkeys(one.shape for one, _ in fitting):
        there = [(one, found) for one, found in fitting if one.shape == shape]
        for name in wanted:
            for one, found in there:
                if one.method == name:
                    return MatchedRoute(one.key, found, [one])
    return MatchedRoute(rows=(one for one, _ in fitting))


def _split_path(path: str) -> list[str]:
    return path.strip("/").split("/")


def _order(segment: str) -> int:
    if not segment.startswith("{"):
        return 0
    return 2 if segment.endswith("+}") else 1


def _match_route(route: ServedRoute, asked: list[str]) -> dict[str, str] | None:
    found: dict[str, str] = {}
    for place, (one, order) in enumerate(zip(route.segments, route.rank, strict=True)):
        if order > 1:
            rest = "/".join(asked[place:])
            return {**found, one[1:-2]: rest} if rest else None
        if place >= len(asked) or (order and not asked[place]):
            return None
        if order:
            found[one[1:-1]] = asked[place]
        elif one != asked[place]:
            return None
    return found if len(route.segments) == len(asked) else None
