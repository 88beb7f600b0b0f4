"""The routes of a project's functions on Vercel. No effects.

Vercel uses the first matching route. So the most specific path comes first, and a method before
ANY, as in fabric's own servers.

A request with a known path and another method is routed to any function with that path. Each
function knows all routes of the service, and answers 405 or the CORS preflight.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import quote

from fabric.model.calls.cors import encode_cors
from fabric.model.outcomes.json_struct import JsonObject
from fabric.providers.core.triggers import HttpRoute

ANY = "ANY"
_RANKS = {"{}": 1, "{+}": 2}
_LATER = {"GET": 1, ANY: 2}
_ESCAPE = re.compile(r"%([0-9A-F]{2})")
_EXPRESSIONS = {"{}": "[^/]+", "{+}": ".+"}


def rank_path(shape: tuple[str, ...]) -> tuple[int, ...]:
    """Rank a path by its segments: literals come before parameters."""
    return tuple(_RANKS.get(one, 0) for one in shape)


def build_route_row(one: HttpRoute) -> JsonObject:
    """Build the route in the format of the server files."""
    named: JsonObject = {"function": one.function, "method": one.method, "path": one.path}
    return {**named, "cors": encode_cors(one.cors)}


def find_route_conflicts(
    routes: Sequence[HttpRoute],
) -> Iterator[tuple[HttpRoute, HttpRoute]]:
    """Yield pairs of routes that match the same requests."""
    seen: dict[tuple[str, tuple[str, ...]], HttpRoute] = {}
    for one in routes:
        first = seen.setdefault((one.method, one.shape), one)
        if first is not one:
            yield first, one


def build_vercel_routes(
    routes: Sequence[HttpRoute], name_of: Callable[[str], str]
) -> Iterator[JsonObject]:
    """Build the routes in Vercel's format and order; `name_of` returns the deployed function
    name."""
    ordered = sorted(routes, key=_order)
    for one in ordered:
        row = {**_build_route_head(one), "dest": f"/{name_of(one.function)}"}
        yield row if one.method == ANY else {**row, "methods": _list_methods(one.method)}
    taken = {one.shape for one in ordered if one.method == ANY}
    for one in ordered:
        if one.shape not in taken:
            taken.add(one.shape)
            yield {**_build_route_head(one), "dest": f"/{name_of(one.function)}"}


def _order(one: HttpRoute) -> tuple[tuple[int, ...], tuple[str, ...], int, str]:
    """Return the sort key. GET routes also take HEAD, unless another function has a HEAD route."""
    return rank_path(one.shape), one.shape, _LATER.get(one.method, 0), one.title


def _list_methods(method: str) -> list[str]:
    return ["GET", "HEAD"] if method == "GET" else [method]


def _build_route_head(one: HttpRoute) -> JsonObject:
    return {"src": build_expression(one.shape), "caseSensitive": True}


def build_expression(shape: tuple[str, ...]) -> str:
    if shape == ("",):
        return "^/$"
    return "^/" + "/".join(_EXPRESSIONS.get(one) or _escape_literal(one) for one in shape) + "/?$"


def _escape_literal(segment: str) -> str:
    """Build the expression of a literal segment, which matches encoded characters in uppercase and
    lowercase."""
    sent = re.sub(_ESCAPE, _match_both_cases, re.escape(quote(segment)))
    forms = sorted({re.escape(segment), sent})
    return forms[0] if len(forms) == 1 else f"(?:{'|'.join(forms)})"


def _match_both_cases(escape: re.Match[str]) -> str:
    signs = (one if one.isdigit() else f"[{one}{one.lower()}]" for one in escape[1])
    return f"%{''.join(signs)}"
