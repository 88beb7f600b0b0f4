"""Match requests to routes by method and path only."""

import re
from collections.abc import Sequence

from msgspec import Struct

from fabric.daemon.http_types import ApiRoute, Right
from fabric.daemon.server.hosts import is_safe

# One name for all that is no route: labels and log lines are bounded by routes, never by paths.
UNKNOWN = "unknown"
_VARIABLE = re.compile(r"<[a-z_]+>")


class RouteMatch(Struct, frozen=True):
    """A match."""

    name: str
    # The required permission, also for a missing route.
    right: Right
    only_computes: bool = False
    is_free: bool = False


class ApiRouteTable:
    def __init__(self, routes: Sequence[ApiRoute]) -> None:
        self._plain = {(one.method, one.path): _match(one) for one in routes if "<" not in one.path}
        self._patterns = tuple(
            (one.method, _compile_pattern(one.path), _match(one))
            for one in routes
            if "<" in one.path
        )

    def match(self, method: str, path: str) -> RouteMatch:
        """Match a request. HEAD is GET without a body.

        A missing route is revealed only with the permission that its method would need.
        """
        asked = "GET" if method == "HEAD" else method
        if found := self._plain.get((asked, path)):
            return found
        for one, pattern, found in self._patterns:
            if one == asked and pattern.fullmatch(path):
                return found
        right = Right.LOOK if is_safe(method) else Right.CHANGE
        return RouteMatch(UNKNOWN, right, only_computes=True)


def _match(route: ApiRoute) -> RouteMatch:
    return RouteMatch(route.name, route.right, route.only_computes, route.is_free)


def _compile_pattern(path: str) -> re.Pattern[str]:
    parts = _VARIABLE.split(path)
    return re.compile("[^/]+".join(map(re.escape, parts)))
