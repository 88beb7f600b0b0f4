"""Which route of a function a request takes: literal segments before templates, those before
`{name+}`. The standard library only: this runs in a container that has nothing of fabric's."""

import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote, unquote

_ANY = "ANY"
_NAME = re.compile(r"\{([^{}+]+)(\+?)\}")


class ServedRoute:
    def __init__(self, method: str, path: str) -> None:
        segments = [one for one in path.split("/") if one]
        self.method = method
        self.key = f"{method} {path}"
        self.names = [found[1] for one in segments if (found := _NAME.fullmatch(one))]
        self.pattern = re.compile("/" + "/".join(map(_pattern, segments)) + "/?")
        # Where two begin alike the longer one is closer.
        self.rank = "".join(map(_rank, segments)) + "9"


class TakenRoute:
    """The key of a route with what its path says; else the methods that the path has."""

    def __init__(
        self,
        key: str = "",
        parameters: Mapping[str, str] | None = None,
        allowed: Iterable[str] = (),
    ) -> None:
        self.key = key
        self.parameters = dict(parameters or {})
        self.allowed = sorted(set(allowed))


def routes_of(rows: Iterable[Mapping[str, str]]) -> list[ServedRoute]:
    found = [ServedRoute(row["method"], row["path"]) for row in rows]
    return sorted(found, key=lambda one: one.rank)


def routed(routes: list[ServedRoute], method: str, path: str) -> TakenRoute:
    """Without routes everything is taken."""
    if not routes:
        return TakenRoute("$default")
    asked = "/".join(quote(unquote(one), safe="") for one in path.split("/"))
    fitting = [(one, found) for one in routes if (found := one.pattern.fullmatch(asked))]
    for wanted in (method, "GET", _ANY) if method == "HEAD" else (method, _ANY):
        for one, found in fitting:
            if one.method == wanted:
                values = map(unquote, found.groups())
                return TakenRoute(one.key, dict(zip(one.names, values, strict=True)))
    return TakenRoute(allowed=(one.method for one, _ in fitting))


def _pattern(segment: str) -> str:
    found = _NAME.fullmatch(segment)
    if found is None:
        return re.escape(quote(segment, safe=""))
    return "(.+)" if found[2] else "([^/]+)"


def _rank(segment: str) -> str:
    found = _NAME.fullmatch(segment)
    return "0" if found is None else ("2" if found[2] else "1")
