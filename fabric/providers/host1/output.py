"""The files of a deployment: Build Output API files with each function's archive and server files.
No network."""

import functools
import hashlib
import json
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from fabric.model.conventions import find_conventions
from fabric.model.hashing import hash_fields
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import ConfigSpot, FabricError, Problem
from fabric.model.task import Pairs
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder
from fabric.providers.core.sources import NO_MODULE
from fabric.providers.host1.client import (
    ProjectOwner,
    build_function_name,
    build_project_owner,
    choose_vercel_runtime,
    count_of,
    list_function_clocks,
    mark_in,
)
from fabric.providers.host1.crons import convert_own_cron
from fabric.providers.host1.routes import ProjectRoute, build_vercel_routes, parse_project_routes

# They are data here: what is in them runs at host1 alone.
_RUNTIME = Path(__file__).parents[2] / "runtimes" / "nodejs"
_SERVING = ("answers", "cors", "http", "routes")
_SHIM = Path(__file__).with_name("shim")
_FOLDER = "_fabric"
_HANDLER = f"{_FOLDER}/entry.mjs"
_OUTPUT = ".vercel/output"
_CONFIG = ".vc-config.json"
# In this order the runtime looks for the module that has a handler.
_ENDS = (".js", ".mjs", ".cjs")
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
    address: DeploymentAddress, orders: Sequence[FunctionOrder]
) -> tuple[BuildFile, ...]:
    routes = [row for one in orders for row in list_function_routes(one)]
    config = _build_json_file(f"{_OUTPUT}/config.json", _build_config(address, orders, routes))
    table = json.dumps([one.row for one in routes], sort_keys=True)
    return (
        config,
        *(file for one in orders for file in _build_function_files(address, one, table)),
    )


def list_function_routes(order: FunctionOrder) -> Iterator[ProjectRoute]:
    return parse_project_routes(order.name, (json.loads(text) for text in order.triggers))


def _build_config(
    address: DeploymentAddress, orders: Sequence[FunctionOrder], routes: Sequence[ProjectRoute]
) -> JsonObject:
    clocks = [(one, clock) for one in orders for clock in list_function_clocks(address, one)]
    timed: list[JsonObject] = [
        {"src": f"^{clock.path}$", "dest": f"/{build_function_name(address, one.name)}"}
        for one, clock in clocks
    ]
    met = build_vercel_routes(routes, lambda name: build_function_name(address, name))
    crons = [
        {"path": clock.path, "schedule": convert_own_cron(clock.schedule, clock.zone)}
        for _, clock in clocks
    ]
    return {"version": 3, "routes": [*timed, *met], "crons": crons}


def _build_function_files(
    address: DeploymentAddress, order: FunctionOrder, table: str
) -> Iterator[BuildFile]:
    below = f"{_OUTPUT}/functions/{build_function_name(address, order.name)}.func"
    yield _build_json_file(f"{below}/{_CONFIG}", _build_settings(address, order))
    yield from (_move_file(below, one) for one in _read_archive_files(order))
    said = json.dumps(_build_server_settings(address, order), sort_keys=True)
    own = (
        (_HANDLER, _ENTRY.format(said=said)),
        (f"{_FOLDER}/routes.json", table),
        *_read_server_files(),
    )
    for path, text in own:
        yield BuildFile(f"{below}/{path}", text.encode())


def _move_file(below: str, file: BuildFile) -> BuildFile:
    return BuildFile(f"{below}/{file.path}", file.content, file.mode)


def _build_json_file(path: str, document: JsonObject) -> BuildFile:
    return BuildFile(path, json.dumps(document, sort_keys=True).encode())


def _build_settings(address: DeploymentAddress, order: FunctionOrder) -> JsonObject:
    asked = {
        "memory": count_of(order.settings, "memory"),
        "maxDuration": count_of(order.settings, "timeout"),
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


def _read_archive_files(order: FunctionOrder) -> tuple[BuildFile, ...]:
    with zipfile.ZipFile(order.artifact.path) as archive:
        files = [one for one in archive.infolist() if not one.is_dir()]
        found = tuple(
            BuildFile(one.filename, archive.read(one), _choose_mode(one)) for one in files
        )
    _refuse_taken(order, frozenset(one.path for one in found))
    return found


def _choose_mode(entry: zipfile.ZipInfo) -> int:
    return _RUNNABLE if entry.external_attr >> 16 & 0o111 else _PLAIN


def _refuse_taken(order: FunctionOrder, there: frozenset[str]) -> None:
    module = order.artifact.handler.rpartition(".")[0]
    if not any(f"{module}{end}" in there for end in _ENDS):
        raise FabricError(
            _archive_problem(order, f"its archive has no module `{module}`", NO_MODULE)
        )
    taken = sorted(one for one in there if one == _CONFIG or one.startswith(f"{_FOLDER}/"))
    if taken:
        why = f"its archive contains `{taken[0]}`, which fabric creates itself"
        raise FabricError(_archive_problem(order, why, "rename the file"))


def _archive_problem(order: FunctionOrder, why: str, hint: str) -> Problem:
    message, spot = f"function `{order.name}`: {why}", ConfigSpot(order.name)
    return Problem("deploy/unfit-archive", message, hint, about=spot)


@functools.cache
def _read_server_files() -> tuple[tuple[str, str], ...]:
    calling = sorted((_RUNTIME / "calling").glob("*.mjs"))
    serving = [_RUNTIME / f"serving_{name}.mjs" for name in _SERVING]
    files = [(one.name, one) for one in (*sorted(_SHIM.glob("*.mjs")), *serving)]
    files += [(f"calling/{one.name}", one) for one in calling]
    return tuple((f"{_FOLDER}/{name}", path.read_text()) for name, path in files)


def _build_server_settings(address: DeploymentAddress, order: FunctionOrder) -> JsonObject:
    """Build the settings for the module beside the handler."""
    triggers = [json.loads(text) for text in order.triggers]
    kinds = [str(one.get("type")) for one in triggers]
    calls = find_conventions("host1").of("nodejs")
    module, _, name = order.artifact.handler.rpartition(".")
    paths = (str(one.get("path") or "/") for one in triggers if one.get("type") == "http")
    clocks = [
        {"path": one.path, "schedule": one.schedule} for one in list_function_clocks(address, order)
    ]
    return {
        "module": module,
        "name": name,
        "functionName": order.name,
        "seconds": count_of(order.settings, "timeout"),
        "memory": count_of(order.settings, "memory"),
        "convention": calls.convention(kinds),
        "names": list(calls.names),
        "methods": list(calls.methods),
        "kinds": list(kinds),
        "path": next(paths, "/"),
        "clocks": clocks,
    }


# All functions of a deployment get all of its variables, and host1 has no room for more.
_ENVIRONMENT_BYTES = 64 * 1024
_CODE = "deploy/unfit-environment"


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
    address: DeploymentAddress, orders: Sequence[FunctionOrder]
) -> DesiredDeployment:
    """Plan the deployment, independent of the order of functions."""
    orders = sorted(orders, key=lambda one: one.name)
    env = dict(pair for order in orders for pair in order.env.reveal())
    files = build_output(address, orders)
    marks = [(order.name, order.mark) for order in orders]
    rows = ((one.path, one.sha1, str(one.mode)) for one in files)
    mark = hash_fields([part for one in (*marks, *rows) for part in one])
    owner = build_project_owner(address)
    return DesiredDeployment(owner, owner.build_metadata(mark, marks), env, files)


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


def _variable_conflict_problem(name: str, first: str, second: str) -> Problem:
    message = f"the variable `{name}` has different values in `{first}` and `{second}`"
    hint = "rename one of them: all functions of a Vercel deployment share their variables"
    return Problem(_CODE, message, hint)


def _environment_size_problem(size: int) -> Problem:
    message = f"the variables of all functions have {size:,} bytes (names and values)"
    hint = f"store large values in files: Vercel allows {_ENVIRONMENT_BYTES:,} bytes per deployment"
    return Problem("deploy/environment-too-large", message, hint)
