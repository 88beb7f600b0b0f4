"""The uploaded code of a function: its archive and the server files."""

import functools
import json
import re
from pathlib import Path

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud4.settings import SECONDS
from fabric.providers.core.contract import FunctionOrder
from fabric.providers.core.sources import (
    SourceRuntime,
    Texts,
    build_server_settings,
    list_server_files,
    pack_source,
    read_timeout,
)

_ENTRY = Path(__file__).with_name("entry")
_NODE = re.compile(r"nodejs(?:(18|20)(?:\.x)?)?")
_PYTHON = re.compile(r"python(3\.10|3\.12)?")
_BEGIN = "invocations"
_PACKAGE = {"private": True, "type": "commonjs"}
HANDLER = "fabric_entry.handler"


def find_source_runtime(runtime: str) -> SourceRuntime | None:
    """Return the runtime, or None if Alibaba Cloud does not support it."""
    if found := _NODE.fullmatch(runtime):
        return SourceRuntime(f"nodejs{found[1] or '20'}", "nodejs", _list_node_files())
    if found := _PYTHON.fullmatch(runtime):
        return SourceRuntime(f"python{found[1] or '3.12'}", "python", _list_python_files())
    return None


def require_runtime(order: FunctionOrder) -> SourceRuntime:
    found = find_source_runtime(order.artifact.runtime)
    if found is None:
        raise FabricError(unknown_runtime_problem(order.name, order.artifact.runtime))
    return found


def unknown_runtime_problem(function: str, runtime: str) -> Problem:
    message = (
        f"function `{function}` has the runtime `{runtime}`, which Alibaba Cloud does not support"
    )
    return Problem("config/unfit", message, "use nodejs18.x, nodejs20.x, python3.10 or python3.12")


@functools.cache
def _list_node_files() -> Texts:
    return (
        ("fabric_entry.js", (_ENTRY / "fabric_entry.js").read_text()),
        ("package.json", json.dumps(_PACKAGE, indent=2)),
        *list_server_files("nodejs", _BEGIN),
    )


@functools.cache
def _list_python_files() -> Texts:
    main = ("fabric_entry.py", (_ENTRY / "fabric_entry.py.txt").read_text())
    return (main, *list_server_files("python", _BEGIN))


def build_function_source(order: FunctionOrder, runtime: SourceRuntime, region: str) -> bytes:
    seconds = read_timeout(order) or SECONDS
    said = {
        **build_server_settings(order, "cloud4-fc", runtime.language, region),
        "seconds": seconds,
    }
    return pack_source(order, runtime, said)
