"""Uploads of Worker versions: modules, bindings and owner."""

import functools
import io
import json
import posixpath
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.hashing import hash_bytes
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Diversion
from fabric.providers.core.contract import FunctionOrder
from fabric.providers.core.sources import NO_MODULE, read_timeout
from fabric.providers.core.static_files import NO_FILES, StaticFolder
from fabric.providers.edge1.client import (
    FLAGS,
    Owner,
    format_version_message,
)

_SHIM = Path(__file__).with_name("worker")
_SERVING = Path(__file__).parents[2] / "runtimes" / "nodejs"
_FOLDER = "_fabric"
MAIN = f"{_FOLDER}/main.mjs"
_ES_MODULE, _COMMONJS = "application/javascript+module", "application/javascript"
_KINDS = {
    ".mjs": _ES_MODULE,
    ".cjs": _COMMONJS,
    ".wasm": "application/wasm",
    ".map": "application/source-map",
}
_DATA = "application/octet-stream"
_PACKAGES = "node_modules"
# Compressed.
_LARGEST = 10 << 20


class WorkerModule(Struct, frozen=True):
    name: str
    kind: str
    content: bytes


class Upload(Struct, frozen=True):
    """A version to upload."""

    owner: Owner
    mark: str
    # The compatibility date.
    date: str
    archive: str
    modules: tuple[WorkerModule, ...]
    # Contain variable values and must not be shown.
    bindings: tuple[JsonObject, ...] = ()
    # Settings of the config.
    settings: JsonObject = {}
    # The static files, with a token of their upload.
    assets: JsonObject = {}
    # Of a Worker with Durable Objects: those to apply, and the name of the last one.
    migrations: JsonObject = {}
    migration: str = ""

    @property
    def tag(self) -> str:
        return self.owner.tag(extend_mark(self.mark, self.date))

    def metadata(self) -> JsonObject:
        pending: JsonObject = {"migrations": self.migrations} if self.migrations else {}
        return {
            **pending,
            **({"assets": self.assets} if self.assets else {}),
            "main_module": MAIN,
            "compatibility_date": self.date,
            "compatibility_flags": list(FLAGS),
            "bindings": list(self.bindings),
            "observability": {"enabled": True},
            **self.settings,
            "annotations": {
                "workers/tag": self.tag,
                "workers/message": format_version_message(self.owner, self.archive, self.migration),
            },
        }

    def complete(self, bindings: Sequence[JsonObject], settings: JsonObject) -> "Upload":
        """Add the bindings and settings of the config."""
        return replace(self, bindings=(*self.bindings, *bindings), settings=settings)

    def form(self) -> tuple[str, bytes]:
        """Return the content type and the bytes."""
        metadata = json.dumps(self.metadata(), sort_keys=True).encode()
        head = WorkerModule("metadata", "application/json", metadata)
        parts = [_encode_form_part(one) for one in (head, *self.modules)]
        boundary = f"fabric-{hash_bytes(b''.join(parts))[:32]}"
        joined = b"".join(b"--" + boundary.encode() + b"\r\n" + one + b"\r\n" for one in parts)
        content = joined + b"--" + boundary.encode() + b"--\r\n"
        return f"multipart/form-data; boundary={boundary}", content


def _encode_form_part(module: WorkerModule) -> bytes:
    name = module.name.replace("\\", "\\\\").replace('"', '\\"')
    file = f'; filename="{name}"' if module.name != "metadata" else ""
    head = f'Content-Disposition: form-data; name="{name}"{file}\r\nContent-Type: {module.kind}'
    return head.encode() + b"\r\n\r\n" + module.content


def build_function_upload(
    order: FunctionOrder, owner: Owner, date: str, static: StaticFolder = NO_FILES
) -> Upload:
    """Build a version of a function. `static` is the directory of files that are not modules."""

    def write_main(module: str, export: str) -> str:
        settings = json.dumps(_build_worker_settings(order, export))
        return _MAIN.format(module=module, settings=settings)

    return _build_archive_upload(order, owner, date, _Content(write_main, static))


def build_objects_upload(
    order: FunctionOrder,
    owner: Owner,
    date: str,
    classes: Sequence[str],
    static: StaticFolder = NO_FILES,
) -> Upload:
    """Build the Worker that exports the classes of a function's module, and has no address."""

    def write_main(module: str, _export: str) -> str:
        named = "".join(_CLASS.format(name=one, text=json.dumps(one)) for one in classes)
        return _OBJECTS.format(module=module, classes=named)

    return _build_archive_upload(order, owner, date, _Content(write_main, static))


class _Content(Struct, frozen=True):
    """The main module, as a function of the module and the export of the handler; and the
    directory of files that are not modules."""

    write_main: Callable[[str, str], str]
    static: StaticFolder = NO_FILES


def _build_archive_upload(
    order: FunctionOrder, owner: Owner, date: str, content: _Content
) -> Upload:
    """Build a version of the modules of an archive, behind a main module of fabric."""
    modules = tuple(_unpack_modules(order, content.static))
    names = frozenset(one.name for one in modules)
    path, _, export = order.artifact.handler.rpartition(".")
    main = next((f"{path}{end}" for end in (".js", ".mjs", ".cjs") if f"{path}{end}" in names), "")
    if not main:
        raise FabricError(_archive_problem(order, f"its archive has no module `{path}`", NO_MODULE))
    text = content.write_main(json.dumps(f"../{main}"), export)
    shim = (
        _read_own_module("function.mjs"),
        _read_own_module("http.mjs"),
        _read_own_module("routes.mjs"),
    )
    return Upload(
        owner=owner,
        mark=order.mark,
        date=date,
        archive=order.artifact.sha256,
        modules=(WorkerModule(MAIN, _ES_MODULE, text.encode()), *shim, *modules),
        bindings=tuple(_build_binding(order, *pair) for pair in order.env.reveal()),
    )


def build_reserved_upload(owner: Owner, date: str) -> Upload:
    """Build a Worker that only reserves its name, so that others can bind to it."""
    main = WorkerModule(MAIN, _ES_MODULE, _RESERVED.encode())
    return Upload(owner=owner, mark="reserved", date=date, archive="", modules=(main,))


def extend_mark(mark: str, date: str) -> str:
    """Extend the mark by a hash of the surrounding code and the runtime date, which affect the
    version."""
    return f"{mark}:{_hash_surroundings(date)}"


@functools.cache
def _hash_surroundings(date: str) -> str:
    texts = [
        _read_own_module(name).content
        for name in ("function.mjs", "http.mjs", "routes.mjs", "gate.mjs")
    ]
    return hash_bytes(b"".join((date.encode(), _MAIN.encode(), _GATE.encode(), *texts)))[:8]


_MAIN = """\
import * as source from {module};
import {{ worker }} from "./function.mjs";
export default worker(source, {settings});
"""


_CLASS = """export const {name} = classOf(source, {text});
"""
_OBJECTS = """\
import * as source from {module};
import {{ classOf }} from "./function.mjs";
{classes}export default {{ fetch: () => new Response(null, {{ status: 404 }}) }};
"""
_RESERVED = """\
export default { fetch: () => new Response(null, { status: 503 }) };
"""


def _build_worker_settings(order: FunctionOrder, export: str) -> JsonObject:
    routes = [
        {"method": one.get("method") or "GET", "path": one.get("path") or "/"}
        for one in map(json.loads, order.triggers)
        if one.get("type") == "http"
    ]
    queues = [one for one in map(json.loads, order.triggers) if one.get("type") == "queue"]
    reporting = [one["queue"] for one in queues if one.get("functionResponseType")]
    return {
        "function": order.name,
        "name": export,
        "routes": list(routes),
        "timeout": read_timeout(order),
        **({"reporting": reporting} if reporting else {}),
    }


def build_gate_upload(
    routes: Sequence[JsonObject], owner: Owner, services: Mapping[str, str], date: str
) -> Upload:
    """Build the front Worker. `services` maps binding names to Workers. Its mark is a hash of
    everything."""
    text = _GATE.format(routes=json.dumps(list(routes), sort_keys=True))
    shim = (
        _read_own_module("gate.mjs"),
        _read_own_module("routes.mjs"),
        _read_own_module("serving_cors.mjs", _SERVING),
    )
    modules = (WorkerModule(MAIN, _ES_MODULE, text.encode()), *shim)
    bindings: tuple[JsonObject, ...] = tuple(
        {"type": "service", "name": name, "service": worker} for name, worker in services.items()
    )
    seen = json.dumps(bindings).encode() + b"".join(one.content for one in modules)
    digest = hash_bytes(seen)
    return Upload(
        owner=owner, mark=digest[:32], date=date, archive=digest, modules=modules, bindings=bindings
    )


_GATE = """\
import {{ gate }} from "./gate.mjs";
export default gate({routes});
"""


def build_tunnel_upload(
    routes: Sequence[JsonObject], owner: Owner, way: Diversion, date: str
) -> Upload:
    """Build the front Worker for one tunnel address. Each upload is a new version, whose mark
    differs from all releases."""
    said = json.dumps(list(routes), sort_keys=True), json.dumps(way.url), json.dumps(way.mark)
    text = _TUNNEL.format(routes=said[0], url=said[1], mark=said[2])
    shim = (
        _read_own_module("gate.mjs"),
        _read_own_module("routes.mjs"),
        _read_own_module("serving_cors.mjs", _SERVING),
    )
    main = WorkerModule(MAIN, _ES_MODULE, text.encode())
    modules = (main, *shim, _read_own_module("tunnel.mjs"))
    digest = hash_bytes(b"".join(one.content for one in modules))
    return Upload(owner, TUNNEL_MARK + digest[:28], date, digest, modules)


TUNNEL_MARK = "dev-"
_TUNNEL = """\
import {{ gate }} from "./gate.mjs";
import {{ tunnelled }} from "./tunnel.mjs";
const run = {mark};
const through = tunnelled({url});
const {{ fetch }} = gate({routes});
export default {{ fetch: (request) => fetch(request, through) }};
"""


def _read_own_module(name: str, folder: Path = _SHIM) -> WorkerModule:
    return WorkerModule(f"{_FOLDER}/{name}", _ES_MODULE, (folder / name).read_bytes())


def _build_binding(order: FunctionOrder, name: str, value: str) -> JsonObject:
    kind = "secret_text" if name in order.secret else "plain_text"
    return {"type": kind, "name": name, "text": value}


def _unpack_modules(order: FunctionOrder, static: StaticFolder) -> Iterator[WorkerModule]:
    """Yield code modules and all other files, which functions read below `/bundle`."""
    with zipfile.ZipFile(io.BytesIO(order.artifact.path.read_bytes())) as archive:
        files = [one for one in archive.infolist() if not one.is_dir()]
        files = [one for one in files if not static.contains(one.filename)]
        size = sum(one.compress_size for one in files)
        if size > _LARGEST:
            why = f"its code has {size:,} bytes; the maximum is {_LARGEST:,}"
            raise FabricError(_archive_problem(order, why, "include fewer files or packages"))
        names = sorted(one.filename for one in files)
        packages = sorted({one.split(f"{_PACKAGES}/", 1)[1] for one in names if _is_package(one)})
        if packages:
            package = "/".join(packages[0].split("/")[: 2 if packages[0].startswith("@") else 1])
            why = (
                f"the package `{package}` is not bundled, and Workers cannot load "
                "packages from files"
            )
            raise FabricError(_archive_problem(order, why, "remove it from `build.external`"))
        modules = _find_module_folders(archive, names)
        for name in names:
            kind = _choose_module_kind(name, modules)
            content = archive.read(name)
            yield WorkerModule(name, kind, _with_address(name, kind, content))


def _is_package(name: str) -> bool:
    return f"/{_PACKAGES}/" in f"/{name}"


def _choose_module_kind(name: str, module_folders: Mapping[str, bool]) -> str:
    extension = posixpath.splitext(name)[1]
    if extension != ".js":
        return _KINDS.get(extension, _DATA)
    folder = posixpath.dirname(name)
    while folder not in module_folders and folder:
        folder = posixpath.dirname(folder)
    return _ES_MODULE if module_folders.get(folder) else _COMMONJS


def _find_module_folders(archive: zipfile.ZipFile, names: Sequence[str]) -> dict[str, bool]:
    """Map each directory with a manifest to whether its scripts are ES modules."""
    found: dict[str, bool] = {}
    for name in names:
        if posixpath.basename(name) == "package.json":
            try:
                said = json.loads(archive.read(name))
            except ValueError:
                continue
            is_module = isinstance(said, dict) and said.get("type") == "module"
            found[posixpath.dirname(name)] = is_module
    return found


def _with_address(name: str, kind: str, content: bytes) -> bytes:
    """Insert the module's path, because Workers do not provide it for ES modules.

    For CommonJS they provide another directory than the files' one. Line numbers stay the same.
    """
    path = f"/bundle/{name}"
    if content.startswith(b"#!"):
        content = b"//" + content[2:]
    if kind == _ES_MODULE:
        return b"import.meta.url ??= " + _quote_text(f"file://{path}") + b"; " + content
    if kind != _COMMONJS:
        return content
    strict = b'"use strict"; ' if content.lstrip().startswith((_STRICT, _STRICT_TOO)) else b""
    folder = _quote_text(posixpath.dirname(path))
    return (
        strict + b"__filename = " + _quote_text(path) + b"; __dirname = " + folder + b"; " + content
    )


_STRICT, _STRICT_TOO = b'"use strict"', b"'use strict'"


def _quote_text(text: str) -> bytes:
    return json.dumps(text).encode()


def _archive_problem(order: FunctionOrder, why: str, hint: str = "") -> Problem:
    return Problem("deploy/unfit-archive", f"function `{order.name}`: {why}", hint)
