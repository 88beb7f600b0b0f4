"""The files of a deployment: Build Output API files with each function's archive and server files.
No network."""

import functools
import hashlib
import json
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from fabric.model.hashing import hash_fields
from fabric.model.outcomes.json_struct import JsonObject
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder
from fabric.providers.core.sources import (
    build_handler_settings,
    read_memory,
    read_shim_files,
    read_timeout,
    refuse_taken_names,
)
from fabric.providers.core.static_files import StaticFolder, read_static_files, refuse_missing_files
from fabric.providers.core.triggers import HttpRoute, parse_routes
from fabric.providers.core.whole_service import SharedEnvironment, build_function_name
from fabric.providers.host1.client import (
    ProjectOwner,
    build_project_owner,
    choose_vercel_runtime,
    convert_own_cron,
    list_function_clocks,
    mark_in,
)
from fabric.providers.host1.path_rules import PathRules
from fabric.providers.host1.routes import build_route_row, build_vercel_routes

# They are data here: what is in them runs at host1 alone.
_SERVING = ("answers", "cors", "http", "routes")
_SHIM = Path(__file__).with_name("shim")
_FOLDER = "_fabric"
_HANDLER = f"{_FOLDER}/entry.mjs"
_OUTPUT = ".vercel/output"
_CONFIG = ".vc-config.json"
_PLAIN, _RUNNABLE = 0o100644, 0o100755
_ENTRY = """\
import {{ listener }} from "./listener.mjs";
export default await listener({said});
"""


class BuildFile(Struct, frozen=True, dict=True):
    """A file."""

    path: str
    content: bytes
    # Includes the file type.
    mode: int = _PLAIN

    @functools.cached_property
    def sha1(self) -> str:
        """The SHA-1 hash, by which Vercel identifies content."""
        return hashlib.sha1(self.content, usedforsecurity=False).hexdigest()

    @property
    def row(self) -> JsonObject:
        return {
            "file": self.path,
            "sha": self.sha1,
            "size": len(self.content),
            "mode": self.mode,
        }


def build_output(
    address: DeploymentAddress, orders: Sequence[FunctionOrder], rules: PathRules
) -> tuple[BuildFile, ...]:
    routes = [row for one in orders for row in parse_routes(one.name, one.triggers)]
    own = _build_own_routes(address, orders, routes)
    document: JsonObject = {
        "version": 3,
        "routes": [*rules.build_first(), *own, *rules.build_last()],
        "crons": _build_crons(address, orders),
    }
    static = {
        path.removeprefix("/"): content
        for one in orders
        for path, content in read_static_files(one, rules.static).items()
    }
    refuse_missing_files(rules.static, static)
    config = _build_json_file(f"{_OUTPUT}/config.json", document)
    table = json.dumps([build_route_row(one) for one in routes], sort_keys=True)
    return (
        config,
        *(BuildFile(f"{_OUTPUT}/static/{path}", content) for path, content in static.items()),
        *(
            file
            for one in orders
            for file in _build_function_files(address, one, table, rules.static)
        ),
    )


def _build_own_routes(
    address: DeploymentAddress, orders: Sequence[FunctionOrder], routes: Sequence[HttpRoute]
) -> Iterator[JsonObject]:
    """Build the routes of schedules, and those of functions."""
    for one in orders:
        for clock in list_function_clocks(address, one):
            yield {"src": f"^{clock.path}$", "dest": f"/{build_function_name(address, one.name)}"}
    yield from build_vercel_routes(routes, lambda name: build_function_name(address, name))


def _build_crons(address: DeploymentAddress, orders: Sequence[FunctionOrder]) -> list[JsonObject]:
    return [
        {"path": clock.path, "schedule": convert_own_cron(clock.schedule, clock.zone)}
        for one in orders
        for clock in list_function_clocks(address, one)
    ]


def _build_function_files(
    address: DeploymentAddress, order: FunctionOrder, table: str, static: StaticFolder
) -> Iterator[BuildFile]:
    below = f"{_OUTPUT}/functions/{build_function_name(address, order.name)}.func"
    yield _build_json_file(f"{below}/{_CONFIG}", _build_settings(address, order))
    yield from (_move_file(below, one) for one in _read_archive_files(order, static))
    said = json.dumps(_build_server_settings(address, order), sort_keys=True)
    own = (
        (_HANDLER, _ENTRY.format(said=said)),
        (f"{_FOLDER}/routes.json", table),
        *read_shim_files(_SHIM, *_SERVING),
    )
    for path, text in own:
        yield BuildFile(f"{below}/{path}", text.encode())


def _move_file(below: str, file: BuildFile) -> BuildFile:
    return BuildFile(f"{below}/{file.path}", file.content, file.mode)


def _build_json_file(path: str, document: JsonObject) -> BuildFile:
    return BuildFile(path, json.dumps(document, sort_keys=True).encode())


def _build_settings(address: DeploymentAddress, order: FunctionOrder) -> JsonObject:
    asked = {
        "memory": read_memory(order),
        "maxDuration": read_timeout(order),
        "architecture": dict(order.settings).get("architecture"),
        "regions": [address.region] if address.region else [],
    }
    return {
        "runtime": choose_vercel_runtime(order.artifact.runtime),
        "handler": _HANDLER,
        "launcherType": "Nodejs",
        "shouldAddHelpers": False,
        **{name: value for name, value in asked.items() if value},
    }


def _read_archive_files(order: FunctionOrder, static: StaticFolder) -> tuple[BuildFile, ...]:
    with zipfile.ZipFile(order.artifact.path) as archive:
        files = [one for one in archive.infolist() if not one.is_dir()]
        files = [one for one in files if not static.contains(one.filename)]
        found = tuple(
            BuildFile(one.filename, archive.read(one), _choose_mode(one)) for one in files
        )
    there = frozenset(one.path for one in found)
    refuse_taken_names(order, there, lambda one: one == _CONFIG or one.startswith(f"{_FOLDER}/"))
    return found


def _choose_mode(entry: zipfile.ZipInfo) -> int:
    return _RUNNABLE if entry.external_attr >> 16 & 0o111 else _PLAIN


def _build_server_settings(address: DeploymentAddress, order: FunctionOrder) -> JsonObject:
    """Build the settings for the module beside the handler."""
    clocks = [
        {"path": one.path, "schedule": one.schedule} for one in list_function_clocks(address, order)
    ]
    return {**build_handler_settings(order, "host1", "nodejs"), "clocks": clocks}


# All functions of a deployment get all of its variables.
ENVIRONMENT = SharedEnvironment("Vercel", "deployment", 64 * 1024)


class DesiredDeployment(Struct, frozen=True):
    """The desired deployment. `said` is its metadata; `env` contains variable values and must not
    be shown."""

    owner: ProjectOwner
    said: dict[str, str]
    env: dict[str, str]
    files: tuple[BuildFile, ...]

    @property
    def mark(self) -> str:
        return mark_in(self.said)

    def document(self, project: str, name: str) -> JsonObject:
        """Build the document of a production deployment, which no domain points to yet.

        The settings equal the defaults, but Vercel requires them for the first deployment.
        """
        return {
            "name": name,
            "project": project,
            "target": "production",
            "autoAssignCustomDomains": False,
            "projectSettings": {"rootDirectory": None},
            "meta": dict(self.said),
            "env": dict(self.env),
            "files": [one.row for one in self.files],
        }


def plan_deployment(
    address: DeploymentAddress, orders: Sequence[FunctionOrder], rules: PathRules
) -> DesiredDeployment:
    """Plan the deployment, independent of the order of functions."""
    orders = sorted(orders, key=lambda one: one.name)
    env = dict(pair for order in orders for pair in order.env.reveal())
    files = build_output(address, orders, rules)
    marks = [(order.name, order.mark) for order in orders]
    rows = ((one.path, one.sha1, str(one.mode)) for one in files)
    mark = hash_fields([part for one in (*marks, *rows) for part in one])
    owner = build_project_owner(address)
    return DesiredDeployment(owner, owner.build_metadata(mark, marks), env, files)
