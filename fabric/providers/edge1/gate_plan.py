"""The desired front Worker of a service: routes to the Workers of its functions."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from fabric.model.cors import encode_cors
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.records.diversion import Diversion
from fabric.providers.core.contract import DeploymentAddress, LiveFunction
from fabric.providers.edge1.settings import (
    build_gate_name,
    build_worker_name,
    build_worker_owner,
)
from fabric.providers.edge1.uploads import Upload, build_gate_upload, build_tunnel_upload


class DesiredFrontWorker(Struct, frozen=True):
    """The desired front Worker."""

    name: str
    # None for a service without HTTP routes.
    upload: Upload | None


class _GateRoute(NamedTuple):
    path: str
    method: str
    function: str
    cors: JsonObject | None


def plan_gate(
    address: DeploymentAddress, functions: Sequence[LiveFunction], date: str
) -> DesiredFrontWorker:
    routes, name = _list_routes(functions), build_gate_name(address)
    if not routes:
        return DesiredFrontWorker(name, None)
    bindings = _name_bindings(routes)
    services = {binding: build_worker_name(address, one) for one, binding in bindings.items()}
    return DesiredFrontWorker(
        name, build_gate_upload(_build_rows(routes), build_worker_owner(address), services, date)
    )


def plan_tunnel_gate(
    address: DeploymentAddress, functions: Sequence[LiveFunction], way: Diversion, date: str
) -> DesiredFrontWorker:
    """Plan the same routes, all to one tunnel address."""
    routes, name = _list_routes(functions), build_gate_name(address)
    if not routes:
        return DesiredFrontWorker(name, None)
    return DesiredFrontWorker(
        name, build_tunnel_upload(_build_rows(routes), build_worker_owner(address), way, date)
    )


def route_keys(functions: Sequence[LiveFunction]) -> tuple[str, ...]:
    return tuple(sorted(f"{one.method} {one.path}" for one in _list_routes(functions)))


def _list_routes(functions: Sequence[LiveFunction]) -> list[_GateRoute]:
    return [
        _GateRoute(
            trigger.get("path") or "/",
            trigger.get("method") or "GET",
            one.name,
            encode_cors(trigger.get("cors")),
        )
        for one in functions
        for trigger in map(json.loads, one.triggers)
        if trigger.get("type") == "http"
    ]


def _name_bindings(routes: Sequence[_GateRoute]) -> dict[str, str]:
    names = sorted({one.function for one in routes})
    return {function: f"F{number}" for number, function in enumerate(names)}


def _build_rows(routes: Sequence[_GateRoute]) -> list[JsonObject]:
    bindings = _name_bindings(routes)
    return [
        {"method": method, "path": path, "binding": bindings[function], "cors": cors}
        for path, method, function, cors in sorted(routes, key=lambda one: one[:3])
    ]
