"""The source of an action: the function's archive and the server files."""

import functools
import json
import re
from pathlib import Path

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.providers.core.contract import FunctionOrder
from fabric.providers.core.sources import (
    SourceRuntime,
    Texts,
    build_server_settings,
    list_server_files,
    pack_source,
)

_ENTRY = Path(__file__).with_name("entry")
_RUNTIME = re.compile(r"(nodejs|python)(\d[\d.]*?)?(?:\.x)?")
_PACKAGE = {"private": True, "main": "main.cjs"}
_BEGIN = "activations"


class WhiskRuntimes(Struct, frozen=True):
    """The runtime versions of a provider; `words` lists them for error messages."""

    nodejs: tuple[str, ...]
    python: tuple[str, ...]
    words: str

    def of(self, runtime: str) -> SourceRuntime | None:
        """Return a runtime, or None if it is unknown. Without a version, the provider chooses."""
        found = _RUNTIME.fullmatch(runtime)
        if found is None:
            return None
        language, version = found[1], found[2] or ""
        if version and version not in (self.python if language == "python" else self.nodejs):
            return None
        files = _list_python_files() if language == "python" else _list_node_files()
        return SourceRuntime(f"{language}:{version or 'default'}", language, files)

    def require(self, order: FunctionOrder, provider: str) -> SourceRuntime:
        found = self.of(order.artifact.runtime)
        if found is None:
            raise FabricError(self.none_such(order.name, order.artifact.runtime, provider))
        return found

    def none_such(self, function: str, runtime: str, provider: str) -> Problem:
        message = (
            f"function `{function}` has the runtime `{runtime}`, which {provider} does not support"
        )
        return Problem("config/unfit", message, self.words)


@functools.cache
def _list_node_files() -> Texts:
    return (
        ("main.cjs", (_ENTRY / "main.cjs").read_text()),
        ("package.json", json.dumps(_PACKAGE, indent=2)),
        *list_server_files("nodejs", _BEGIN),
    )


@functools.cache
def _list_python_files() -> Texts:
    main = ("__main__.py", (_ENTRY / "main.py.txt").read_text())
    return (main, *list_server_files("python", _BEGIN))


def build_action_source(order: FunctionOrder, runtime: SourceRuntime, provider: str) -> bytes:
    return pack_source(order, runtime, build_server_settings(order, provider, runtime.language, ""))
