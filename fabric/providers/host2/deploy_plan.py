"""The desired Netlify deploy of a service. No effects except reading archives."""

import json
from collections.abc import Iterator, Sequence

from msgspec import Struct

from fabric.model.hashing import hash_fields
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.model.task import Pairs
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder
from fabric.providers.core.payloads import format_json
from fabric.providers.host2.crons import convert_own_cron
from fabric.providers.host2.deploys import DesiredDeploy
from fabric.providers.host2.resource_names import build_clock_name, build_service_owner, count_of
from fabric.providers.host2.route_plan import FunctionRoutes, SiteRoute, plan_function_routes
from fabric.providers.host2.uploads import (
    FunctionUpload,
    build_uploads,
    hash_server_files,
    list_crons,
    list_deployed_names,
)

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
