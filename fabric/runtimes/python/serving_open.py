"""Answer CORS preflights in functions that have nothing in front of them.

Standard library only: it runs without the rest of fabric.
"""

from fabric.runtimes.python.serving_answers import AnsweringFunction
from fabric.runtimes.python.serving_cors import (
    Headers,
    answer_headers,
    cors_of_route,
    preflight_headers,
)
from fabric.runtimes.python.serving_http import ServedRequest, ServedResponse
from fabric.runtimes.python.serving_routes import MatchedRoute, match_route


class OpenFunction(AnsweringFunction):
    def answer(self, taken: ServedRequest) -> ServedResponse:
        route = match_route(self.routes, taken.method, taken.path)
        if not route.key:
            return answer_preflight(route, taken) or super().answer(taken)
        return add_cors(super().answer(taken), route, taken)


def answer_preflight(route: MatchedRoute, taken: ServedRequest) -> ServedResponse | None:
    """Return the response to a preflight; None if the request is not an allowed preflight."""
    told = preflight_headers(route.rows, taken.method, taken.header)
    return None if told is None else ServedResponse(204, [*told.items()], b"")


def add_cors(given: ServedResponse, route: MatchedRoute, taken: ServedRequest) -> ServedResponse:
    """Add the CORS headers of the matched route to a response."""
    cors = cors_of_route(route.rows[0])
    return _merge_headers(given, answer_headers(cors, taken.header("origin"))) if cors else given


def _merge_headers(given: ServedResponse, told: Headers) -> ServedResponse:
    """Merge headers. The handler's own take precedence, and `Vary` values are added up."""
    rest = [pair for pair in given.headers if pair[0] == "vary" or pair[0] not in told]
    return ServedResponse(given.status, [*rest, *told.items()], given.body)
