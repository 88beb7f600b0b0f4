"""The text of a new config: it loads, for every choice."""

import pytest

from fabric.model.backends import BackendKind
from fabric.model.catalog import PROVIDERS
from fabric.scaffold.choices import ManagerFacts, ProjectChoices, list_languages, list_templates
from fabric.scaffold.config_text import (
    choose_entry,
    choose_project_runtime,
    format_new_config,
    format_scalar,
)
from tests.support.config_texts import loaded

PAIRS = [
    (facts.id, template, lang)
    for facts in PROVIDERS
    for template in list_templates(facts.id)
    for lang in list_languages(facts.id)
]


@pytest.mark.parametrize(("provider", "template", "lang"), PAIRS)
def test_every_new_config_loads_as_chosen(provider: str, template: str, lang: str) -> None:
    choices = ProjectChoices("shop", template, provider, lang)
    config = loaded(format_new_config(choices))
    (function,) = config.functions
    assert (config.service, config.provider.id) == ("shop", provider)
    assert function.entry == choose_entry(choices)
    assert config.provider.runtime == choose_project_runtime(choices)
    assert type(function.triggers[0]).__name__.lower() == f"{template}trigger"
    assert config.document.warnings == ()


@pytest.mark.parametrize("backend", list(BackendKind))
@pytest.mark.parametrize("service", ["shop", "My_Shop", "on", "x" * 63])
def test_a_backend_has_its_required_settings(backend: BackendKind, service: str) -> None:
    manager = ManagerFacts("vault")
    choices = ProjectChoices(
        service, "http", "cloud1-lambda", backend=backend.value, manager=manager
    )
    config = loaded(format_new_config(choices))
    assert config.service == service
    assert config.backend.kind is backend
    buckets = [value for key, value in config.backend.settings if "Prefix" not in key]
    assert all(value == value.lower() or "FABRIC" in value for value in buckets)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("shop", "shop"),
        ("yes", '"yes"'),
        ("Null", '"Null"'),
        ("GET:/hello", '"GET:/hello"'),
        ("12", '"12"'),
        ("ü", '"ü"'),
        ("", '""'),
        ("a b", '"a b"'),
    ],
)
def test_a_text_is_quoted_unless_every_reader_takes_it_for_one(text: str, shown: str) -> None:
    assert format_scalar(text) == shown
