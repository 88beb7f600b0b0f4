"""Each key that the schema lists is read into the config."""

import json

import pytest

from fabric.config.schema.build import BUILD
from fabric.config.schema.config import DEPLOY, OVERRIDE, TARGETS
from fabric.config.schema.function import FUNCTION
from fabric.config.schema.shapes import Field, Fields
from fabric.config.schema.triggers import TRIGGER
from fabric.config.sections import Section
from fabric.config.values import BundleSettings, Config, StorageTrigger
from fabric.config.yaml.nodes import EMPTY
from fabric.model.names import TriggerKind
from fabric.model.outcomes.json_struct import Json, JsonObject
from tests.support.config_texts import loaded

_FUNCTION: JsonObject = {"name": "hello", "entry": "a.ts"}
_SERVICE: JsonObject = {
    "service": "shop",
    "provider": {"name": "cloud1-lambda", "runtime": "nodejs20.x"},
    "functions": [_FUNCTION],
    "layers": [{"name": "shared", "arn": "arn:aws:lambda:eu-central-1:1:layer:shared:1"}],
    "resources": [{"name": "orders-db", "type": "database", "default": "x", "envVar": "DB"}],
    "addons": [{"name": "mail"}],
    "providerOverrides": {"main": {"name": "cloud1-lambda"}, "spare": {"name": "edge1-workers"}},
}
_SECTIONS = {"build": BUILD, "deploy": DEPLOY, "fabric": TARGETS}
# Reserved for later, as its description says.
_WITHOUT_EFFECT = {("deploy", "strategy")}
_PAIRS = [
    (section, field)
    for section, shape in _SECTIONS.items()
    for field in shape.fields
    if (section, field.name) not in _WITHOUT_EFFECT
]


def _load(**changes: Json) -> Config:
    return loaded(json.dumps({**_SERVICE, **changes}))


def _list_samples(shape: Fields) -> list[Field]:
    return [one for one in shape.fields if not one.required]


@pytest.mark.parametrize(("section", "field"), _PAIRS, ids=lambda one: getattr(one, "name", one))
def test_every_key_of_a_section_is_read(section: str, field: Field) -> None:
    values = {"build": "build", "deploy": "deploy", "fabric": "targets"}
    given = getattr(_load(**{section: {field.name: field.example}}), values[section])
    assert given != getattr(_load(), values[section])


@pytest.mark.parametrize("field", _list_samples(FUNCTION), ids=lambda field: field.name)
def test_every_key_of_a_function_is_read(field: Field) -> None:
    # Names of the service, and a runtime that fits the entry.
    samples: JsonObject = {"resources": [], "addons": [], "runtime": "nodejs22.x"}
    example = samples.get(field.name, field.example)
    others = set(FUNCTION.one_of) if field.name in FUNCTION.one_of else set()
    rest = {name: value for name, value in _FUNCTION.items() if name not in others}
    given = _load(functions=[{**rest, field.name: example}])
    if field.name == "addons":
        assert given.functions == _load().functions  # the addon has no values to leave out
    else:
        assert given.functions != _load().functions


@pytest.mark.parametrize("field", _list_samples(OVERRIDE), ids=lambda field: field.name)
def test_every_key_of_a_provider_override_is_read(field: Field) -> None:
    given = _load(providerOverrides={"spare": {"name": "edge1-workers", field.name: field.example}})
    assert given.targets.overrides != _load().targets.overrides


@pytest.mark.parametrize(
    ("kind", "shape", "field"),
    [(kind, shape, field) for kind, shape in TRIGGER.kinds for field in _list_samples(shape)],
    ids=lambda one: getattr(one, "name", one if isinstance(one, str) else ""),
)
def test_every_key_of_a_trigger_is_read(kind: str, shape: Fields, field: Field) -> None:
    needed = {one.name: one.example for one in shape.fields if one.required}
    if shape.one_of and field.name not in shape.one_of:
        needed["path"] = "/"
    plain: JsonObject = {**needed, "batchSize": 9} if field.name == "batchSize" else {**needed}
    given = {**needed, field.name: field.example}
    if shape.one_of and field.name in shape.one_of:
        plain = {**needed, "path": "/other"}

    def load(trigger: JsonObject) -> Config:
        name = "cloud2-functions" if kind == TriggerKind.PUBSUB else "cloud1-lambda"
        provider = {"name": name, "runtime": "nodejs20.x"}
        return _load(provider=provider, functions=[{**_FUNCTION, "triggers": [trigger]}])

    assert load(given).functions != load(plain).functions


def test_section_without_its_required_keys_has_empty_values() -> None:
    storage = Section(StorageTrigger, dict(TRIGGER.kinds)["storage"], given=("options",))
    assert storage.read(EMPTY) == StorageTrigger("", ())


def test_merge_keeps_what_the_section_does_not_have() -> None:
    under = BundleSettings(minify=True, target="node20")
    bundle = Section(BundleSettings, BUILD)
    assert bundle.merge(under, EMPTY) == bundle.merge(under, None) == under
