"""Services as a plan lists them: under the names that their config uses."""

import json
from typing import Any

from msgspec.structs import asdict

from fabric.config.values import Function, Trigger
from fabric.graph.compile import ServiceUnit
from fabric.model.names import Verb
from fabric.model.secrecy import without_userinfo, without_values


def service_row(unit: ServiceUnit, verb: Verb) -> dict[str, Any]:
    config = unit.config
    change = "create" if verb is Verb.DEPLOY else "none"
    return {
        "service": config.service,
        "provider": config.provider.label,
        "mode": unit.mode,
        "functions": [
            _function_row(function, change, config.secret_values.reveal())
            for function in config.functions
        ],
        "warnings": [warning.message for warning in config.warnings],
    }


def _function_row(function: Function, change: str, secrets: frozenset[str]) -> dict[str, Any]:
    return {
        "name": function.name,
        "triggers": [trigger_json(trigger, secrets) for trigger in function.triggers],
        "layers": [without_values(layer, secrets) for layer in function.layers],
        "change": change,
        "fields": {},
    }


def trigger_json(trigger: Trigger, secrets: frozenset[str]) -> dict[str, Any]:
    """A trigger under the names that the config uses, without a secret in it."""
    kind = type(trigger).__name__.removesuffix("Trigger").lower()
    fields = {
        _CONFIG_NAMES.get(name, name): without_userinfo(value) if name == "url" else value
        for name, value in asdict(trigger).items()
        if value not in ("", (), 0, None) or name in ("enabled", "batch_size")
    }
    if isinstance(fields.get("pattern"), str):
        fields["pattern"] = json.loads(fields["pattern"])
    return {"type": kind, **{name: _hidden(value, secrets) for name, value in fields.items()}}


def _hidden(value: Any, secrets: frozenset[str]) -> Any:
    match value:
        case str():
            return without_values(value, secrets)
        case list() | tuple():
            return [_hidden(item, secrets) for item in value]
        case dict():
            return {key: _hidden(item, secrets) for key, item in value.items()}
        case _:
            return value


_CONFIG_NAMES = {
    "batch_size": "batchSize",
    "window_seconds": "maximumBatchingWindowSeconds",
    "response_type": "functionResponseType",
    "existing_bucket": "existingBucket",
    "group_id": "groupId",
    "starting_position": "startingPosition",
    "routing_key": "routingKey",
    "virtual_host": "virtualHost",
}
