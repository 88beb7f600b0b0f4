"""What cloud4's own SDK says of its interface, and what of a request it does not allow."""

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema

from fabric.runtimes.nodejs.toolchain import find_node, find_npm_command
from fabric.system.files.disk import lock_file, make_folder
from fabric.system.process.process import run_child
from tests.support.bundler_cache import ENVIRONMENT, TOOLCHAIN

_SDK, _CORE = "4.7.6", "1.0.8"
_CACHE = TOOLCHAIN.parent
_DOCUMENT = "described.json"
_SCRIPT = Path(__file__).with_name("describe.mjs")


def official_packages() -> Path:
    """The SDK, which is made of the description of the interface: fetched once for all workers and
    runs."""
    folder = _CACHE / f"cloud4-packages-{_SDK}-{_CORE}"
    if not folder.exists():
        with lock_file(_CACHE / "cloud4-packages.lock", 600):
            if not folder.exists():
                _install(folder)
    return folder / "node_modules"


def _install(folder: Path) -> None:
    fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
    argv = [*find_npm_command(ENVIRONMENT), "install", "--no-audit", "--no-fund", "--no-save"]
    argv += ["--ignore-scripts", "--prefix", str(fresh)]
    argv += [f"@alicloud/fc20230330@{_SDK}", f"@alicloud/openapi-core@{_CORE}"]
    node = find_node(ENVIRONMENT)
    env = {**ENVIRONMENT, "PATH": f"{node.parent}:{ENVIRONMENT['PATH']}"}
    make_folder(fresh)
    done = run_child(argv, cwd=fresh, env=env, timeout=300)
    if not done.code:
        packages = str(fresh / "node_modules")
        done = run_child([str(node), str(_SCRIPT), packages], cwd=fresh, env=env, timeout=60)
    if done.code:
        shutil.rmtree(fresh, ignore_errors=True)
        raise RuntimeError(f"cannot install cloud4's SDK: see npm's log, or run {argv}")
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
        self, asked: Asked, query: Mapping[str, str], headers: Mapping[str, str], body: bytes
    ) -> list[str]:
        one = self._document["operations"][asked.operation]
        found = [f"the parameter {name} is not known" for name in query if name not in one["query"]]
        own = (name.lower() for name in headers if name.lower().startswith("x-fc-"))
        found += [f"the header {name} is not known" for name in own if name not in one["headers"]]
        if one["isRaw"]:
            return found
        if one["body"] is None:
            return [*found, *(["this call has no body"] if body else [])]
        try:
            return [*found, *_wrong(json.loads(body), one["body"])]
        except ValueError:
            return [*found, "the body is no JSON"]

    def wrong_trigger(self, kind: str, config: Any) -> Iterator[str]:
        schema = self._document["triggers"].get(kind)
        if schema is None:
            yield f"the trigger type {kind} is not known"
        else:
            yield from _wrong(config, schema)


@cache
def description() -> Description:
    return Description(official_packages().parent / _DOCUMENT)


def _wrong(value: Any, schema: Any) -> list[str]:
    found = jsonschema.Draft202012Validator(schema).iter_errors(value)
    return [f"{one.json_path}: {one.message}"[:300] for one in found]
