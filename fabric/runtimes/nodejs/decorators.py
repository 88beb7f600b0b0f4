"""`emitDecoratorMetadata`: whether a tsconfig enables it, and the TypeScript version that compiles
it."""

import os
from collections.abc import Mapping

from msgspec import Struct

from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.entry import EntryFile
from fabric.runtimes.nodejs.candidates import NODE_MODULES
from fabric.runtimes.nodejs.toolchain import list_upwards
from fabric.runtimes.nodejs.tsconfig import list_ancestors, read_options
from fabric.runtimes.recorded_inputs import Kind

_PASSED_ON = ("useDefineForClassFields", "strict", "strictNullChecks")
_DEFINES_FIELDS = frozenset({"es2022", "es2023", "es2024", "es2025", "esnext"})


class Decorators(Struct, frozen=True):
    """The settings of decorator compilation."""

    # The package's directory, empty if not installed.
    typescript: str = ""
    # The manifests that decided it.
    tried: tuple[str, ...] = ()
    # Boolean compiler options.
    settings: tuple[tuple[str, bool], ...] = ()


def find_decorators(entry: EntryFile, inputs: BuildInputs) -> Decorators | None:
    """Return the settings, or None if decorator metadata is not enabled."""
    path = _find_tsconfig(entry, inputs)
    options = read_options(path) if path else {}
    if options.get("emitDecoratorMetadata") is not True:
        return None
    packages = [
        os.path.join(folder, NODE_MODULES, "typescript") for folder in list_ancestors(entry.root)
    ]
    found = next((one for one in packages if entry.probe.is_file(f"{one}/package.json")), "")
    tried = packages[: packages.index(found) + 1] if found else packages
    manifests = tuple(f"{package}/package.json" for package in tried)
    return Decorators(found, manifests, _read_settings(options))


def _find_tsconfig(entry: EntryFile, inputs: BuildInputs) -> str:
    if inputs.tsconfig:
        return os.path.normpath(os.path.join(entry.root, inputs.tsconfig))
    folder = os.path.dirname(entry.path)
    paths = list_upwards(entry.workspace, folder, ("tsconfig.json",), entry.probe)
    return next((path for path in paths if entry.probe.kind(path) is Kind.FILE), "")


def _read_settings(options: Mapping[str, object]) -> tuple[tuple[str, bool], ...]:
    target = options.get("target")
    defines = isinstance(target, str) and target.lower() in _DEFINES_FIELDS
    settings = {"useDefineForClassFields": defines}
    for name in _PASSED_ON:
        if isinstance(value := options.get(name), bool):
            settings[name] = value
    return tuple(sorted(settings.items()))
