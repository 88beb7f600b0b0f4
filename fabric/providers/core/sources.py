"""Source archives for providers that build sources: function, vendored files and server, each in
its own directory."""

import functools
import io
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from fabric.model.builds.command_runtimes import BOOTSTRAP
from fabric.model.calls.conventions import find_conventions
from fabric.model.calls.cors import encode_cors
from fabric.model.hashing import hash_fields
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import ConfigSpot, FabricError, Problem
from fabric.providers.core.contract import FunctionDraft, FunctionOrder

# They are data here: what is in them runs in the function alone.
_RUNTIMES = Path(__file__).parents[2] / "runtimes"
_FOLDER, _OWN = "function", "_fabric"
_SERVING = tuple(f"serving_{one}" for one in ("answers", "cors", "http", "open", "routes"))
# What to do about archives and environments that do not fit, wherever that is.
NO_MODULE = "set `handler` to a file of the archive, without its extension, and an export"
TOO_LARGE = "store large values in files of the function, or load them from a store at start"
LESS_CODE = "include fewer files, or exclude packages that the runtime provides"
_DATE = (1980, 1, 1, 0, 0, 0)
_MODE = 0o644 << 16
_ENDS = {"nodejs": (".js", ".mjs", ".cjs"), "python": (".py", "/__init__.py")}
Texts = tuple[tuple[str, str], ...]


class SourceRuntime(Struct, frozen=True):
    """A runtime that is deployed as source. `id` is the provider's name of it; `files` pairs a path
    with a text."""

    id: str
    language: str
    files: Texts

    @property
    def digest(self) -> str:
        return hash_fields(part for pair in self.files for part in pair)[:8]


class SourceRuntimes(Struct, frozen=True):
    """The runtimes of a provider. `hint` lists them, and `find` returns one."""

    provider: str
    hint: str
    find: Callable[[str], SourceRuntime | None]

    def require(self, order: FunctionOrder) -> SourceRuntime:
        runtime = self.find(order.artifact.runtime)
        if runtime is None:
            raise FabricError(self.unsupported_problem(order.name, order.artifact.runtime))
        return runtime

    def find_problems(self, one: FunctionDraft) -> Iterator[Problem]:
        runtime = dict(one.settings).get("runtime", "")
        if self.find(runtime) is None:
            yield self.unsupported_problem(one.name, runtime)

    def unsupported_problem(self, function: str, runtime: str) -> Problem:
        message = (
            f"function `{function}` has the runtime `{runtime}`, which {self.provider} does not "
            "support"
        )
        return Problem("config/unfit", message, self.hint)


def list_server_files(language: str, *own: str) -> Texts:
    """List the files of the HTTP server that calls a handler; `own` are its start modules."""
    end, folder = (".py", "/fabric/runtimes/python") if language == "python" else (".mjs", "")
    top = _RUNTIMES / language
    calling = (f"calling/{one.name}" for one in sorted((top / "calling").glob(f"*{end}")))
    names = (*(f"{name}{end}" for name in (*own, *_SERVING)), *calling)
    texts = tuple((f"{_OWN}{folder}/{name}", (top / name).read_text()) for name in names)
    # Without it whatever else is called so, and lies on the path, would be taken for ours.
    return ((f"{_OWN}/fabric/__init__.py", ""), *texts) if language == "python" else texts


def list_source_files(
    language: str, own: Mapping[str, Path], package: Mapping[str, object] | None, *begin: str
) -> Texts:
    """List the start files of a source, its package.json, and the server files."""
    texts = tuple((name, path.read_text()) for name, path in own.items())
    described = (("package.json", json.dumps(package, indent=2)),) if package else ()
    return (*texts, *described, *list_server_files(language, *begin))


def pack_source(order: FunctionOrder, runtime: SourceRuntime, said: JsonObject) -> bytes:
    """Pack the archive into a separate directory, so that its files cannot collide with the
    server's."""
    content = io.BytesIO()
    with (
        zipfile.ZipFile(order.artifact.path) as archive,
        zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as source,
    ):
        entries = sorted(archive.infolist(), key=lambda one: one.filename)
        require_module(order, runtime.language, [one.filename for one in entries])
        text = json.dumps(said, sort_keys=True)
        for name, words in (*runtime.files, (f"{_OWN}/said.json", text)):
            info = zipfile.ZipInfo(name, _DATE)
            info.external_attr = _MODE
            source.writestr(info, words, zipfile.ZIP_DEFLATED)
        for one in entries:
            info = zipfile.ZipInfo(f"{_FOLDER}/{one.filename}", one.date_time)
            info.external_attr = one.external_attr
            source.writestr(info, archive.read(one), zipfile.ZIP_DEFLATED)
    return content.getvalue()


def require_module(order: FunctionOrder, language: str, names: Iterable[str]) -> None:
    """Raise for an archive without the module of its handler, or without its program."""
    if language == "program":
        _require_program(order, names)
        return
    module = order.artifact.handler.rpartition(".")[0]
    if not {f"{module}{end}" for end in _ENDS[language]}.intersection(names):
        message = f"function `{order.name}`: its archive has no module `{module}`"
        raise FabricError(Problem("deploy/unfit-archive", message, NO_MODULE))


def _require_program(order: FunctionOrder, names: Iterable[str]) -> None:
    if BOOTSTRAP not in names:
        message = f"function `{order.name}`: its archive has no file `{BOOTSTRAP}`"
        hint = f"write the program to $FABRIC_OUT_DIR/{BOOTSTRAP}"
        raise FabricError(Problem("deploy/unfit-archive", message, hint))


def refuse_taken_names(
    order: FunctionOrder, there: frozenset[str], is_taken: Callable[[str], bool]
) -> None:
    """Raise for an archive without its module, or with a file that fabric creates itself."""
    module = order.artifact.handler.rpartition(".")[0]
    if not any(f"{module}{end}" in there for end in _ENDS["nodejs"]):
        raise FabricError(
            _archive_problem(order, f"its archive has no module `{module}`", NO_MODULE)
        )
    taken = sorted(filter(is_taken, there))
    if taken:
        why = f"its archive contains `{taken[0]}`, which fabric creates itself"
        raise FabricError(_archive_problem(order, why, "rename the file"))


def _archive_problem(order: FunctionOrder, why: str, hint: str) -> Problem:
    message, spot = f"function `{order.name}`: {why}", ConfigSpot(order.name)
    return Problem("deploy/unfit-archive", message, hint, about=spot)


@functools.cache
def read_shim_files(shim: Path, *serving: str) -> Texts:
    """Read the modules of a provider and the server modules that they use."""
    top = _RUNTIMES / "nodejs"
    own = [*sorted(shim.glob("*.mjs")), *(top / f"serving_{name}.mjs" for name in serving)]
    files = [(one.name, one) for one in own]
    files += [(f"calling/{one.name}", one) for one in sorted((top / "calling").glob("*.mjs"))]
    return tuple((f"{_OWN}/{name}", path.read_text()) for name, path in files)


def build_server_settings(
    order: FunctionOrder, provider: str, language: str, region: str
) -> JsonObject:
    """Build the settings of a function that its server reads."""
    triggers = [json.loads(text) for text in order.triggers]
    return {
        **build_handler_settings(order, provider, language),
        "region": region,
        "schedule": next((one["schedule"] for one in triggers if one.get("schedule")), ""),
        "routes": parse_http_routes(order.triggers),
    }


def build_handler_settings(order: FunctionOrder, provider: str, language: str) -> JsonObject:
    """Build the settings that each server needs to call the handler."""
    triggers = [json.loads(text) for text in order.triggers]
    kinds = [str(one.get("type")) for one in triggers]
    paths = (str(one.get("path") or "/") for one in triggers if one.get("type") == "http")
    calls = find_conventions(provider).of(order.artifact.runtime)
    module, _, name = order.artifact.handler.rpartition(".")
    return {
        "module": module,
        "name": name,
        "functionName": order.name,
        "seconds": read_timeout(order),
        "memory": read_memory(order),
        "convention": calls.convention(kinds),
        "names": list(calls.names),
        "methods": list(calls.methods),
        "kinds": list(kinds),
        "path": next(paths, "/"),
        **({"program": True} if language == "program" else {}),
    }


def parse_http_routes(triggers: Sequence[str]) -> list[JsonObject]:
    found = (json.loads(text) for text in triggers)
    return [
        {
            "method": str(one.get("method") or "GET").upper(),
            "path": one.get("path") or "/",
            "cors": encode_cors(one.get("cors")),
        }
        for one in found
        if one.get("type") == "http"
    ]


def read_timeout(order: FunctionOrder) -> int:
    """Return the timeout in seconds; 0 means the provider's default."""
    return _count(dict(order.settings).get("timeout", ""))


def read_memory(order: FunctionOrder) -> int:
    """Return the memory in MB; 0 means the provider's default."""
    return _count(dict(order.settings).get("memory", ""))


def _count(text: str) -> int:
    return int(text) if text.isdigit() else 0


def split_variables(
    orders: Sequence[FunctionOrder],
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the secret variables and the others."""
    secret = {name for one in orders for name in one.secret}
    merged = {name: value for one in orders for name, value in one.env.reveal()}
    return (
        {name: value for name, value in merged.items() if name in secret},
        {name: value for name, value in sorted(merged.items()) if name not in secret},
    )
