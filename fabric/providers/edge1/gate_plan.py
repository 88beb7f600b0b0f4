"""The gate that a service is to have at edge1: routes over the Workers of its functions."""

import json
from collections.abc import Sequence

from msgspec import Struct

from fabric.model.cors import cors_row
from fabric.providers.contract import DeploymentAddress, LiveFunction
from fabric.providers.edge1.own_settings import gate_name, owner_of, worker_name
from fabric.providers.edge1.uploads import Upload, gate_upload


class WantedGate(Struct, frozen=True):
    """`upload` is None for a service that nobody meets by HTTP."""

    name: str
    upload: Upload | None


def wanted_gate(
    address: DeploymentAddress, functions: Sequence[LiveFunction], date: str
) -> WantedGate:
    routes = []
    for one in functions:
        for trigger in map(json.loads, one.triggers):
            if trigger.get("type") == "http":
                method, path = trigger.get("method") or "GET", trigger.get("path") or "/"
                routes.append((path, method, one.name, cors_row(trigger.get("cors"))))
    name = gate_name(address)
    if not routes:
        return WantedGate(name, None)
    names = sorted({one[2] for one in routes})
    bindings = {function: f"F{number}" for number, function in enumerate(names)}
    rows = [
        {"method": method, "path": path, "binding": bindings[function], "cors": cors}
        for path, method, function, cors in sorted(routes, key=lambda one: one[:3])
    ]
    services = {binding: worker_name(address, one) for one, binding in bindings.items()}
    return WantedGate(name, gate_upload(rows, owner_of(address), services, date))
