"""The desired Netlify deploy of a service. No effects except reading archives."""

import json
from collections.abc import Iterator, Sequence

from msgspec import Struct

from fabric.model.hashing import digest_fields
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.model.task import Pairs
from fabric.providers.contract import DeploymentAddress, FunctionOrder
from fabric.providers.host2.crons import own_cron
from fabric.providers.host2.deploys import WantedDeploy
from fabric.providers.host2.own_settings import clock_name, count_of, owner_of
from fabric.providers.host2.route_plan import FunctionRoutes, SiteRoute, functions_routes
from fabric.providers.host2.uploads import (
    FunctionUpload,
    around_digest,
    crons_in,
    names_of,
    uploads_of,
)
from fabric.providers.payloads import as_json

# All functions of a site get all of its variables, and host2 has no room for more.
_ENVIRONMENT_BYTES = 4 * 1024
_CODE = "deploy/unfit-environment"
# Plans that cost nothing take no choice of scopes but all of them; secrets never have the last one.
_SCOPES = ("builds", "functions", "runtime")


class DeployPlan(Struct, frozen=True):
    wanted: WantedDeploy
    uploads: tuple[FunctionUpload, ...]


def planned(address: DeploymentAddress, orders: Sequence[FunctionOrder]) -> DeployPlan:
    environment = _environment(orders)
    uploads = uploads_of(address, orders)
    config = _config(address, orders)
    marks = sorted((order.name, order.mark) for order in orders)
    mark = digest_fields(
        (around_digest(), as_json(config), *(part for one in marks for part in one))
    )
    document: JsonObject = {
        "files": {},
        "functions": {one.name: one.sha256 for one in uploads},
        "draft": True,
        "environment": environment,
        **config,
    }
    title = owner_of(address).title(mark, marks)
    digests = frozenset(one.sha256 for one in uploads)
    return DeployPlan(WantedDeploy(title, document, digests), uploads)


def _config(address: DeploymentAddress, orders: Sequence[FunctionOrder]) -> JsonObject:
    routes = functions_routes([row for one in orders for row in site_routes(one)])
    config = {
        name: _of_function(one, None if schedule else routes.get(one.name, FunctionRoutes()))
        for one in orders
        for name, schedule in names_of(address, one.name, one.triggers)
    }
    return {
        "functions_config": config,
        "function_schedules": [
            {"name": clock_name(address, one.name, number), "cron": own_cron(*said)}
            for one in orders
            for number, said in enumerate(crons_in(one.triggers))
        ],
    }


def _of_function(order: FunctionOrder, routes: FunctionRoutes | None) -> JsonObject:
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


def site_routes(order: FunctionOrder) -> Iterator[SiteRoute]:
    return routes_in(order.name, order.triggers)


def routes_in(function: str, triggers: Sequence[str]) -> Iterator[SiteRoute]:
    for number, one in enumerate(map(json.loads, triggers)):
        if one.get("type") == "http":
            method, path = str(one.get("method") or "GET").upper(), str(one.get("path") or "/")
            yield SiteRoute(function, number, method, path, bool(one.get("cors")))


def _environment(orders: Sequence[FunctionOrder]) -> list[JsonObject]:
    found = dict(pair for order in orders for pair in order.env.reveal())
    secret = frozenset(name for order in orders for name in order.secret)
    return [_variable(name, found[name], is_secret=name in secret) for name in sorted(found)]


def refuse_orders(orders: Sequence[FunctionOrder]) -> None:
    """Raise for unsupported orders before any API call: variable values are first known here."""
    found = misfits_of_variables([(order.name, order.env.reveal()) for order in orders])
    problems = [problem for _, problem in found]
    if problems:
        raise FabricError(*problems)


def misfits_of_variables(functions: Sequence[tuple[str, Pairs]]) -> Iterator[tuple[str, Problem]]:
    """Yield problems, each with the function that it is reported for."""
    found: dict[str, tuple[str, str]] = {}
    for function, pairs in functions:
        for name, value in pairs:
            first, known = found.setdefault(name, (function, value))
            if known != value:
                yield function, _two_values(name, first, function)
    size = sum(len(f"{name}{value}".encode()) for name, (_, value) in found.items())
    if size > _ENVIRONMENT_BYTES:
        yield "", _too_large(size)


def _variable(name: str, value: str, *, is_secret: bool) -> JsonObject:
    scopes = _SCOPES if is_secret else (*_SCOPES, "post-processing")
    return {"key": name, "value": value, "is_secret": is_secret, "scopes": list(scopes)}


def _two_values(name: str, first: str, second: str) -> Problem:
    message = f"the variable `{name}` has different values in `{first}` and `{second}`"
    hint = "rename one of them: all functions of a Netlify site share their variables"
    return Problem(_CODE, message, hint)


def _too_large(size: int) -> Problem:
    message = f"the variables of all functions have {size:,} bytes (names and values)"
    hint = f"store large values in files: Netlify allows {_ENVIRONMENT_BYTES:,} bytes per site"
    return Problem("deploy/environment-too-large", message, hint)
