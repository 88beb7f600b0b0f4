"""Actions as API documents, and their sources: one per version, and the active one of each
function. No network."""

import base64
import functools
import json
import re
from pathlib import Path

from msgspec import Struct

from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.providers.core.contract import FunctionOrder, LiveFunction
from fabric.providers.core.sources import (
    LESS_CODE,
    TOO_LARGE,
    SourceRuntime,
    Texts,
    build_server_settings,
    list_source_files,
    pack_source,
    read_memory,
    read_timeout,
)
from fabric.providers.whisk.client import (
    ARCHIVE,
    AROUND,
    MARK,
    MET,
    OWNER,
    build_annotations,
)

CODE_BYTES = 48 * 1024 * 1024
_VARIABLES_BYTES = 1024 * 1024
_RESERVED_BEGINS = ("__ow_", "__fabric_")
# Annotations that mean something there, or to fabric.
_OWN_ANNOTATIONS = frozenset(
    (
        *(OWNER, MARK, AROUND, ARCHIVE, MET),
        *("web-export", "raw-http", "web-custom-options", "require-whisk-auth", "final"),
        *("exec", "provide-api-key", "limits"),
    )
)
# What some tell a request under.
_RESERVED = frozenset(("http",))


class VersionPlan(Struct, frozen=True):
    """An order with values computed from it; `kind` is its OpenWhisk runtime."""

    order: FunctionOrder
    name: str
    owner: str
    kind: str
    around: str


class MetPlan(Struct, frozen=True):
    """The active action of a function: its version and its callers."""

    live: LiveFunction
    version: str
    owner: str

    @property
    def is_web(self) -> bool:
        return any(json.loads(text).get("type") == "http" for text in self.live.triggers)

    @property
    def text(self) -> str:
        return f"{self.version} {'web' if self.is_web else 'keys'}"


def is_reserved(name: str) -> bool:
    """Return whether a parameter of this name is reserved: variables are sent as parameters."""
    return name in _RESERVED or name.lower().startswith(_RESERVED_BEGINS)


def is_own_annotation(name: str) -> bool:
    return name in _OWN_ANNOTATIONS


def build_version_document(plan: VersionPlan, source: bytes) -> JsonObject:
    """Build the action of a version. Variables are bound parameters, passed at start and not with a
    call."""
    order = plan.order
    own: JsonObject = {
        OWNER: plan.owner,
        MARK: order.mark,
        AROUND: plan.around,
        ARCHIVE: order.artifact.sha256,
        "web-export": False,
        "final": True,
    }
    texts: JsonObject = {**dict(order.tags), **own}
    code = base64.b64encode(source).decode()
    return {
        "exec": {"kind": plan.kind, "code": code, "binary": True},
        "parameters": [
            {"key": name, "value": value, "init": True} for name, value in order.env.reveal()
        ],
        "limits": _build_limits(order),
        "annotations": build_annotations(texts),
    }


def _build_limits(order: FunctionOrder) -> JsonObject:
    wanted = {"memory": read_memory(order), "timeout": read_timeout(order) * 1000}
    return {name: value for name, value in wanted.items() if value}


def build_active_document(plan: MetPlan, component: str, archive: str, mark: str) -> JsonObject:
    """Build the active action, a sequence of one version. The API merges annotations, so all are
    written."""
    texts: JsonObject = {
        OWNER: plan.owner,
        MARK: mark,
        ARCHIVE: archive,
        MET: plan.text,
        "web-export": plan.is_web,
        "raw-http": plan.is_web,
        "web-custom-options": plan.is_web,
    }
    return {
        "exec": {"kind": "sequence", "components": [component]},
        "annotations": build_annotations(texts),
    }


def refuse_order(order: FunctionOrder, source: bytes) -> None:
    """Raise for an unsupported order before any API call: variable values are first known here."""
    whose = f"function `{order.name}`"
    encoded = -(-len(source) // 3) * 4
    if encoded > CODE_BYTES:
        message = f"{whose}: its archive has {encoded:,} bytes in base64 (maximum {CODE_BYTES:,})"
        raise FabricError(Problem("deploy/archive-too-large", message, LESS_CODE))
    size = sum(len(name.encode()) + len(text.encode()) for name, text in order.env.reveal())
    if size > _VARIABLES_BYTES:
        message = f"{whose}: its environment has {size:,} bytes (maximum {_VARIABLES_BYTES:,})"
        raise FabricError(Problem("deploy/environment-too-large", message, TOO_LARGE))


_ENTRY = Path(__file__).with_name("entry")
_RUNTIME = re.compile(r"(nodejs|python)(\d[\d.]*?)?(?:\.x)?")
_PACKAGE = {"private": True, "main": "main.cjs"}
_BEGIN = "activations"


def find_whisk_runtime(
    runtime: str, nodejs: tuple[str, ...], python: tuple[str, ...]
) -> SourceRuntime | None:
    """Return a runtime, or None if it is unknown. Without a version, the provider chooses."""
    found = _RUNTIME.fullmatch(runtime)
    if found is None:
        return None
    language, version = found[1], found[2] or ""
    if version and version not in (python if language == "python" else nodejs):
        return None
    files = _list_python_files() if language == "python" else _list_node_files()
    return SourceRuntime(f"{language}:{version or 'default'}", language, files)


@functools.cache
def _list_node_files() -> Texts:
    return list_source_files("nodejs", {"main.cjs": _ENTRY / "main.cjs"}, _PACKAGE, _BEGIN)


@functools.cache
def _list_python_files() -> Texts:
    return list_source_files("python", {"__main__.py": _ENTRY / "main.py.txt"}, None, _BEGIN)


def build_action_source(order: FunctionOrder, runtime: SourceRuntime, provider: str) -> bytes:
    return pack_source(order, runtime, build_server_settings(order, provider, runtime.language, ""))
