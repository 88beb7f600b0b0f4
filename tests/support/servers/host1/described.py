"""What host1's own packages say of its interface, and what of a request they do not allow."""

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema

from fabric.runtimes.nodejs.toolchain import find_node, find_npm_command
from fabric.system.files.disk import lock_file, make_folder
from fabric.system.process.process import run_child
from tests.support.bundler_cache import ENVIRONMENT, TOOLCHAIN

_SDK, _CLIENT = "1.28.35", "18.4.2"
_CACHE = TOOLCHAIN.parent
_DOCUMENT = "described.json"
_SCRIPT = Path(__file__).with_name("describe.mjs")


def described() -> Path:
    """The document."""
    return official_packages().parent / _DOCUMENT


def official_packages() -> Path:
    """The SDK, which is made of the description of the interface, and the client that deploys with
    it: fetched once for all workers and runs."""
    folder = _CACHE / f"host1-packages-{_SDK}-{_CLIENT}"
    if not folder.exists():
        with lock_file(_CACHE / "host1-packages.lock", 600):
            if not folder.exists():
                _install(folder)
    return folder / "node_modules"


def _install(folder: Path) -> None:
    fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
    argv = [*find_npm_command(ENVIRONMENT), "install", "--no-audit", "--no-fund", "--no-save"]
    argv += ["--ignore-scripts", "--prefix", str(fresh)]
    argv += [f"@vercel/sdk@{_SDK}", f"@vercel/client@{_CLIENT}"]
    node = find_node(ENVIRONMENT)
    env = {**ENVIRONMENT, "PATH": f"{node.parent}:{ENVIRONMENT['PATH']}"}
    make_folder(fresh)
    done = run_child(argv, cwd=fresh, env=env, timeout=300)
    if not done.code:
        packages = str(fresh / "node_modules")
        done = run_child([str(node), str(_SCRIPT), packages], cwd=fresh, env=env, timeout=60)
    if done.code:
        shutil.rmtree(fresh, ignore_errors=True)
        raise RuntimeError(f"cannot install host1's packages: see npm's log, or run {argv}")
    (fresh / _DOCUMENT).write_bytes(done.stdout)
    fresh.rename(folder)


@dataclass(frozen=True)
class Asked:
    """One operation as it was asked for. `names` are the parts of its path."""

    operation: str
    names: Mapping[str, str]


class Description:
    def __init__(self, path: Path) -> None:
        self._document = json.loads(path.read_text())
        self._rows = [
            (name, one["method"], re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", one["path"])))
            for name, one in self._document["operations"].items()
        ]

    def find(self, method: str, path: str) -> Asked | None:
        for name, verb, pattern in self._rows:
            hit = pattern.fullmatch(path) if verb == method else None
            if hit:
                return Asked(name, {one: unquote(text) for one, text in hit.groupdict().items()})
        return None

    def problems(
        self, asked: Asked, query: Mapping[str, str], headers: Mapping[str, str], body: Any
    ) -> list[str]:
        one = self._document["operations"][asked.operation]
        found = [
            said
            for name, text in query.items()
            for said in _wrong_in_query(name, text, one["query"].get(name))
        ]
        own = (name.lower() for name in headers if name.lower().startswith("x-"))
        found += [f"the header {name} is not known" for name in own if name not in one["headers"]]
        if one["body"] and body is not None:
            found += _wrong(body, one["body"])
        return found

    def wrong_routes(self, routes: Any) -> list[str]:
        return _wrong(routes, self._document["routes"])

    def wrong_function(self, settings: Any) -> list[str]:
        schema = {
            "type": "object",
            "properties": self._document["function"],
            "required": ["runtime", "handler", "launcherType", "shouldAddHelpers"],
            "additionalProperties": False,
        }
        return _wrong(settings, schema)


def _wrong(value: Any, schema: Any) -> list[str]:
    found = jsonschema.Draft202012Validator(schema).iter_errors(value)
    return [f"{one.json_path}: {one.message}"[:300] for one in found]


def _wrong_in_query(name: str, text: str, schema: Any) -> Iterator[str]:
    if schema is None:
        yield f"the query parameter {name} is not known"
    elif schema.get("type") == "number" and not text.isdigit():
        yield f"the query parameter {name} is no number"
    elif "enum" in schema and text not in schema["enum"]:
        yield f"the query parameter {name} is {text}, which is none of {schema['enum']}"
