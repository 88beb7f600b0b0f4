"""The bundler's metafile as values: modules and their imports."""

import os
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace


class Import(Struct, frozen=True):
    """An import."""

    specifier: str
    # The absolute path of the match; empty if nothing was resolved (external).
    path: str = ""


class Module(Struct, frozen=True):
    path: str
    imports: tuple[Import, ...] = ()


def read_modules(root: str, inputs: Mapping[str, Any]) -> tuple[Module, ...]:
    """Read the modules of a metafile's `inputs`, whose paths are relative to `root`.

    Sorted, because the bundler's order depends on other files and on timing.
    """
    return tuple(
        Module(_make_absolute(root, name), tuple(_convert_imports(root, entry["imports"])))
        for name, entry in sorted(inputs.items())
    )


def select_bundled(modules: Iterable[Module], outside: Collection[str]) -> tuple[Module, ...]:
    """Return the modules without external imports that the bundle does not contain. A metafile's
    `inputs` list imports of types and of removed code as external ones."""
    return tuple(
        replace(one, imports=tuple(i for i in one.imports if i.path or i.specifier in outside))
        for one in modules
    )


def _convert_imports(root: str, entries: list[Mapping[str, Any]]) -> list[Import]:
    return [_import(root, entry) for entry in entries]


def _import(root: str, entry: Mapping[str, Any]) -> Import:
    if entry.get("external"):
        return Import(entry.get("original", entry["path"]))
    return Import(entry.get("original", entry["path"]), _make_absolute(root, entry["path"]))


def _make_absolute(root: str, name: str) -> str:
    # A module that a `browser` field turned off keeps its path behind this prefix.
    return os.path.normpath(os.path.join(root, name.removeprefix("(disabled):")))
