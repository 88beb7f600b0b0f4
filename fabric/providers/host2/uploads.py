"""The upload of a function: its archive and the server files. No network."""

import functools
import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from fabric.model.hashing import hash_bytes, hash_fields
from fabric.model.outcomes.json_struct import JsonObject
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder
from fabric.providers.core.payloads import format_json
from fabric.providers.core.sources import (
    build_handler_settings,
    parse_http_routes,
    read_memory,
    read_shim_files,
    refuse_taken_names,
)
from fabric.providers.core.static_files import StaticFolder, read_static_files, refuse_missing_files
from fabric.providers.core.triggers import list_schedules, parse_routes
from fabric.providers.core.whole_service import SharedEnvironment, build_function_name
from fabric.providers.host2.client import (
    build_clock_name,
    build_service_owner,
    convert_own_cron,
)
from fabric.providers.host2.functions import DesiredDeploy
from fabric.providers.host2.redirects import SiteRules, hash_file
from fabric.providers.host2.routes import FunctionRoutes, plan_function_routes

# They are data here: what is in them runs at host2 alone.
_SERVING = ("cors", "http", "routes")
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
    address: DeploymentAddress, orders: Sequence[FunctionOrder], static: StaticFolder
) -> tuple[FunctionUpload, ...]:
    return tuple(
        _upload(order, static, *one)
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
    for number, (schedule, _) in enumerate(list_schedules(triggers)):
        yield build_clock_name(address, function, number), schedule


def _upload(order: FunctionOrder, static: StaticFolder, name: str, schedule: str) -> FunctionUpload:
    said = json.dumps(_build_server_settings(order, schedule), sort_keys=True)
    content = _pack_function(order, name, said, static)
    runtime = choose_site_runtime(order.artifact.runtime)
    return FunctionUpload(order.name, name, runtime, content, hash_bytes(content))


def choose_site_runtime(runtime: str) -> str:
    """Return the runtime, the site's default if no version is given; empty if Netlify does not
    support it."""
    found = _NODE.fullmatch(runtime)
    return (f"nodejs{found[1]}.x" if found[1] else "js") if found else ""


_NODE = re.compile(r"nodejs(?:(\d+)(?:\.x)?)?")


def _pack_function(order: FunctionOrder, name: str, said: str, static: StaticFolder) -> bytes:
    made = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(order.artifact.path.read_bytes())) as archive,
        zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        files = [one for one in archive.infolist() if not one.is_dir()]
        files = [one for one in files if not static.contains(one.filename)]
        modules = {f"{name}{end}" for end in _ENDS}
        refuse_taken_names(
            order,
            frozenset(one.filename for one in files),
            lambda one: one in modules or one.startswith(f"{_FOLDER}/"),
        )
        for one in files:
            packed.writestr(_build_entry(one.filename, one.external_attr), archive.read(one))
        for path, text in (
            (f"{name}.mjs", _ENTRY.format(said=said)),
            *read_shim_files(_SHIM, *_SERVING),
        ):
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


@functools.cache
def hash_server_files() -> str:
    """Hash the server files, which are part of a deployment."""
    return hash_fields(
        (_ENTRY, *(part for pair in read_shim_files(_SHIM, *_SERVING) for part in pair))
    )


def _build_server_settings(order: FunctionOrder, schedule: str) -> JsonObject:
    """Build the settings for the server. The public function rejects scheduler calls, and a
    scheduled one has no routes."""
    routes = [] if schedule else parse_http_routes(order.triggers)
    settings = build_handler_settings(order, "host2", "nodejs")
    return {**settings, "schedule": schedule, "routes": routes}


# All functions of a site get all of its variables.
ENVIRONMENT = SharedEnvironment("Netlify", "site", 4 * 1024)
# Plans that cost nothing take no choice of scopes but all of them; secrets never have the last one.
_SCOPES = ("builds", "functions", "runtime")


class DeployPlan(Struct, frozen=True):
    wanted: DesiredDeploy
    uploads: tuple[FunctionUpload, ...]
    # By path.
    files: Mapping[str, bytes] = {}


def plan_deploy(
    address: DeploymentAddress, orders: Sequence[FunctionOrder], rules: SiteRules
) -> DeployPlan:
    environment = _build_environment(orders)
    uploads = build_uploads(address, orders, rules.static)
    config = _build_config(address, orders, has_files=bool(rules.static.path))
    marks = sorted((order.name, order.mark) for order in orders)
    static = [read_static_files(order, rules.static) for order in orders]
    joined = {path: file for one in static for path, file in one.items()}
    refuse_missing_files(rules.static, joined)
    files = rules.build_files(joined)
    digests: JsonObject = {path: hash_file(content) for path, content in files.items()}
    own = (format_json(digests),) if digests else ()
    mark = hash_fields(
        (hash_server_files(), format_json(config), *own, *(part for one in marks for part in one))
    )
    document: JsonObject = {
        "files": digests,
        "functions": {one.name: one.sha256 for one in uploads},
        "draft": True,
        "environment": environment,
        **config,
    }
    title = build_service_owner(address).title(mark, marks)
    hashes = frozenset(one.sha256 for one in uploads)
    return DeployPlan(DesiredDeploy(title, document, hashes), uploads, files)


def _build_config(
    address: DeploymentAddress, orders: Sequence[FunctionOrder], *, has_files: bool
) -> JsonObject:
    routes = plan_function_routes(
        [row for one in orders for row in parse_routes(one.name, one.triggers)]
    )
    if has_files:
        routes = {name: one.after_files for name, one in routes.items()}
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
            for number, said in enumerate(list_schedules(one.triggers))
        ],
    }


def _build_function_config(order: FunctionOrder, routes: FunctionRoutes | None) -> JsonObject:
    memory = read_memory(order)
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


def _build_environment(orders: Sequence[FunctionOrder]) -> list[JsonObject]:
    found = dict(pair for order in orders for pair in order.env.reveal())
    secret = frozenset(name for order in orders for name in order.secret)
    return [_build_variable(name, found[name], is_secret=name in secret) for name in sorted(found)]


def _build_variable(name: str, value: str, *, is_secret: bool) -> JsonObject:
    scopes = _SCOPES if is_secret else (*_SCOPES, "post-processing")
    return {"key": name, "value": value, "is_secret": is_secret, "scopes": list(scopes)}
