"""An HTTP API as it is kept: its stages, routes and integrations; and which route a path is."""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.support.servers.strict_cloud1.constraints import Fields

_VARIABLE = re.compile(r"\{(\w+)(\+?)\}")


class Hit(NamedTuple):
    route: Fields
    variables: dict[str, str]


@dataclass
class Gateway:
    shown: Fields
    stages: dict[str, Fields] = field(default_factory=dict)
    routes: dict[str, Fields] = field(default_factory=dict)
    integrations: dict[str, Fields] = field(default_factory=dict)
    authorizers: dict[str, Fields] = field(default_factory=dict)

    def part(self, kind: str) -> dict[str, Fields]:
        kinds = {
            "stage": self.stages,
            "route": self.routes,
            "integration": self.integrations,
            "authorizer": self.authorizers,
        }
        return kinds[kind]

    def stage_of(self, path: str) -> tuple[str, str] | None:
        """The stage that a path names first, or `$default`; and the path that routes are of."""
        first, _, rest = path.removeprefix("/").partition("/")
        named = first in self.stages and first != "$default"
        stage = first if named else "$default"
        if not self.stages.get(stage, {}).get("AutoDeploy"):
            return None
        return stage, f"/{rest}" if named else path

    def hit(self, method: str, path: str) -> Hit | None:
        """The most specific route: whole paths, then variables, then greedy ones, then methods."""
        found = [
            (_rank(route["RouteKey"]), Hit(route, variables))
            for route in list(self.routes.values())
            if (variables := _variables(route["RouteKey"], method, path)) is not None
        ]
        return max(found, key=lambda one: one[0])[1] if found else None


@dataclass
class Domain:
    """A domain name, and the APIs that its paths are mapped to."""

    shown: Fields
    mappings: dict[str, Fields] = field(default_factory=dict)

    def mapped(self, path: str) -> tuple[Fields, str] | None:
        """The mapping of the longest key that a path begins with, and the rest of the path."""
        for one in sorted(self.mappings.values(), key=lambda row: -len(row["ApiMappingKey"])):
            base = f"/{one['ApiMappingKey']}".rstrip("/")
            if path == base or path.startswith(f"{base}/"):
                return one, path.removeprefix(base) or "/"
        return None


def _variables(key: str, method: str, path: str) -> dict[str, str] | None:
    if key == "$default":
        return {}
    verb, _, template = key.partition(" ")
    if verb not in {method, "ANY"}:
        return None
    found = re.fullmatch(_pattern(template), path)
    return found.groupdict() if found else None


def _pattern(template: str) -> str:
    made, end = "", 0
    for one in _VARIABLE.finditer(template):
        made += re.escape(template[end : one.start()])
        made += f"(?P<{one[1]}>{'.+' if one[2] else '[^/]+'})"
        end = one.end()
    return made + re.escape(template[end:])


def _rank(key: str) -> tuple[int, int, bool]:
    if key == "$default":
        return (0, 0, False)
    verb, _, template = key.partition(" ")
    kind = 1 if "+}" in template else 2 if "{" in template else 3
    return (kind, len(template), verb != "ANY")
