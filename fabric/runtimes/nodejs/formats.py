"""Whether a bundle is CommonJS or an ES module, and the wrapper code that each needs."""

import os
import re
from collections.abc import Mapping
from typing import Any

from fabric.model.outcomes.json_struct import Json
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.entry import EntryFile
from fabric.runtimes.nodejs.handler_exports import RequiredExport
from fabric.runtimes.nodejs.toolchain import list_upwards
from fabric.runtimes.nodejs.tsconfig import read_jsonc
from fabric.runtimes.recorded_inputs import Kind

CJS = "cjs"
ESM = "esm"
_BY_EXTENSION = {".mjs": ESM, ".mts": ESM, ".cjs": CJS, ".cts": CJS}
_ENDINGS = {CJS: ".js", ESM: ".mjs"}
# A handler may be the default export, or another that its provider knows: it is wanted by the name
# `handler`.
_OTHERS = ("default",)
_AS_HANDLER = "if (module.exports.handler === undefined) module.exports.handler = {};"
# Packages in CommonJS ask for these, and an ES module has none of them. `__dirname` is set where no
# declaration of the bundle's own can be in its way, with no name that it may have for itself.
_AS_IN_COMMONJS = (
    'import { createRequire as fabricRequire } from "node:module";\n'
    'import { dirname as fabricFolder } from "node:path";\n'
    'import { fileURLToPath as fabricPath } from "node:url";\n'
    "const require = fabricRequire(import.meta.url);\n"
    "globalThis.__filename ??= fabricPath(import.meta.url);\n"
    "globalThis.__dirname ??= fabricFolder(fabricPath(import.meta.url));"
)


def format_of(entry: EntryFile, inputs: BuildInputs) -> str:
    """Return the configured format, otherwise that of the entry's extension, otherwise that of the
    nearest manifest."""
    extension = os.path.splitext(entry.name)[1]
    found = inputs.format or _BY_EXTENSION.get(extension, "")
    return found or (ESM if is_module_package(entry) else CJS)


def is_module_package(entry: EntryFile) -> bool:
    folder = os.path.dirname(entry.path)
    manifests = list_upwards(entry.workspace, folder, ("package.json",), entry.probe)
    nearest = next((path for path in manifests if entry.probe.kind(path) is Kind.FILE), "")
    return bool(nearest) and read_jsonc(nearest).get("type") == "module"


def find_required_format(entry: EntryFile, inputs: BuildInputs, answer: Mapping[str, Any]) -> str:
    """Return the format that the source turned out to require, if none was configured; otherwise
    empty."""
    if inputs.format:
        return ""
    if not answer["ok"]:
        texts = (error["text"] for error in answer["errors"])
        waits = any(text.startswith("Top-level await is") for text in texts)
        return ESM if waits and format_of(entry, inputs) == CJS else ""
    if any(name.startswith("cloudflare:") for name in answer["outside"]):
        # `require` returns nothing for these modules of the Workers runtime.
        return ESM if format_of(entry, inputs) == CJS else ""
    is_script = answer["inputs"].get(entry.name, {}).get("format") == CJS
    # In a package of modules, a script is read as a module that exports nothing.
    told = any(one["text"].startswith('The CommonJS "') for one in answer["warnings"])
    is_needed = is_script or (told and not answer["exports"])
    return CJS if is_needed and format_of(entry, inputs) == ESM else ""


def build_wanted_export(entry: EntryFile, inputs: BuildInputs) -> RequiredExport:
    others = inputs.handlers or _OTHERS
    names = frozenset({entry.export} if entry.export else {"handler", *others})
    return RequiredExport(names, inputs.methods)


def build_output_path(entry: EntryFile, wanted: str) -> str:
    """Return the bundle's path in the archive, beside the entry's place, so that `__dirname` is
    correct.

    Providers end a module name at the first dot of a handler, so the path contains no dot.
    """
    folder, name = os.path.split(entry.module)
    return os.path.join(folder, name.replace(".", "_") + _ENDINGS[wanted])


def build_wrapping(entry: EntryFile, inputs: BuildInputs, wanted: str) -> dict[str, Json]:
    """Build the code before and after the bundle."""
    if wanted == ESM:
        return {"banner": {"js": "\n".join(filter(None, (inputs.banner, _AS_IN_COMMONJS)))}}
    found = " ?? ".join(f"module.exports.{name}" for name in inputs.handlers or _OTHERS)
    footer = {} if entry.export else {"js": _AS_HANDLER.format(found)}
    return {"footer": footer, **({"banner": {"js": inputs.banner}} if inputs.banner else {})}


def format_handler(entry: EntryFile, inputs: BuildInputs, wanted: str, exports: list[str]) -> str:
    """Return `<module path in the archive>.<export>`."""
    names = ("handler", *(inputs.handlers or _OTHERS)) if wanted == ESM else ()
    export = entry.export or next((name for name in names if name in exports), "handler")
    return f"{re.sub(r'[.]m?js$', '', build_output_path(entry, wanted))}.{export}"
