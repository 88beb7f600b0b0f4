"""Services as a plan lists them: under the names that their config uses."""

import json

from msgspec.structs import asdict

from fabric.config.values import Function, Trigger
from fabric.graph.service_unit import ServiceUnit
from fabric.model.late_values import change_texts, show_placeholders
from fabric.model.names import Verb
from fabric.model.outcomes.json_struct import Json, JsonObject
from fabric.model.outcomes.planned import PlannedFunction, PlannedService
from fabric.model.secrets.secrecy import redact_userinfo, redact_values


def build_service_row(unit: ServiceUnit, verb: Verb) -> PlannedService:
    config = unit.config
    change = "create" if verb is Verb.DEPLOY else "none"
    secrets = config.document.secret_values.reveal()
    return PlannedService(
        config.service,
        config.provider.label,
        unit.mode,
        tuple(_build_function_row(function, change, secrets) for function in config.functions),
        tuple(warning.message for warning in config.document.warnings),
    )


def _build_function_row(
    function: Function, change: str, secrets: frozenset[str]
) -> PlannedFunction:
    return PlannedFunction(
        function.name,
        tuple(_show_trigger(encode_trigger(one, secrets)) for one in function.triggers),
        tuple(show_placeholders(redact_values(layer, secrets)) for layer in function.layers),
        change,
    )


def _show_trigger(row: JsonObject) -> JsonObject:
    """Show late values as the config writes them."""
    return {key: change_texts(value, show_placeholders) for key, value in row.items()}


def encode_trigger(trigger: Trigger, secrets: frozenset[str]) -> JsonObject:
    """A trigger under the names that the config uses, without a secret in it."""
    kind = type(trigger).__name__.removesuffix("Trigger").lower()
    fields = {
        _CONFIG_NAMES.get(name, name): redact_userinfo(value) if name == "url" else value
        for name, value in asdict(trigger).items()
        if value not in ("", (), 0, None) or name in ("enabled", "batch_size")
    }
    if isinstance(fields.get("pattern"), str):
        fields["pattern"] = json.loads(fields["pattern"])
    fields |= json.loads(fields.pop("options", "{}"))
    return {"type": kind, **{name: _redact_value(value, secrets) for name, value in fields.items()}}


def _redact_value(value: Json, secrets: frozenset[str]) -> Json:
    match value:
        case str():
            return redact_values(value, secrets)
        case list() | tuple():
            return [_redact_value(item, secrets) for item in value]
        case dict():
            return {key: _redact_value(item, secrets) for key, item in value.items()}
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
