"""The upload of a function: its archive and the server files. No network."""

import functools
import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from fabric.model.conventions import find_conventions
from fabric.model.cors import encode_cors
from fabric.model.hashing import hash_bytes, hash_fields
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import ConfigSpot, FabricError, Problem
from fabric.model.task import Pairs
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder
from fabric.providers.core.payloads import format_json
from fabric.providers.core.sources import NO_MODULE
from fabric.providers.host2.client import (
    build_clock_name,
    build_function_name,
    build_service_owner,
    count_of,
)
from fabric.providers.host2.crons import convert_own_cron
from fabric.providers.host2.functions import DesiredDeploy
from fabric.providers.host2.routes import FunctionRoutes, SiteRoute, plan_function_routes

# They are data here: what is in them runs at host2 alone.
_RUNTIME = Path(__file__).parents[2] / "runtimes" / "nodejs"
_SERVING = ("serving_cors.mjs", "serving_http.mjs", "serving_routes.mjs")
_SHIM = Path(__file__).with_name("shim")
_FOLDER = "_fabric"
# In this order the runtime there looks for the module that has the function's name.
_ENDS = (".js", ".mjs", ".cjs")


class FunctionUpload(Struct, frozen=True):
    """An upload."""

    function: str
    # The function name on Netlify.
    name: str
    runtime: str
    content: bytes
    sha256: str


def build_uploads(
    address: DeploymentAddress, orders: Sequence[FunctionOrder]
) -> tuple[FunctionUpload, ...]:
    return tuple(
        _upload(order, *one)
        for order in orders
        for one in list_deployed_names(address, order.name, order.triggers)
    )


def list_deployed_names(
    address: DeploymentAddress, function: str, triggers: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield the deployed names of a function, each with its schedule.

    The first serves requests and has no schedule. Each schedule adds another one.
    """
    yield build_function_name(address, function), ""
    for number, (schedule, _) in enumerate(list_crons(triggers)):
        yield build_clock_name(address, function, number), schedule


def list_crons(triggers: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """List the schedules with their time zones."""
    found = (one for one in map(json.loads, triggers) if one.get("type") == "cron")
    return tuple((one["schedule"], one.get("timezone") or "") for one in found)


def _upload(order: FunctionOrder, name: str, schedule: str) -> FunctionUpload:
    content = _pack_function(order, name, schedule)
    runtime = choose_site_runtime(order.artifact.runtime)
    return FunctionUpload(order.name, name, runtime, content, hash_bytes(content))


def choose_site_runtime(runtime: str) -> str:
    """Return the runtime, the site's default if no version is given; empty if Netlify does not
    support it."""
    found = _NODE.fullmatch(runtime)
    return (f"nodejs{found[1]}.x" if found[1] else "js") if found else ""


_NODE = re.compile(r"nodejs(?:(\d+)(?:\.x)?)?")


def _pack_function(order: FunctionOrder, name: str, schedule: str) -> bytes:
    said = json.dumps(_build_server_settings(order, schedule), sort_keys=True)
    made = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(order.artifact.path.read_bytes())) as archive,
        zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        files = [one for one in archive.infolist() if not one.is_dir()]
        _refuse_taken(order, name, frozenset(one.filename for one in files))
        for one in files:
            packed.writestr(_build_entry(one.filename, one.external_attr), archive.read(one))
        for path, text in ((f"{name}.mjs", _ENTRY.format(said=said)), *_read_server_files()):
            packed.writestr(_build_entry(path), text)
    return made.getvalue()


_ENTRY = """\
import {{ lambda }} from "./_fabric/lambda.mjs";
export const handler = await lambda({said});
"""


def _build_entry(path: str, attributes: int = 0o100644 << 16) -> zipfile.ZipInfo:
    """Build an archive entry without a time, so that equal files give equal bytes."""
    entry = zipfile.ZipInfo(path)
    entry.external_attr = attributes or 0o100644 << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def _refuse_taken(order: FunctionOrder, name: str, there: frozenset[str]) -> None:
    module = order.artifact.handler.rpartition(".")[0]
    if not any(f"{module}{end}" in there for end in _ENDS):
        raise FabricError(
            _archive_problem(order, f"its archive has no module `{module}`", NO_MODULE)
        )
    taken = sorted(
        path
        for path in there
        if path in {f"{name}{end}" for end in _ENDS} or path.startswith(f"{_FOLDER}/")
    )
    if taken:
        why = f"its archive contains `{taken[0]}`, which fabric creates itself"
        raise FabricError(_archive_problem(order, why, "rename the file"))


def _archive_problem(order: FunctionOrder, why: str, hint: str) -> Problem:
    message, spot = f"function `{order.name}`: {why}", ConfigSpot(order.name)
    return Problem("deploy/unfit-archive", message, hint, about=spot)


@functools.cache
def _read_server_files() -> tuple[tuple[str, str], ...]:
    calling = sorted((_RUNTIME / "calling").glob("*.mjs"))
    own = [*sorted(_SHIM.glob("*.mjs")), *(_RUNTIME / name for name in _SERVING)]
    files = [(one.name, one) for one in own]
    files += [(f"calling/{one.name}", one) for one in calling]
    return tuple((f"{_FOLDER}/{name}", path.read_text()) for name, path in files)


@functools.cache
def hash_server_files() -> str:
    """Hash the server files, which are part of a deployment."""
    return hash_fields((_ENTRY, *(part for pair in _read_server_files() for part in pair)))


def _build_server_settings(order: FunctionOrder, schedule: str) -> JsonObject:
    """Build the settings for the server. The public function rejects scheduler calls, and a
    scheduled one has no routes."""
    triggers = [json.loads(text) for text in order.triggers]
    kinds = [str(one.get("type")) for one in triggers]
    http = [one for one in triggers if one.get("type") == "http"]
    calls = find_conventions("host2").of("nodejs")
    module, _, name = order.artifact.handler.rpartition(".")
    return {
        "module": module,
        "name": name,
        "functionName": order.name,
        "seconds": count_of(order, "timeout"),
        "memory": count_of(order, "memory"),
        "convention": calls.convention(kinds),
        "names": list(calls.names),
        "methods": list(calls.methods),
        "kinds": list(kinds),
        "path": next((str(one.get("path") or "/") for one in http), "/"),
        "schedule": schedule,
        "routes": [] if schedule else [_build_route_row(one) for one in http],
    }


def _build_route_row(trigger: Mapping[str, object]) -> JsonObject:
    return {
        "method": str(trigger.get("method") or "GET").upper(),
        "path": str(trigger.get("path") or "/"),
        "cors": encode_cors(trigger.get("cors")),
    }


# All functions of a site get all of its variables, and host2 has no room for more.
_ENVIRONMENT_BYTES = 4 * 1024
_CODE = "deploy/unfit-environment"
# Plans that cost nothing take no choice of scopes but all of them; secrets never have the last one.
_SCOPES = ("builds", "functions", "runtime")


class DeployPlan(Struct, frozen=True):
    wanted: DesiredDeploy
    uploads: tuple[FunctionUpload, ...]


def plan_deploy(address: DeploymentAddress, orders: Sequence[FunctionOrder]) -> DeployPlan:
    environment = _build_environment(orders)
    uploads = build_uploads(address, orders)
    config = _build_config(address, orders)
    marks = sorted((order.name, order.mark) for order in orders)
    mark = hash_fields(
        (hash_server_files(), format_json(config), *(part for one in marks for part in one))
    )
    document: JsonObject = {
        "files": {},
        "functions": {one.name: one.sha256 for one in uploads},
        "draft": True,
        "environment": environment,
        **config,
    }
    title = build_service_owner(address).title(mark, marks)
    digests = frozenset(one.sha256 for one in uploads)
    return DeployPlan(DesiredDeploy(title, document, digests), uploads)


def _build_config(address: DeploymentAddress, orders: Sequence[FunctionOrder]) -> JsonObject:
    routes = plan_function_routes([row for one in orders for row in list_site_routes(one)])
    config = {
        name: _build_function_config(
            one, None if schedule else routes.get(one.name, FunctionRoutes())
        )
        for one in orders
        for name, schedule in list_deployed_names(address, one.name, one.triggers)
    }
    return {
        "functions_config": config,
        "function_schedules": [
            {"name": build_clock_name(address, one.name, number), "cron": convert_own_cron(*said)}
            for one in orders
            for number, said in enumerate(list_crons(one.triggers))
        ],
    }


def _build_function_config(order: FunctionOrder, routes: FunctionRoutes | None) -> JsonObject:
    memory = count_of(order, "memory")
    met: JsonObject = (
        {"routes": list(routes.routes), "excluded_routes": list(routes.excluded)} if routes else {}
    )
    return {
        "display_name": order.name,
        "generator": "fabric",
        "build_data": {"runtimeAPIVersion": 1},
        **met,
        **({"memory": memory} if memory else {}),
    }


def list_site_routes(order: FunctionOrder) -> Iterator[SiteRoute]:
    return parse_site_routes(order.name, order.triggers)


def parse_site_routes(function: str, triggers: Sequence[str]) -> Iterator[SiteRoute]:
    for number, one in enumerate(map(json.loads, triggers)):
        if one.get("type") == "http":
            method, path = str(one.get("method") or "GET").upper(), str(one.get("path") or "/")
            yield SiteRoute(function, number, method, path, bool(one.get("cors")))


def _build_environment(orders: Sequence[FunctionOrder]) -> list[JsonObject]:
    found = dict(pair for order in orders for pair in order.env.reveal())
    secret = frozenset(name for order in orders for name in order.secret)
    return [_build_variable(name, found[name], is_secret=name in secret) for name in sorted(found)]


def refuse_orders(orders: Sequence[FunctionOrder]) -> None:
    """Raise for unsupported orders before any API call: variable values are first known here."""
    found = find_variable_problems([(order.name, order.env.reveal()) for order in orders])
    problems = [problem for _, problem in found]
    if problems:
        raise FabricError(*problems)


def find_variable_problems(functions: Sequence[tuple[str, Pairs]]) -> Iterator[tuple[str, Problem]]:
    """Yield problems, each with the function that it is reported for."""
    found: dict[str, tuple[str, str]] = {}
    for function, pairs in functions:
        for name, value in pairs:
            first, known = found.setdefault(name, (function, value))
            if known != value:
                yield function, _variable_conflict_problem(name, first, function)
    size = sum(len(f"{name}{value}".encode()) for name, (_, value) in found.items())
    if size > _ENVIRONMENT_BYTES:
        yield "", _environment_size_problem(size)


def _build_variable(name: str, value: str, *, is_secret: bool) -> JsonObject:
    scopes = _SCOPES if is_secret else (*_SCOPES, "post-processing")
    return {"key": name, "value": value, "is_secret": is_secret, "scopes": list(scopes)}


def _variable_conflict_problem(name: str, first: str, second: str) -> Problem:
    message = f"the variable `{name}` has different values in `{first}` and `{second}`"
    hint = "rename one of them: all functions of a Netlify site share their variables"
    return Problem(_CODE, message, hint)


def _environment_size_problem(size: int) -> Problem:
    message = f"the variables of all functions have {size:,} bytes (names and values)"
    hint = f"store large values in files: Netlify allows {_ENVIRONMENT_BYTES:,} bytes per site"
    return Problem("deploy/environment-too-large", message, hint)
