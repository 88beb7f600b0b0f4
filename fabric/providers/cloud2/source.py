"""The uploaded source of a function: its archive and the server files. The remote build adds the
framework."""

import functools
import json
import re
from collections.abc import Sequence
from pathlib import Path

from fabric.model.outcomes.json_struct import JsonObject
from fabric.providers.core.contract import FunctionOrder
from fabric.providers.core.sources import (
    SourceRuntime,
    SourceRuntimes,
    Texts,
    build_server_settings,
    list_server_files,
    pack_source,
)

_ENTRY = Path(__file__).with_name("entry")
_NODE = re.compile(r"nodejs(?:(20|22|24)(?:\.x)?)?")
_PYTHON = re.compile(r"python(3\.1[0-4])?")
# What the shim is tried with.
NODE_FRAMEWORK, PYTHON_FRAMEWORK = "5.0.5", "3.10.2"
_PACKAGE = {
    "private": True,
    "main": "main.mjs",
    "dependencies": {"@google-cloud/functions-framework": NODE_FRAMEWORK},
}
ENTRY_POINT = "fabric"


def find_source_runtime(runtime: str) -> SourceRuntime | None:
    """Return the runtime, or None if Google Cloud does not support it."""
    if found := _NODE.fullmatch(runtime):
        return SourceRuntime(f"nodejs{found[1] or '22'}", "nodejs", _list_node_files())
    if found := _PYTHON.fullmatch(runtime):
        name = "python" + (found[1] or "3.12").replace(".", "")
        return SourceRuntime(name, "python", _list_python_files())
    return None


RUNTIMES = SourceRuntimes(
    "Google Cloud",
    "use nodejs22.x, nodejs24.x, or python3.10 to python3.14",
    find_source_runtime,
)


@functools.cache
def _list_node_files() -> Texts:
    return (
        ("main.mjs", (_ENTRY / "main.mjs").read_text()),
        ("package.json", json.dumps(_PACKAGE, indent=2)),
        *list_server_files("nodejs", "framework"),
    )


@functools.cache
def _list_python_files() -> Texts:
    return (
        ("main.py", (_ENTRY / "main.py.txt").read_text()),
        ("requirements.txt", f"functions-framework=={PYTHON_FRAMEWORK}\n"),
        *list_server_files("python", "framework"),
    )


def build_function_source(order: FunctionOrder, region: str) -> bytes:
    runtime = RUNTIMES.require(order)
    said = build_server_settings(order, "cloud2-functions", runtime.language, region)
    buckets = list_bucket_filters(order.triggers)
    return pack_source(order, runtime, {**said, **({"buckets": buckets} if buckets else {})})


def list_bucket_filters(triggers: Sequence[str]) -> list[JsonObject]:
    """List the filters of buckets, which Eventarc does not have. Empty if none filters."""
    rows: list[JsonObject] = [
        {name: one.get(name) or "" for name in ("bucket", "prefix", "suffix")}
        for one in map(json.loads, triggers)
        if one.get("type") == "storage"
    ]
    return rows if any(one["prefix"] or one["suffix"] for one in rows) else []
