"""Options of the bundler, and its answer as values."""

import base64
import os
import re
from collections.abc import Mapping
from typing import Any

from fabric.model.outcomes.json_struct import Json
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.contract import BuiltFile
from fabric.runtimes.entry import EntryFile
from fabric.runtimes.nodejs.candidates import EXTENSIONS, MAIN_FIELDS
from fabric.runtimes.nodejs.decorators import find_decorators
from fabric.runtimes.nodejs.formats import CJS, build_output_path, build_wrapping, is_module_package
from fabric.runtimes.nodejs.unresolved import import_hint
from fabric.runtimes.recorded_inputs import place

_OLDEST = "node18"
ALL_PACKAGES = frozenset({"node_modules", "*"})
# Where layers are mounted.
_MOUNTED = "/opt/*"


def bundle_options(entry: EntryFile, inputs: BuildInputs, wanted: str = CJS) -> dict[str, Json]:
    """Build the options for one output file; every Node can load CommonJS with `require` and with
    `import`.

    The working directory is the service root. So comments, source map and metafile contain relative
    paths, equal in any directory.
    """
    return {
        "absWorkingDir": entry.root,
        "entryPoints": [f"./{entry.name}"],
        "outfile": build_output_path(entry, wanted),
        "allowOverwrite": True,  # nothing is written: an entry may be JavaScript as well
        "bundle": True,
        "platform": "node",
        "format": wanted,
        "target": inputs.target or convert_node_target(inputs.runtime),
        "minify": inputs.minify,
        "sourcemap": inputs.sourcemap,
        "resolveExtensions": list(EXTENSIONS),
        "mainFields": list(MAIN_FIELDS),
        "external": [*sorted(_list_external_names(inputs)), *inputs.provided, _MOUNTED],
        **build_wrapping(entry, inputs, wanted),
        **_build_optional_options(inputs),
        **_build_transpile_options(entry, inputs),
    }


def _build_transpile_options(entry: EntryFile, inputs: BuildInputs) -> dict[str, Json]:
    """Build options that are not the bundler's: the worker makes a plugin of them."""
    found = find_decorators(entry, inputs)
    if found is None:
        return {}
    settings: dict[str, Json] = dict(found.settings)
    asked: dict[str, Json] = {
        "typescript": found.typescript,
        "settings": settings,
        "sourcemap": inputs.sourcemap,
    }
    return {"decorators": asked}


def _list_external_names(inputs: BuildInputs) -> set[str]:
    return set(inputs.external) - ALL_PACKAGES


def _build_optional_options(inputs: BuildInputs) -> dict[str, Json]:
    """Build the bundler options that are set only if configured."""
    options: dict[str, Json] = {
        "packages": "external" if ALL_PACKAGES.intersection(inputs.external) else "",
        "define": dict(inputs.define),
        "loader": dict(inputs.loader),
        "tsconfig": inputs.tsconfig and f"./{inputs.tsconfig}",
        "keepNames": inputs.keep_names,
        "layered": list(inputs.layered),
    }
    return {name: value for name, value in options.items() if value}


def convert_node_target(runtime: str) -> str:
    """Convert `nodejs20.x` to `node20`."""
    version = re.fullmatch(r"nodejs(\d+)(?:\.x)?", runtime)
    return f"node{version[1]}" if version else _OLDEST


def read_files(root: str, answer: Mapping[str, Any]) -> tuple[BuiltFile, ...]:
    return tuple(
        BuiltFile(os.path.relpath(file["path"], root), base64.b64decode(file["text"]))
        for file in answer["files"]
    )


def build_module_manifest(entry: EntryFile) -> tuple[BuiltFile, ...]:
    """Build a manifest that marks the output as CommonJS, if the project's own manifest differs.

    It is beside the bundle, where it takes precedence and leaves an included manifest of the
    project unchanged.
    """
    if not is_module_package(entry):
        return ()
    path = os.path.join(os.path.dirname(entry.name), "package.json")
    return (BuiltFile(path, b'{"type": "commonjs"}\n'),)


def read_warnings(entry: EntryFile, answer: Mapping[str, Any]) -> tuple[Problem, ...]:
    return tuple(_build_problem("build/warning", entry, item) for item in answer["warnings"])


def build_failed(entry: EntryFile, inputs: BuildInputs, answer: Mapping[str, Any]) -> FabricError:
    """Build the error with all of the bundler's messages, each with its location."""
    found = ((item, import_hint(entry, inputs.tsconfig, item)) for item in answer["errors"])
    return FabricError(*(_build_problem("build/failed", entry, item, hint) for item, hint in found))


def _build_problem(code: str, entry: EntryFile, item: Mapping[str, Any], hint: str = "") -> Problem:
    hint = hint or _choose_bundler_hint(item["text"], "\n".join(item.get("notes", ())))
    spot = item.get("place")
    if not spot:
        return Problem(code, item["text"], hint=hint)
    path = os.path.normpath(os.path.join(entry.root, spot["file"]))
    where = Place(place(entry.workspace, path), spot["line"], spot["column"])
    return Problem(code, item["text"], hint=hint, where=where, frame=spot["frame"])


_HINTS = (
    (
        r'No loader is configured for "\.node" files: (?:.*/)?node_modules/'
        r"((?:@[^/]+/)?[^@/][^/]*)/",
        r'add to fabric.yml: `build: {external: ["\1"]}`, so that the package is packed as it is',
    ),
    (
        r'No loader is configured for "\.node" files',
        "add the package that contains it to `build.external`: its files are then packaged "
        "without bundling",
    ),
    (
        r'No loader is configured for "(\.[^"]+)" files',
        r"say how to load it in `build.loader`, as in `\1: text`",
    ),
    (
        r"^`emitDecoratorMetadata` needs",
        "add `typescript` to devDependencies, or remove the option from the tsconfig",
    ),
    (r"Top-level await is", "remove `build.format`, or set it to `esm`"),
    (r"configured target environment", "increase `build.target`, or remove it"),
    (
        r"Cannot find tsconfig file",
        "correct `build.tsconfig`: it is relative to the service directory",
    ),
    (
        r"define|must be an entity name or (?:a )?(?:valid )?JS",
        "quote text in `build.define`, because values are JavaScript: `'\"text\"'`",
    ),
)


def _choose_bundler_hint(text: str, notes: str) -> str:
    """Return fabric's hint if there is one, otherwise the bundler's notes."""
    for pattern, hint in _HINTS:
        if found := re.search(pattern, text):
            return found.expand(hint)
    return notes
