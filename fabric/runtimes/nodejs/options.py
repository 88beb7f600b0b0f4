"""What the bundler is asked for, and its answer as values."""

import base64
import os
import re
from collections.abc import Mapping
from typing import Any

from fabric.model.problems import FabricError, Place, Problem
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.contract import BuiltFile
from fabric.runtimes.entry import EntryFile
from fabric.runtimes.nodejs.candidates import EXTENSIONS, MAIN_FIELDS
from fabric.runtimes.nodejs.locks import upwards
from fabric.runtimes.nodejs.tsconfig import read_jsonc
from fabric.runtimes.seen import Kind, place

_OLDEST = "node18"
# A handler may be the default export; providers want it by the name `handler`.
_DEFAULT_EXPORT = (
    "if (module.exports.handler === undefined) module.exports.handler = module.exports.default;"
)


def output_of(entry: EntryFile) -> str:
    """The bundle's path in the archive: where the entry is, so that `__dirname` leads to what lies
    beside it. Providers end a module's name at the first dot of a handler: none may be in it."""
    folder, name = os.path.split(entry.module)
    return os.path.join(folder, f"{name.replace('.', '_')}.js")


def bundle_options(entry: EntryFile, inputs: BuildInputs) -> dict[str, Any]:
    """One CommonJS file, which every Node loads with `require` and with `import`.

    The working folder is the service's root, so that the comments in the output, the source map
    and the metafile hold paths relative to it, and are the same in any folder.
    """
    return {
        "absWorkingDir": entry.root,
        "entryPoints": [f"./{entry.name}"],
        "outfile": output_of(entry),
        "allowOverwrite": True,  # nothing is written: an entry may be JavaScript as well
        "bundle": True,
        "platform": "node",
        "format": "cjs",
        "target": node_target(inputs.runtime),
        "minify": inputs.minify,
        "sourcemap": inputs.sourcemap,
        "resolveExtensions": list(EXTENSIONS),
        "mainFields": list(MAIN_FIELDS),
        "footer": {} if entry.export else {"js": _DEFAULT_EXPORT},
    }


def node_target(runtime: str) -> str:
    """`nodejs20.x` -> `node20`."""
    version = re.fullmatch(r"nodejs(\d+)(?:\.x)?", runtime)
    return f"node{version[1]}" if version else _OLDEST


def read_files(root: str, answer: Mapping[str, Any]) -> tuple[BuiltFile, ...]:
    return tuple(
        BuiltFile(os.path.relpath(file["path"], root), base64.b64decode(file["text"]))
        for file in answer["files"]
    )


def module_kind(entry: EntryFile) -> tuple[BuiltFile, ...]:
    """Says that the output is CommonJS, where the project's own manifest says otherwise.

    Beside the bundle, where it decides and leaves an included manifest of the project alone.
    """
    folder = os.path.dirname(entry.path)
    manifests = upwards(entry.workspace, folder, ("package.json",), entry.probe)
    nearest = next((path for path in manifests if entry.probe.kind(path) is Kind.FILE), None)
    if nearest is None or read_jsonc(nearest).get("type") != "module":
        return ()
    path = os.path.join(os.path.dirname(entry.name), "package.json")
    return (BuiltFile(path, b'{"type": "commonjs"}\n'),)


def read_warnings(entry: EntryFile, answer: Mapping[str, Any]) -> tuple[Problem, ...]:
    return tuple(_problem("build/warning", entry, item) for item in answer["warnings"])


def build_failed(entry: EntryFile, answer: Mapping[str, Any]) -> FabricError:
    """All of the bundler's errors, each with its own place."""
    return FabricError(*(_problem("build/failed", entry, item) for item in answer["errors"]))


def _problem(code: str, entry: EntryFile, item: Mapping[str, Any]) -> Problem:
    notes = "\n".join(item.get("notes", ()))
    spot = item.get("place")
    if not spot:
        return Problem(code, item["text"], hint=notes)
    path = os.path.normpath(os.path.join(entry.root, spot["file"]))
    where = Place(place(entry.workspace, path), spot["line"], spot["column"])
    return Problem(code, item["text"], hint=notes, where=where, frame=spot["frame"])
