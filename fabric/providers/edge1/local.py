"""The Workers of a service as Miniflare runs them on this machine: modules and bindings."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, convert

from fabric.model.outcomes.json_struct import JsonObject
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder
from fabric.providers.edge1.assets import find_static_folder, has_assets
from fabric.providers.edge1.bindings.bindings import (
    Binding,
    build_objects_name,
    list_bindings,
)
from fabric.providers.edge1.bindings.consumers import plan_consumers
from fabric.providers.edge1.bindings.migrations import plan_objects
from fabric.providers.edge1.client import (
    FLAGS,
    Edge1Settings,
    build_worker_name,
    build_worker_owner,
)
from fabric.providers.edge1.uploads import (
    Upload,
    WorkerModule,
    build_function_upload,
    build_objects_upload,
)

# Names of Miniflare. It needs no source maps.
_TYPES = {
    "application/javascript+module": "ESModule",
    "application/javascript": "CommonJS",
    "application/wasm": "CompiledWasm",
    "application/octet-stream": "Data",
}
_TEXTS = frozenset(("ESModule", "CommonJS"))
# Values can be secret, so that no file contains them.
_VALUES = ("plain_text", "json")
# Simulated by Miniflare. Others are missing in local calls.
_SIMULATED = frozenset(
    (
        *("kv_namespace", "r2_bucket", "d1", "queue", "service"),
        *("ratelimit", "analytics_engine", "durable_object_namespace"),
    )
)


class LocalService(Struct, frozen=True):
    """The Workers of a service, the values of their bindings by function, and bindings that do not
    exist on this machine."""

    workers: Sequence[JsonObject]
    objects: JsonObject | None
    values: Mapping[str, Mapping[str, object]]
    missing: tuple[str, ...] = ()


def describe_local_service(
    section: JsonObject,
    address: DeploymentAddress,
    orders: Sequence[FunctionOrder],
    triggers: Mapping[str, Sequence[Mapping[str, Any]]],
) -> LocalService:
    """Describe the functions that are built. The orders have no variables."""
    own = convert(section, Edge1Settings)
    bindings = list_bindings(own.bindings, address)
    workers = [
        {
            **_describe(
                build_function_upload(
                    order,
                    build_worker_owner(address, order.name),
                    own.compatibility_date,
                    find_static_folder(own.assets),
                ),
                own,
            ),
            "assets": own.assets if has_assets(own.assets, order.name) else None,
            "function": order.name,
            "name": build_worker_name(address, order.name),
            "bindings": _list_local(bindings, order.name),
            "consumers": _list_consumers(own, triggers.get(order.name, ())),
        }
        for order in orders
    ]
    values = {
        order.name: {
            one.name: one.fields.get("text", one.fields.get("json"))
            for one in bindings
            if one.type in _VALUES and one.is_for(order.name)
        }
        for order in orders
    }
    known = {*_SIMULATED, *_VALUES}
    missing = tuple(sorted({one.name for one in bindings if one.type not in known}))
    objects = _describe_objects(own, address, orders, bindings)
    return LocalService(workers, objects, values, missing)


def _describe_objects(
    own: Edge1Settings,
    address: DeploymentAddress,
    orders: Sequence[FunctionOrder],
    bindings: Sequence[Binding],
) -> JsonObject | None:
    plan = plan_objects(own.bindings)
    order = next((one for one in orders if plan and one.name == plan.function), None)
    if plan is None or order is None:
        return None
    upload = build_objects_upload(
        order,
        build_worker_owner(address),
        own.compatibility_date,
        plan.classes,
        find_static_folder(own.assets),
    )
    return {
        **_describe(upload, own),
        "function": order.name,
        "name": build_objects_name(address),
        "bindings": _list_local(bindings, order.name),
        "consumers": {},
    }


def _describe(upload: Upload, own: Edge1Settings) -> dict[str, Any]:
    modules = [_describe_module(one) for one in upload.modules if one.kind in _TYPES]
    return {
        "date": upload.date,
        "flags": own.metadata.get("compatibility_flags", list(FLAGS)),
        "modules": modules,
    }


def _describe_module(module: WorkerModule) -> JsonObject:
    kind = _TYPES[module.kind]
    if kind in _TEXTS:
        return {"type": kind, "path": module.name, "text": module.content.decode()}
    return {"type": kind, "path": module.name, "base64": base64.b64encode(module.content).decode()}


def _list_local(bindings: Sequence[Binding], function: str) -> list[JsonObject]:
    """List the bindings of a function. Resources have their names as ids."""
    return [
        one.build(one.resource.name if one.resource else "")
        for one in bindings
        if one.is_for(function) and one.type in _SIMULATED
    ]


def _list_consumers(own: Edge1Settings, triggers: Sequence[Mapping[str, Any]]) -> JsonObject:
    return {
        one.queue.name: {
            "maxBatchSize": one.settings["batch_size"],
            "maxBatchTimeout": int(str(one.settings["max_wait_time_ms"])) / 1000,
            "maxRetries": one.settings["max_retries"],
            **(
                {"retryDelay": one.settings["retry_delay"]} if "retry_delay" in one.settings else {}
            ),
            **({"deadLetterQueue": one.dead.name} if one.dead else {}),
        }
        for one in plan_consumers(own.bindings, triggers)
    }
