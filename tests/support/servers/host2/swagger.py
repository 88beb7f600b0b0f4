"""host2's own description of its interface, from npm, and what of a request it does not allow."""

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from fabric.runtimes.nodejs.toolchain import find_node, find_npm_command
from fabric.system.files.disk import lock_file, make_folder
from fabric.system.process.process import run_child
from tests.support.bundler_cache import ENVIRONMENT, TOOLCHAIN

_VERSION, _CLIENT = "2.60.0", "15.1.2"
_CACHE = TOOLCHAIN.parent
_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}


def described() -> Path:
    """The document."""
    return official_packages() / "@netlify" / "open-api" / "dist" / "swagger.json"


def official_packages() -> Path:
    """The description, and the client that is made of it: fetched once for all workers and
    runs."""
    folder = _CACHE / f"host2-packages-{_VERSION}-{_CLIENT}"
    if not folder.exists():
        with lock_file(_CACHE / "host2-packages.lock", 600):
            if not folder.exists():
                _install(folder)
    return folder / "node_modules"


def _install(folder: Path) -> None:
    fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
    argv = [*find_npm_command(ENVIRONMENT), "install", "--no-audit", "--no-fund", "--no-save"]
    argv += ["--ignore-scripts", "--prefix", str(fresh)]
    argv += [f"@netlify/open-api@{_VERSION}", f"@netlify/api@{_CLIENT}"]
    env = {**ENVIRONMENT, "PATH": f"{find_node(ENVIRONMENT).parent}:{ENVIRONMENT['PATH']}"}
    make_folder(fresh)
    if run_child(argv, cwd=fresh, env=env, timeout=300).code:
        shutil.rmtree(fresh, ignore_errors=True)
        raise RuntimeError(f"cannot install host2's packages: see npm's log, or run {argv}")
    fresh.rename(folder)


@dataclass(frozen=True)
class Described:
    """One operation as it was asked for. `names` are the parts of its path."""

    operation: str
    names: Mapping[str, str]
    parameters: list[dict[str, Any]] = field(default_factory=list)


class Swagger:
    def __init__(self, path: Path) -> None:
        self._document = json.loads(path.read_text())
        rows = [
            (method.upper(), re.compile(_pattern(path)), shared, one)
            for path, methods in self._document["paths"].items()
            for shared in [methods.get("parameters", [])]
            for method, one in methods.items()
            if isinstance(one, dict) and "operationId" in one
        ]
        # Fewer names first: `/sites/x` is no `/{a}/{b}`.
        self._rows = sorted(rows, key=lambda row: row[1].groups)

    def find(self, method: str, path: str) -> Described | None:
        for verb, pattern, shared, one in self._rows:
            hit = pattern.fullmatch(path) if verb == method else None
            if hit:
                names = {name: unquote(text) for name, text in hit.groupdict().items()}
                parameters = [*shared, *one.get("parameters", [])]
                return Described(one["operationId"], names, parameters)
        return None

    def problems(self, asked: Described, query: Mapping[str, str], body: Any) -> list[str]:
        rows = {one["name"]: one for one in asked.parameters}
        known = {name for name, one in rows.items() if one["in"] == "query"}
        found = [f"the query parameter {name} is not known" for name in query if name not in known]
        for one in asked.parameters:
            if one["in"] == "body" and isinstance(body, dict | list):
                found += self._wrong(body, one.get("schema", {}), "body")
        return found

    def _wrong(self, value: Any, schema: dict[str, Any], at: str) -> Iterator[str]:
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            yield from self._wrong(value, self._document["definitions"][name], at)
            return
        for part in schema.get("allOf", ()):
            yield from self._wrong(value, part, at)
        kind = schema.get("type")
        if kind == "object" or "properties" in schema:
            yield from self._wrong_object(value, schema, at)
        elif kind == "array":
            yield from self._wrong_list(value, schema, at)
        elif kind in _KINDS and not _is_of(value, kind):
            yield f"{at} must be of the type {kind}"
        elif "enum" in schema and value not in schema["enum"]:
            yield f"{at} is {value!r}, which is none of {schema['enum']}"

    def _wrong_object(self, value: Any, schema: dict[str, Any], at: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{at} must be an object"
            return
        properties = schema.get("properties", {})
        more = schema.get("additionalProperties", not properties)
        yield from (
            f"{at}.{one} is missing" for one in schema.get("required", ()) if one not in value
        )
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


def _is_of(value: Any, kind: str) -> bool:
    is_right = isinstance(value, _KINDS[kind])
    return is_right and (kind == "boolean" or not isinstance(value, bool))


def _pattern(path: str) -> str:
    """A last name that is `path` may hold slashes."""
    parts = re.split(r"\{(\w+)\}", path)
    named = [
        re.escape(part) if at % 2 == 0 else f"(?P<{part}>{'.+' if part == 'path' else '[^/]+'})"
        for at, part in enumerate(parts)
    ]
    return "".join(named)
