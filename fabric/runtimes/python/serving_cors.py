"""CORS headers of a server that answers preflights itself.

Standard library only: it runs in a container without fabric.
"""

from collections.abc import Callable, Mapping, Sequence

from fabric.runtimes.python.serving_routes import ServedRoute

Headers = dict[str, str]


class ServedCors:
    """The `cors` settings of a route."""

    def __init__(self, said: Mapping[str, object]) -> None:
        self.origins = _list_texts(said.get("origins"))
        self.methods = _list_texts(said.get("methods"))
        self.headers = _list_texts(said.get("headers"))
        self.exposed = _list_texts(said.get("exposed"))
        self.credentials = bool(said.get("credentials"))
        self.max_age = str(said.get("maxAge") or "")


def cors_of_route(route: ServedRoute) -> ServedCors | None:
    return ServedCors(route.cors) if isinstance(route.cors, dict) else None


def answer_headers(cors: ServedCors, origin: str) -> Headers:
    """Return the headers of a response to a page of that origin."""
    if not origin or not {"*", origin}.intersection(cors.origins):
        return {}
    is_open = "*" in cors.origins and not cors.credentials
    found = {"access-control-allow-origin": "*" if is_open else origin}
    if not is_open:
        found["vary"] = "origin"
    if cors.exposed:
        found["access-control-expose-headers"] = ", ".join(cors.exposed)
    if cors.credentials:
        found["access-control-allow-credentials"] = "true"
    return found


def preflight_headers(
    rows: Sequence[ServedRoute], method: str, header: Callable[[str], str]
) -> Headers | None:
    """Return the preflight response headers for the routes of a path. None if the request is not a
    preflight, or no route has CORS."""
    asked = header("access-control-request-method")
    if method != "OPTIONS" or not asked:
        return None
    open_rows = [(one, cors) for one in rows if (cors := cors_of_route(one))]
    fitting = [cors for one, cors in open_rows if one.method in (asked, "ANY")]
    cors = next(iter((*fitting, *(cors for _, cors in open_rows))), None)
    if cors is None:
        return None
    wanted = header("access-control-request-headers")
    headers = cors.headers or [one for one in (wanted,) if one]
    found = answer_headers(cors, header("origin"))
    found["access-control-allow-methods"] = ", ".join(cors.methods)
    if headers:
        found["access-control-allow-headers"] = ", ".join(headers)
    if cors.max_age:
        found["access-control-max-age"] = cors.max_age
    return found


def _list_texts(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list | tuple) else []
