"""Requests checked against Google's own discovery documents."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

_KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}


@dataclass(frozen=True)
class Described:
    """A method of an interface: `id` says which, `pattern` is its path."""

    id: str
    verb: str
    pattern: re.Pattern[str]
    method: Mapping[str, Any]


class Discovery:
    def __init__(self, file: Path) -> None:
        self._document = json.loads(file.read_text())
        self._base = self._document.get("servicePath", "")

    @cached_property
    def _methods(self) -> list[Described]:
        return sorted(self._walked(self._document), key=lambda one: -len(one.pattern.pattern))

    def _walked(self, node: Mapping[str, Any]) -> Iterator[Described]:
        for method in node.get("methods", {}).values():
            path = re.escape(self._base + (method.get("flatPath") or method["path"]))
            pattern = re.sub(r"\\\{(?:\\\+)?(\w+)\\\}", r"(?P<\1>[^/:]+)", path)
            yield Described(method["id"], method["httpMethod"], re.compile(f"/{pattern}"), method)
        for child in node.get("resources", {}).values():
            yield from self._walked(child)

    def found(self, verb: str, path: str) -> tuple[Described, dict[str, str]] | None:
        """With the parts of the path by their names: `projectsId`, `functionsId`."""
        for one in self._methods:
            hit = one.pattern.fullmatch(path) if one.verb == verb else None
            if hit:
                return one, {name: unquote(text) for name, text in hit.groupdict().items()}
        return None

    def problems(self, one: Described, query: Mapping[str, str], body: Any) -> list[str]:
        said = one.method.get("parameters", {})
        known = {*said, *self._document.get("parameters", {})}
        found = [f"query parameter {name} is not known" for name in query if name not in known]
        found += [
            f"query parameter {name} is missing"
            for name, row in said.items()
            if row.get("required") and row["location"] == "query" and name not in query
        ]
        if "request" in one.method:
            found += self._checked(body or {}, {"$ref": one.method["request"]["$ref"]}, "body")
        elif body:
            found.append("this call has no body")
        return found

    def _checked(self, value: Any, schema: Mapping[str, Any], at: str) -> Iterator[str]:
        schema = self._document["schemas"][schema["$ref"]] if "$ref" in schema else schema
        match schema.get("type"):
            case "object":
                yield from self._object(value, schema, at)
            case "array":
                rows = value if isinstance(value, list) else None
                if rows is None:
                    yield f"{at} must be a list"
                for number, one in enumerate(rows or ()):
                    yield from self._checked(one, schema["items"], f"{at}[{number}]")
            case kind:
                yield from _plain(value, kind, schema, at)

    def _object(self, value: Any, schema: Mapping[str, Any], at: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{at} must be an object"
            return
        properties, more = schema.get("properties", {}), schema.get("additionalProperties")
        for name, one in value.items():
            own = properties.get(name, more)
            if own is None:
                yield f"{at}: unknown field {name}"
                continue
            if own.get("readOnly"):
                yield f"{at}.{name} is output only"
            yield from self._checked(one, own, f"{at}.{name}")


def _plain(value: Any, kind: Any, schema: Mapping[str, Any], at: str) -> Iterator[str]:
    wanted = _KINDS.get(str(kind))
    if wanted and (not isinstance(value, wanted) or (kind == "integer" and value is True)):
        yield f"{at} must be a {kind}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is none of {schema['enum']}"
