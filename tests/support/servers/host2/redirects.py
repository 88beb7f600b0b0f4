"""The file `_redirects`, as Netlify's documents describe its lines."""

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from tests.support.servers.planned_faults import RefusedError

_CONDITIONS = frozenset(("Country", "Language", "Role", "Cookie"))


@dataclass(frozen=True)
class Redirect:
    source: str
    target: str
    status: int = 301
    query: dict[str, str] = field(default_factory=dict)
    conditions: dict[str, str] = field(default_factory=dict)

    def filled(self, path: str, query: str) -> str | None:
        """The target of a request that the line is for. Nobody has a country here."""
        pattern = re.sub(r":(\w+)", r"(?P<\1>[^/]+)", re.escape(self.source))
        pattern = re.sub(r"/\\\*$", r"(?:/(?P<splat>.*))?", pattern)
        found = re.fullmatch(pattern, path)
        given = dict(parse_qsl(query))
        if found is None or self.conditions or not self.query.keys() <= given.keys():
            return None
        names = {name: text or "" for name, text in found.groupdict().items()}
        names |= {text.removeprefix(":"): given[name] for name, text in self.query.items()}
        return re.sub(r":([A-Za-z_]\w*)", lambda one: names.get(one[1], one[0]), self.target)


def parse_redirects(text: str) -> list[Redirect]:
    return [_parse(line) for line in text.splitlines() if line and not line.startswith("#")]


def _parse(line: str) -> Redirect:
    source, *rest = line.split()
    query = {}
    while rest and not rest[0].startswith(("/", "http")):
        name, _, value = rest.pop(0).partition("=")
        query[name] = value
    if not source.startswith("/") or not rest:
        raise RefusedError(422, f"the line {line} of _redirects is not valid")
    target, *rest = rest
    status = rest.pop(0).removesuffix("!") if rest and rest[0][0].isdigit() else "301"
    conditions = dict(one.split("=", 1) for one in rest)
    if not conditions.keys() <= _CONDITIONS:
        raise RefusedError(422, f"the line {line} of _redirects has unknown conditions")
    return Redirect(source, target, int(status), query, conditions)
