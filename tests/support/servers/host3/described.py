"""The vendor's description of the Machines API, and what of a request it does not allow.

The description has almost no required fields and forbids none: unknown fields are refused here, and
required ones are listed here, with the few that only the vendor's Go client knows.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

_FILE = Path(__file__).with_name("machines-openapi.json")
_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}
_REQUIRED: dict[str, tuple[str, ...]] = {
    "CreateAppRequest": ("name", "org_slug"),
    "CreateMachineRequest": ("config",),
    "UpdateMachineRequest": ("config",),
    "fly.MachineConfig": ("image",),
    "fly.File": ("guest_path",),
    "fly.MachineService": ("internal_port", "protocol"),
    "fly.MachineSecret": ("env_var", "name"),
    "assignIPRequest": ("type",),
    "AppSecretsUpdateRequest": ("values",),
    "createAcmeCertificateRequest": ("hostname",),
    "upsertMetadataKeyRequest": ("value",),
}
# Query names of the documentation and of the client that the description lacks.
_QUERIES = re.compile(r"metadata\..+|kill|wait")


@dataclass(frozen=True)
class Described:
    """One operation as it was asked for. `names` are the parts of its path."""

    route: str
    names: Mapping[str, str]
    about: Mapping[str, Any] = field(default_factory=dict)


class Description:
    def __init__(self) -> None:
        self._document = json.loads(_FILE.read_text())
        self._schemas = self._document["components"]["schemas"]
        rows = [
            (method.upper(), re.compile(_pattern(path)), f"{method.upper()} {path}", one)
            for path, methods in self._document["paths"].items()
            for method, one in methods.items()
            if isinstance(one, dict) and "responses" in one
        ]
        # Fewer names first: `/certificates/acme` is no `/certificates/{hostname}`.
        self._rows = sorted(rows, key=lambda row: row[1].groups)

    def find(self, method: str, path: str) -> Described | None:
        for verb, pattern, route, one in self._rows:
            hit = pattern.fullmatch(path) if verb == method else None
            if hit:
                names = {name: unquote(text) for name, text in hit.groupdict().items()}
                return Described(route, names, one)
        return None

    def status(self, asked: Described) -> int:
        return int(next(one for one in asked.about["responses"] if one.startswith("2")))

    def problems(self, asked: Described, query: Mapping[str, str], body: Any) -> Iterator[str]:
        known = {one["name"] for one in asked.about.get("parameters", ()) if one["in"] == "query"}
        for name in query:
            if name not in known and not _QUERIES.fullmatch(name):
                yield f"unknown query parameter {name}"
        said = asked.about.get("requestBody", {}).get("content", {}).get("application/json")
        if said is None:
            if body is not None:
                yield "a body that nobody asked for"
        elif body is None:
            yield "the body is missing"
        else:
            yield from self._wrong(body, said["schema"], "body")

    def answer_problems(self, asked: Described, status: int, body: Any) -> list[str]:
        """What of an answer of this server the description does not have."""
        said = asked.about["responses"].get(str(status), {}).get("content", {})
        schema = said.get("application/json", {}).get("schema")
        return [] if schema is None or body is None else [*self._wrong(body, schema, "answer")]

    def _wrong(self, value: Any, schema: dict[str, Any], at: str) -> Iterator[str]:
        kind = schema.get("type")
        if "$ref" in schema or schema.get("allOf"):
            for part in schema.get("allOf", (schema,)):
                yield from self._wrong_named(value, part["$ref"].rpartition("/")[2], at)
            return
        if kind == "object" or "properties" in schema:
            yield from self._wrong_object(value, schema, at)
        elif kind == "array":
            yield from self._wrong_list(value, schema, at)
        else:
            yield from _wrong_value(value, schema, at)

    def _wrong_named(self, value: Any, name: str, at: str) -> Iterator[str]:
        for one in _REQUIRED.get(name, ()):
            if isinstance(value, dict) and one not in value:
                yield f"{at}.{one} is missing"
        yield from self._wrong(value, self._schemas[name], at)

    def _wrong_object(self, value: Any, schema: dict[str, Any], at: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{at} must be an object"
            return
        properties = schema.get("properties", {})
        more = schema.get("additionalProperties", not properties)
        for name, one in value.items():
            if name in properties:
                yield from self._wrong(one, properties[name], f"{at}.{name}")
            elif isinstance(more, dict):
                yield from self._wrong(one, more, f"{at}.{name}")
            elif not more:
                yield f"{at} has the unknown member {name}"

    def _wrong_list(self, value: Any, schema: dict[str, Any], at: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield f"{at} must be a list"
            return
        for number, one in enumerate(value):
            yield from self._wrong(one, schema.get("items", {}), f"{at}[{number}]")


def _wrong_value(value: Any, schema: dict[str, Any], at: str) -> Iterator[str]:
    kind = schema.get("type")
    if kind in _KINDS and not _is_of(value, kind):
        yield f"{at} must be of the type {kind}"
    elif "enum" in schema and value not in schema["enum"]:
        yield f"{at} is {value!r}, which is none of {schema['enum']}"


def _is_of(value: Any, kind: str) -> bool:
    is_right = isinstance(value, _KINDS[kind])
    return is_right and (kind == "boolean" or not isinstance(value, bool))


def _pattern(path: str) -> str:
    parts = re.split(r"\{(\w+)\}", path)
    return "".join(
        re.escape(part) if at % 2 == 0 else f"(?P<{part}>[^/]+)" for at, part in enumerate(parts)
    )
