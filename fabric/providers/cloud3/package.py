"""The package of a version: an archive with all functions, as Azure Functions reads it. No
effects."""

import functools
import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from fabric.model.hashing import hash_bytes, hash_fields
from fabric.model.names import DEFAULT_ROUTE
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import ConfigSpot, FabricError, Problem
from fabric.model.secrets.secret import Secret
from fabric.model.task import Pairs
from fabric.providers.cloud3.blobs import PackageRow
from fabric.providers.cloud3.client import Cloud3Settings
from fabric.providers.cloud3.hosting import FLEX, HOSTINGS, Hosting
from fabric.providers.cloud3.triggers import list_app_functions
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder
from fabric.providers.core.errors import attach_error_spot
from fabric.providers.core.payloads import format_json
from fabric.providers.core.sources import (
    LESS_CODE,
    build_handler_settings,
    list_server_files,
    parse_http_routes,
    read_memory,
    read_timeout,
    require_module,
    split_variables,
)
from fabric.providers.core.whole_service import (
    SharedEnvironment,
    WholeOwner,
    pack_marks,
    require_one_runtime,
)

ENVIRONMENT = SharedEnvironment("Azure", "app", 256 * 1024)
SHARED = "the runtime of a function app"
MOST_BYTES = 256 * 1024 * 1024
# In MB.
_DEFAULT_MEMORY = 2048
# Of a function without a timeout.
_SECONDS = 30
_NODE = re.compile(r"nodejs(?:(20|22|24)(?:\.x)?)?")
_PYTHON = re.compile(r"python(3\.1[0-3])?")
_OWN, _CODE = "_fabric", "_fabric/code"
_SHIM = Path(__file__).parent / "shim"
_DATE = (1980, 1, 1, 0, 0, 0)
_MODE = 0o644 << 16
_IDENT_LENGTH = 16
_BUNDLE = {"id": "Microsoft.Azure.Functions.ExtensionBundle", "version": "[4.0.0, 5.0.0)"}


class AppRuntime(Struct, frozen=True):
    """The runtime of an app: Azure's name and version of it."""

    language: str
    name: str
    version: str


class AppConfig(Struct, frozen=True, kw_only=True):
    """The settings of an app that a version needs."""

    name: str
    version: str
    memory: int
    instances: int
    hosting: Hosting = HOSTINGS[FLEX]

    @property
    def document(self) -> JsonObject:
        """The settings of Flex Consumption, in its form. Other plans are named."""
        return {
            "runtime": {"name": self.name, "version": self.version},
            "scaleAndConcurrency": {
                "maximumInstanceCount": self.instances,
                "instanceMemoryMB": self.memory,
            },
            **({} if self.hosting.is_flex else {"sku": self.hosting.sku}),
        }

    @property
    def site_config(self) -> JsonObject:
        """The settings of the other plans."""
        return {
            "linuxFxVersion": f"{self.name.upper()}|{self.version}",
            "functionAppScaleLimit": self.instances,
        }


class ServicePackage(Struct, frozen=True, kw_only=True):
    """A version. `ident` identifies its content."""

    row: PackageRow
    content: Secret[bytes]
    config: AppConfig
    # Pairs the name of a setting of the app with its value.
    secrets: Secret[Pairs]


def find_app_runtime(runtime: str) -> AppRuntime | None:
    """Return the runtime, or None if Azure does not offer it."""
    if found := _NODE.fullmatch(runtime):
        return AppRuntime("nodejs", "node", found[1] or "22")
    if found := _PYTHON.fullmatch(runtime):
        return AppRuntime("python", "python", found[1] or "3.12")
    return None


def unsupported_runtime_problem(function: str, runtime: str) -> Problem:
    message = f"function `{function}` has the runtime `{runtime}`, which Azure does not offer"
    hint = "use nodejs20.x to nodejs24.x, or python3.10 to python3.13"
    return Problem("config/unfit", message, hint, about=ConfigSpot(function))


def plan_package(
    own: Cloud3Settings, address: DeploymentAddress, orders: Sequence[FunctionOrder]
) -> ServicePackage:
    """Plan the package. Raises for orders that no app can contain."""
    orders = sorted(orders, key=lambda one: one.name)
    runtime = _choose_runtime(orders)
    config = AppConfig(
        name=runtime.name,
        version=runtime.version,
        memory=choose_memory(own.hosting, [read_memory(one) for one in orders]),
        instances=own.maximum_instances,
        hosting=own.hosting,
    )
    owner = WholeOwner(address.service, address.stage)
    secret, plain = split_variables(orders)
    said: JsonObject = {
        "functions": [
            {**build_handler_settings(one, address.provider_id, runtime.language), "folder": place}
            for one, place in zip(orders, _list_folders(orders, runtime), strict=True)
        ],
        "routes": _list_route_rows(orders),
        "env": plain,
        "secrets": sorted(secret),
    }
    texts = dict(_list_own_files(runtime, orders))
    marked = [part for one in orders for part in (one.name, one.mark, one.artifact.sha256)]
    # Event Grid filters blobs, not the app: a changed filter is a new version, too.
    filters = [text for one in orders for text in one.triggers if '"storage"' in text]
    fields = (owner.digest, format_json(config.document), format_json(said), *marked, *filters)
    hidden = [part for name in sorted(secret) for part in (name, secret[name])]
    ident = hash_fields((*fields, *texts.values(), *hidden))[:_IDENT_LENGTH]
    prefix = f"FABRIC_{owner.digest[:8].upper()}_{ident[:8].upper()}_"
    texts[f"{_OWN}/said.json"] = format_json({**said, "prefix": prefix})
    content = _pack(texts, _list_code(orders, runtime))
    _refuse_large(orders, len(content))
    parts = pack_marks((one.name, one.mark) for one in orders)
    row = PackageRow(
        ident=ident,
        parts=parts,
        config=format_json(config.document),
        sha256=hash_bytes(content),
    )
    return ServicePackage(
        row=row,
        content=Secret(content),
        config=config,
        secrets=Secret(tuple((prefix + name, value) for name, value in sorted(secret.items()))),
    )


def setting_prefix(owner: WholeOwner, ident: str = "") -> str:
    """Return the beginning of the names of secret settings, of one version or of all."""
    whole = f"FABRIC_{owner.digest[:8].upper()}_"
    return f"{whole}{ident[:8].upper()}_" if ident else whole


def _choose_runtime(orders: Sequence[FunctionOrder]) -> AppRuntime:
    runtime = require_one_runtime(orders, SHARED)
    found = find_app_runtime(runtime)
    if found is None:
        raise FabricError(unsupported_runtime_problem(orders[0].name, runtime))
    return found


def choose_memory(hosting: Hosting, asked: Sequence[int]) -> int:
    """Choose the smallest size of an instance that is sufficient for each function."""
    return hosting.choose_memory(max(asked, default=0) or _DEFAULT_MEMORY)


def _list_folders(orders: Sequence[FunctionOrder], runtime: AppRuntime) -> list[str]:
    """List the directory of each function beside `said.json`. Python has one for all functions:
    its modules are imported once per process."""
    if runtime.language == "python":
        return ["code" for _ in orders]
    return [f"code/{number}" for number in range(len(orders))]


def _list_route_rows(orders: Sequence[FunctionOrder]) -> list[JsonObject]:
    return [
        {**row, "path": "/{path+}" if row["path"] == DEFAULT_ROUTE else row["path"], "number": at}
        for at, one in enumerate(orders)
        for row in parse_http_routes(one.triggers)
    ]


@functools.cache
def _list_shim_files(language: str) -> tuple[tuple[str, str], ...]:
    is_python = language == "python"
    name = "fabric_azure_app.py" if is_python else "azure.mjs"
    path = _SHIM / (f"{name}.txt" if is_python else name)
    return ((f"{_OWN}/{name}", path.read_text()), *list_server_files(language))


def _list_own_files(
    runtime: AppRuntime, orders: Sequence[FunctionOrder]
) -> Iterator[tuple[str, str]]:
    seconds = max(read_timeout(one) or _SECONDS for one in orders)
    host: JsonObject = {
        "version": "2.0",
        "extensionBundle": _BUNDLE,
        "extensions": {"http": {"routePrefix": ""}},
        "functionTimeout": _format_duration(seconds + 10),
    }
    yield "host.json", format_json(host)
    yield from _list_shim_files(runtime.language)
    for one in list_app_functions(orders):
        script = "__init__.py" if runtime.language == "python" else "index.mjs"
        document = {"scriptFile": script, "bindings": one.bindings}
        yield f"{one.name}/function.json", format_json(document)
        form = _PYTHON_ENTRY if runtime.language == "python" else _NODE_ENTRY
        call = (one.python if runtime.language == "python" else one.node).strip()
        yield f"{one.name}/{script}", form.replace("CALL", call).replace("INPUT", one.input)


_NODE_ENTRY = """import * as app from "../_fabric/azure.mjs";

export default async (context, INPUT) => CALL;
"""
_PYTHON_ENTRY = '''"""One trigger of a function. Handlers find no files of fabric on their path."""

import importlib
import sys
from pathlib import Path

_OWN = str(Path(__file__).resolve().parent.parent / "_fabric")
sys.path.insert(0, _OWN)
app = importlib.import_module("fabric_azure_app")
sys.path.remove(_OWN)
for _name in [one for one in sys.modules if one.partition(".")[0] == "fabric"]:
    del sys.modules[_name]


def main(INPUT):
    return CALL
'''


def _format_duration(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _list_code(
    orders: Sequence[FunctionOrder], runtime: AppRuntime
) -> Iterator[tuple[str, bytes, int]]:
    """Yield path, content and attributes of the functions' files."""
    owners: dict[str, str] = {}
    contents: dict[str, bytes] = {}
    for order, folder in zip(orders, _list_folders(orders, runtime), strict=True):
        with attach_error_spot(order.name), zipfile.ZipFile(order.artifact.path) as archive:
            require_module(order, runtime.language, archive.namelist())
            for entry in sorted(archive.infolist(), key=lambda one: one.filename):
                path, content = f"{_OWN}/{folder}/{entry.filename}", archive.read(entry)
                if path not in contents:
                    owners[path], contents[path] = order.name, content
                    yield path, content, entry.external_attr
                elif contents[path] != content:
                    raise FabricError(_conflict_problem(order, entry.filename, owners[path]))


def _conflict_problem(order: FunctionOrder, name: str, owner: str) -> Problem:
    message = (
        f"function `{order.name}`: its archive has another `{name}` than that of `{owner}`, "
        "and the Python functions of an app share their modules"
    )
    hint = "rename one of the modules, or move one function to another service"
    return Problem("deploy/unfit-archive", message, hint)


def _pack(texts: Mapping[str, str], code: Iterable[tuple[str, bytes, int]]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as package:
        for name, text in sorted(texts.items()):
            _write(package, name, text.encode(), _MODE)
        for name, data, mode in code:
            _write(package, name, data, mode or _MODE)
    return content.getvalue()


def _write(package: zipfile.ZipFile, name: str, content: bytes, mode: int) -> None:
    info = zipfile.ZipInfo(name, _DATE)
    info.external_attr = mode
    package.writestr(info, content, zipfile.ZIP_DEFLATED)


def _refuse_large(orders: Sequence[FunctionOrder], size: int) -> None:
    if size <= MOST_BYTES:
        return
    largest = max(orders, key=lambda one: one.artifact.size)
    message = (
        f"the package of the service has {size:,} bytes; fabric allows {MOST_BYTES:,} on Azure"
    )
    hint = f"{LESS_CODE}: the largest archive is that of `{largest.name}`"
    raise FabricError(Problem("deploy/archive-too-large", message, hint))
