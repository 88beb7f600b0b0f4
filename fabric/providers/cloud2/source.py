"""What is uploaded as the source of a function: its archive, and what stands around it. The
framework that calls it is added by the build there."""

import functools
import io
import json
import re
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from fabric.model.conventions import conventions_of
from fabric.model.cors import cors_row
from fabric.model.hashing import digest_fields
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.providers.contract import FunctionOrder

# They are data here: what is in them runs in the function alone.
_RUNTIMES = Path(__file__).parents[2] / "runtimes"
_ENTRY = Path(__file__).with_name("entry")
_NODE = re.compile(r"nodejs(?:(20|22|24)(?:\.x)?)?")
_PYTHON = re.compile(r"python(3\.1[0-4])?")
_FOLDER, _OWN = "function", "_fabric"
# What the shim is tried with.
NODE_FRAMEWORK, PYTHON_FRAMEWORK = "5.0.5", "3.10.2"
_PACKAGE = {
    "private": True,
    "main": "main.mjs",
    "dependencies": {"@google-cloud/functions-framework": NODE_FRAMEWORK},
}
_SERVING = ("framework", "serving_answers", "serving_cors", "serving_http", "serving_routes")
_DATE = (1980, 1, 1, 0, 0, 0)
_MODE = 0o644 << 16
ENTRY_POINT = "fabric"


class SourceRuntime(Struct, frozen=True):
    """`id` is cloud2's own name for it; `files` pair a path with a text; `ends` are those of the
    file that a handler is in."""

    id: str
    language: str
    files: tuple[tuple[str, str], ...]
    ends: tuple[str, ...]

    @property
    def digest(self) -> str:
        return digest_fields(part for pair in self.files for part in pair)[:8]


def source_runtime(runtime: str) -> SourceRuntime | None:
    """None where cloud2 has no such runtime."""
    if found := _NODE.fullmatch(runtime):
        ends = (".js", ".mjs", ".cjs")
        return SourceRuntime(f"nodejs{found[1] or '22'}", "nodejs", _node_files(), ends)
    if found := _PYTHON.fullmatch(runtime):
        name = "python" + (found[1] or "3.12").replace(".", "")
        return SourceRuntime(name, "python", _python_files(), (".py", "/__init__.py"))
    return None


def require_runtime(order: FunctionOrder) -> SourceRuntime:
    found = source_runtime(order.artifact.runtime)
    if found is None:
        raise FabricError(no_runtime(order.name, order.artifact.runtime))
    return found


def no_runtime(function: str, runtime: str) -> Problem:
    message = f"function `{function}` has the runtime `{runtime}`, which cloud2 does not have"
    hint = "take nodejs22.x or nodejs24.x, or python3.10 to python3.14"
    return Problem("config/unfit", message, hint)


@functools.cache
def _node_files() -> tuple[tuple[str, str], ...]:
    top = _RUNTIMES / "nodejs"
    own = [f"{name}.mjs" for name in _SERVING]
    names = (*own, *(f"calling/{one.name}" for one in sorted((top / "calling").glob("*.mjs"))))
    return (
        ("main.mjs", (_ENTRY / "main.mjs").read_text()),
        ("package.json", json.dumps(_PACKAGE, indent=2)),
        *((f"{_OWN}/{name}", (top / name).read_text()) for name in names),
    )


@functools.cache
def _python_files() -> tuple[tuple[str, str], ...]:
    top = _RUNTIMES / "python"
    own = [f"{name}.py" for name in _SERVING]
    names = (*own, *(f"calling/{one.name}" for one in sorted((top / "calling").glob("*.py"))))
    folder = f"{_OWN}/fabric/runtimes/python"
    return (
        ("main.py", (_ENTRY / "main.py.txt").read_text()),
        ("requirements.txt", f"functions-framework=={PYTHON_FRAMEWORK}\n"),
        *((f"{folder}/{name}", (top / name).read_text()) for name in names),
    )


def packed_source(order: FunctionOrder, region: str) -> bytes:
    """The archive below a folder of its own, so that none of its files meets one of ours."""
    runtime = require_runtime(order)
    content = io.BytesIO()
    with (
        zipfile.ZipFile(order.artifact.path) as archive,
        zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as source,
    ):
        entries = sorted(archive.infolist(), key=lambda one: one.filename)
        _require_module(order, runtime, [one.filename for one in entries])
        said = json.dumps(_said(order, runtime.language, region), sort_keys=True)
        for name, text in (*runtime.files, (f"{_OWN}/said.json", said)):
            info = zipfile.ZipInfo(name, _DATE)
            info.external_attr = _MODE
            source.writestr(info, text, zipfile.ZIP_DEFLATED)
        for one in entries:
            info = zipfile.ZipInfo(f"{_FOLDER}/{one.filename}", one.date_time)
            info.external_attr = one.external_attr
            source.writestr(info, archive.read(one), zipfile.ZIP_DEFLATED)
    return content.getvalue()


def _require_module(order: FunctionOrder, runtime: SourceRuntime, names: Iterable[str]) -> None:
    module = order.artifact.handler.rpartition(".")[0]
    if not {f"{module}{end}" for end in runtime.ends}.intersection(names):
        message = f"function `{order.name}`: its archive has no module `{module}`"
        raise FabricError(Problem("deploy/unfit-archive", message))


def _said(order: FunctionOrder, language: str, region: str) -> JsonObject:
    triggers = [json.loads(text) for text in order.triggers]
    http = [one for one in triggers if one.get("type") == "http"]
    kinds = [str(one.get("type")) for one in triggers]
    calls = conventions_of("cloud2-functions").of(language)
    module, _, name = order.artifact.handler.rpartition(".")
    return {
        "module": module,
        "name": name,
        "functionName": order.name,
        "seconds": seconds_of(order),
        "memory": memory_of(order),
        "convention": calls.convention(kinds),
        "names": list(calls.names),
        "methods": list(calls.methods),
        "kinds": list(kinds),
        "region": region,
        "path": http[0].get("path", "/") if http else "/",
        "schedule": next((one["schedule"] for one in triggers if one.get("schedule")), ""),
        "routes": routes_in(order.triggers),
    }


def routes_in(triggers: Sequence[str]) -> list[JsonObject]:
    found = (json.loads(text) for text in triggers)
    return [
        {
            "method": str(one.get("method") or "GET").upper(),
            "path": one.get("path") or "/",
            "cors": cors_row(one.get("cors")),
        }
        for one in found
        if one.get("type") == "http"
    ]


def seconds_of(order: FunctionOrder) -> int:
    """0 is cloud2's own choice."""
    return _count(dict(order.settings).get("timeout", ""))


def memory_of(order: FunctionOrder) -> int:
    """In MB; 0 as above."""
    return _count(dict(order.settings).get("memory", ""))


def _count(text: str) -> int:
    return int(text) if text.isdigit() else 0
