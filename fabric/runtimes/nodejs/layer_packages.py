"""Packages of a Node.js layer: installed packages with their dependencies, below `nodejs`.

Lambda adds `/opt/nodejs/node_modules` to NODE_PATH, which `require` reads and `import` does not.
Bundles therefore load these packages with `require`.
"""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.model.task_inputs import LayerArchiveInputs
from fabric.runtimes.contract import Built, BuiltFile, FileRows, InputTrace
from fabric.runtimes.entry import EntryFile
from fabric.runtimes.file_rows import FIELDS_ROW
from fabric.runtimes.nodejs.bundler import Import, Module
from fabric.runtimes.nodejs.external import NativeTarget, pack_packages
from fabric.runtimes.nodejs.lookups import look_ups
from fabric.runtimes.nodejs.packages import find_manifest
from fabric.runtimes.nodejs.tsconfig import read_jsonc
from fabric.runtimes.recorded_inputs import Probe, merge, place

_MANIFEST = "package.json"


def collect_node_packages(workspace: Path, inputs: LayerArchiveInputs) -> Built:
    entry = _locate_manifest(workspace, inputs)
    found = {name: find_manifest(entry.root, name) for name in inputs.packages}
    problems = [*_find_problems(inputs, found)]
    if problems:
        raise FabricError(*problems)
    target = NativeTarget(f"layer `{inputs.name}`", inputs.architecture)
    packed = pack_packages(entry, found, target)
    files = tuple(
        BuiltFile(f"nodejs/{one.path}", one.content, one.executable) for one in packed.files
    )
    asked = Module(entry.path, tuple(Import(*pair) for pair in found.items()))
    seen = merge(look_ups(entry, (asked, *packed.modules)), packed.seen)
    return Built(
        files, _count_fields_only(place(entry.workspace, entry.path), seen), packed.warnings
    )


def _count_fields_only(manifest: str, seen: InputTrace) -> InputTrace:
    """Record the manifest of the service by the fields that decide lookups. The layer does not
    contain it, so a dependency that is not in the layer does not count."""
    if manifest not in seen.files:
        return seen
    return replace(
        seen,
        files=tuple(file for file in seen.files if file != manifest),
        rows=tuple(
            sorted((*seen.rows, FileRows(manifest, (FIELDS_ROW,))), key=lambda one: one.file)
        ),
    )


def _locate_manifest(workspace: Path, inputs: LayerArchiveInputs) -> EntryFile:
    """Return the manifest of the service as the importer of the packages."""
    base = os.path.realpath(workspace)
    root = os.path.realpath(os.path.join(base, inputs.root))
    path = os.path.join(root, _MANIFEST)
    return EntryFile(base, root, path, _MANIFEST, "", (path,), Probe(base))


def _find_problems(inputs: LayerArchiveInputs, found: Mapping[str, str]) -> Iterator[Problem]:
    for name, manifest in found.items():
        if not manifest:
            message = f"layer `{inputs.name}`: the package `{name}` is not installed"
            hint = f"run: npm install {shlex.quote(name)}"
            yield Problem("layer/missing-package", message, hint)
        elif _is_only_module(read_jsonc(manifest)):
            message = (
                f"layer `{inputs.name}`: the package `{name}` is only an ES module, which "
                "Node.js does not find in layers"
            )
            hint = "remove it from `packages`: it is then part of the bundles"
            yield Problem("layer/only-module", message, hint)


def _is_only_module(manifest: Mapping[str, object]) -> bool:
    """Return whether the main file of a package is an ES module without an alternative."""
    exports = manifest.get("exports")
    main = exports.get(".", exports) if isinstance(exports, dict) else exports
    if manifest.get("type") != "module":
        return False
    if isinstance(main, dict):
        return "require" not in _list_conditions(main)
    return not str(main or manifest.get("main")).endswith(".cjs")


def _list_conditions(entry: Mapping[str, object]) -> Sequence[str]:
    inner = (one for one in entry.values() if isinstance(one, dict))
    return [*entry, *(name for one in inner for name in _list_conditions(one))]
