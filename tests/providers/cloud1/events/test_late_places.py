"""Late values at every place where the config allows them: no rule takes one for a bad value."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import convert

from fabric.app.project.plan_rows import encode_trigger
from fabric.config.schema.cloud1_http import CLOUD1_HTTP
from fabric.config.schema.function_settings import FUNCTION_SETTINGS
from fabric.config.schema.shapes import Field, Fields
from fabric.config.schema.triggers import TRIGGER
from fabric.model.problems import FabricError
from fabric.providers.cloud1.core.versions import OwnSettings
from fabric.providers.cloud1.limits import find_unsupported
from fabric.providers.core.contract import FunctionDraft
from tests.support.config_texts import loaded
from tests.support.orders import address

LATE = "${stack:Out}"
# Keys that select other settings: these are known before the run.
KNOWN = {"type", "route", "method", "path", "schedule", "timezone"}
# Keys that the provider requires besides those of the schema.
NEEDED: dict[str, dict[str, Any]] = {
    "http": {"path": "/x"},
    "pubsub": {"topic": "orders"},
    "logstream": {"topic": "clicks", "brokers": ["broker-1:9092"]},
    "amqp": {"broker": "arn:aws:mq:eu-central-1:123456789012:broker:jobs:b-1", "queue": "jobs"},
}
REST = {"kind": "rest"}
TEMPLATE = {"Resources": {"Q": {"Type": "AWS::SQS::Queue"}}, "Outputs": {"Out": {"Value": "x"}}}


def leaves(value: object, *path: Any) -> Iterator[tuple[Any, ...]]:
    match value:
        case str():
            yield path
        case dict():
            for key, one in value.items():
                yield from leaves(one, *path, key)
        case list():
            for number, one in enumerate(value):
                yield from leaves(one, *path, number)


def with_late(value: Any, path: tuple[Any, ...]) -> Any:
    if not path:
        return LATE
    copy = value.copy()
    copy[path[0]] = with_late(value[path[0]], path[1:])
    return copy


def variants(field: Field) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the example of a setting, and the same with one late value."""
    for path in leaves(field.example):
        yield {field.name: field.example}, {field.name: with_late(field.example, path)}


def list_functions() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for one in FUNCTION_SETTINGS:
        yield from variants(one)
    for kind, fields in TRIGGER.kinds:
        assert isinstance(fields, Fields)
        needed = {one.name: one.example for one in fields.fields if one.required}
        needed |= NEEDED.get(kind, {})
        for one in fields.fields:
            for pair in variants(one) if one.name not in KNOWN else ():
                known, late = ({"triggers": [{**needed, **settings}]} for settings in pair)
                yield known, late


def find_faults(function: dict[str, Any], http: dict[str, Any]) -> set[str]:
    """Find the faults of a config, without those of choices, which are always known."""
    stack = {"before": {"template": TEMPLATE}}
    document = {
        "service": "shop",
        "provider": {"name": "cloud1-lambda", "runtime": "nodejs20.x"},
        "extensions": {"cloud1-lambda": {"stack": stack, "http": http}},
        "functions": [{"name": "api", "entry": "a.ts", **function}],
    }
    try:
        config = loaded(json.dumps(document))
    except FabricError as error:
        return {one.message for one in error.problems if one.code != "config/late-value"}
    [one] = config.functions
    triggers = tuple(json.dumps(encode_trigger(each, frozenset())) for each in one.triggers)
    settings = (("runtime", "nodejs20.x"), *one.settings)
    draft = FunctionDraft("api", settings, triggers=triggers, layers=one.layers)
    own = json.loads(config.provider.extensions)["cloud1-lambda"]
    own.pop("stack")
    found = find_unsupported(convert(own, OwnSettings), address(), [draft])
    problems = (*config.document.unplannable, *(each.problem for each in found))
    return {each.message for each in problems}


@pytest.mark.parametrize(("known", "late"), list_functions(), ids=json.dumps)
def test_late_values_of_functions_and_triggers_are_not_checked_before_they_are_known(
    known: dict[str, Any], late: dict[str, Any]
) -> None:
    assert find_faults(late, REST) <= find_faults(known, REST)


@pytest.mark.parametrize(
    ("known", "late"),
    [each for one in CLOUD1_HTTP.fields for each in variants(one)],
    ids=json.dumps,
)
def test_late_values_of_the_api_are_not_checked_before_they_are_known(
    known: dict[str, Any], late: dict[str, Any]
) -> None:
    assert find_faults({}, REST | late) <= find_faults({}, REST | known)
