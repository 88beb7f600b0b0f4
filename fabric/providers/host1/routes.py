"""Which requests each function of a project is sent. No effects.

host1 takes the first route that fits: so the closest path comes first, and a method before ANY, as
fabric's own servers choose. What fits a path and no method of it is sent to any function that has
the path: each knows all routes of the service, and answers 405, or a browser that asks before.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from urllib.parse import quote

from msgspec import Struct

from fabric.model.cors import cors_row
from fabric.model.outcomes.json_struct import JsonObject

ANY = "ANY"
_MANY = 2
_LATER = {"GET": 1, ANY: 2}
_PARAMETER = re.compile(r"\{[^{}+]+(\+?)\}")
_ESCAPE = re.compile(r"%([0-9A-F]{2})")
_EXPRESSIONS = {"{}": "[^/]+", "{+}": ".+"}


class ProjectRoute(Struct, frozen=True):
    """`number` is that of the trigger; `cors` is as the config has it."""

    function: str
    number: int
    method: str
    path: str
    cors: object = None

    @property
    def title(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def shape(self) -> tuple[str, ...]:
        """Its segments; parameters lose their names, and a slash at the end says nothing."""
        return tuple(_PARAMETER.sub(r"{\1}", one) for one in self.path.strip("/").split("/"))

    @property
    def rank(self) -> tuple[int, ...]:
        return tuple(_rank(one) for one in self.shape)

    @property
    def row(self) -> JsonObject:
        """As what stands around a handler reads it."""
        named: JsonObject = {"function": self.function, "method": self.method, "path": self.path}
        return {**named, "cors": cors_row(self.cors)}


def _rank(segment: str) -> int:
    if segment not in _EXPRESSIONS:
        return 0
    return _MANY if segment == "{+}" else 1


def routes_in(function: str, triggers: Iterator[Mapping[str, object]]) -> Iterator[ProjectRoute]:
    for number, one in enumerate(triggers):
        if one.get("type") == "http":
            method, path = str(one.get("method") or "GET").upper(), str(one.get("path") or "/")
            yield ProjectRoute(function, number, method, path, one.get("cors"))


def twice(routes: Sequence[ProjectRoute]) -> Iterator[tuple[ProjectRoute, ProjectRoute]]:
    """Those that no request tells apart."""
    seen: dict[tuple[str, tuple[str, ...]], ProjectRoute] = {}
    for one in routes:
        first = seen.setdefault((one.method, one.shape), one)
        if first is not one:
            yield first, one


def own_routes(
    routes: Sequence[ProjectRoute], name_of: Callable[[str], str]
) -> Iterator[JsonObject]:
    """In host1's own words and order; `name_of` is what a function is called there."""
    ordered = sorted(routes, key=_order)
    for one in ordered:
        row = {**_written(one), "dest": f"/{name_of(one.function)}"}
        yield row if one.method == ANY else {**row, "methods": _methods(one.method)}
    taken = {one.shape for one in ordered if one.method == ANY}
    for one in ordered:
        if one.shape not in taken:
            taken.add(one.shape)
            yield {**_written(one), "dest": f"/{name_of(one.function)}"}


def _order(one: ProjectRoute) -> tuple[tuple[int, ...], tuple[str, ...], int, str]:
    """GET takes HEAD, too, where nobody else does."""
    return one.rank, one.shape, _LATER.get(one.method, 0), one.title


def _methods(method: str) -> list[str]:
    return ["GET", "HEAD"] if method == "GET" else [method]


def _written(one: ProjectRoute) -> JsonObject:
    return {"src": expression_of(one.shape), "caseSensitive": True}


def expression_of(shape: tuple[str, ...]) -> str:
    if shape == ("",):
        return "^/$"
    return "^/" + "/".join(_EXPRESSIONS.get(one) or _literal(one) for one in shape) + "/?$"


def _literal(segment: str) -> str:
    """A path comes as it was sent, and may be sent with escapes: in large letters or small ones."""
    sent = re.sub(_ESCAPE, _in_both_cases, re.escape(quote(segment)))
    forms = sorted({re.escape(segment), sent})
    return forms[0] if len(forms) == 1 else f"(?:{'|'.join(forms)})"


def _in_both_cases(escape: re.Match[str]) -> str:
    signs = (one if one.isdigit() else f"[{one}{one.lower()}]" for one in escape[1])
    return f"%{''.join(signs)}"
