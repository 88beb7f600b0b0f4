"""The desired front Worker of a service: routes to the Workers of its functions."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from fabric.model.cors import cors_row
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.records.diversion import Diversion
from fabric.providers.contract import DeploymentAddress, LiveFunction
from fabric.providers.edge1.own_settings import gate_name, owner_of, worker_name
from fabric.providers.edge1.uploads import Upload, gate_upload, tunnel_upload


class WantedGate(Struct, frozen=True):
    """The desired front Worker. `upload` is None for a service without HTTP routes."""

    name: str
    upload: Upload | None


class _GateRoute(NamedTuple):
    path: str
    method: str
    function: str
    cors: JsonObject | None


def wanted_gate(
    address: DeploymentAddress, functions: Sequence[LiveFunction], date: str
) -> WantedGate:
    routes, name = _routes(functions), gate_name(address)
    if not routes:
        return WantedGate(name, None)
    bindings = _bindings(routes)
    services = {binding: worker_name(address, one) for one, binding in bindings.items()}
    return WantedGate(name, gate_upload(_rows(routes), owner_of(address), services, date))


def tunnel_gate(
    address: DeploymentAddress, functions: Sequence[LiveFunction], way: Diversion, date: str
) -> WantedGate:
    """Plan the same routes, all to one tunnel address."""
    routes, name = _routes(functions), gate_name(address)
    if not routes:
        return WantedGate(name, None)
    return WantedGate(name, tunnel_upload(_rows(routes), owner_of(address), way, date))


def route_keys(functions: Sequence[LiveFunction]) -> tuple[str, ...]:
    return tuple(sorted(f"{one.method} {one.path}" for one in _routes(functions)))


def _routes(functions: Sequence[LiveFunction]) -> list[_GateRoute]:
    return [
        _GateRoute(
            trigger.get("path") or "/",
            trigger.get("method") or "GET",
            one.name,
            cors_row(trigger.get("cors")),
        )
        for one in functions
        for trigger in map(json.loads, one.triggers)
        if trigger.get("type") == "http"
    ]


def _bindings(routes: Sequence[_GateRoute]) -> dict[str, str]:
    names = sorted({one.function for one in routes})
    return {function: f"F{number}" for number, function in enumerate(names)}


def _rows(routes: Sequence[_GateRoute]) -> list[JsonObject]:
    bindings = _bindings(routes)
    return [
        {"method": method, "path": path, "binding": bindings[function], "cors": cors}
        for path, method, function, cors in sorted(routes, key=lambda one: one[:3])
    ]
