"""What resources and addons give: a value, a default, or an error that names who lacks what."""

import json

import pytest

from tests.support.config_texts import HEAD, ONE, codes, loaded, problems, warned

RESOURCE = HEAD + ONE + "resources: [{name: orders, type: database, connectionEnv: DB_URL%s}]\n"
ADDON = HEAD + ONE + "addons: [{name: mail, secrets: {TOKEN: %s}}]\n"


def env_of(text: str, env: dict[str, str] | None = None) -> dict[str, str]:
    return dict(loaded(text, env or {}).functions[0].env)


def test_a_variable_that_is_not_set_is_an_error_that_names_resource_and_variable() -> None:
    (problem,) = problems(RESOURCE % "")
    assert problem.code == "config/unset-variable"
    assert "`orders`" in problem.message
    assert "`DB_URL`" in problem.message
    assert problem.where is not None
    assert problem.where.line == 4


@pytest.mark.parametrize("word", ["NONE", "secret://NONE", "{ref: NONE}"])
def test_a_secret_that_is_not_set_is_an_error_that_names_addon_and_variable(word: str) -> None:
    (problem,) = problems(ADDON % word)
    assert problem.code == "config/unset-variable"
    for name in ("`mail`", "`TOKEN`", "`NONE`"):
        assert name in problem.message


def test_default_applies_only_if_the_variable_is_unset() -> None:
    resource, addon = RESOURCE % ", default: here", ADDON % "{ref: KEY, default: there}"
    assert env_of(resource) == {"DB_URL": "here"}
    assert env_of(resource, {"DB_URL": "set"}) == {"DB_URL": "set"}
    assert env_of(addon) == {"TOKEN": "there"}
    assert env_of(addon, {"KEY": "set"}) == {"TOKEN": "set"}


def test_an_empty_value_is_a_value() -> None:
    assert env_of(RESOURCE % "", {"DB_URL": ""}) == {"DB_URL": ""}
    assert env_of(RESOURCE % ", default: ''") == {"DB_URL": ""}
    assert env_of(ADDON % "{ref: KEY, default: ''}") == {"TOKEN": ""}


def test_reference_for_a_secret_plugin_warns() -> None:
    assert warned(ADDON % "'vault://team/token'") == ["config/secret-plugin"]
    assert codes(ADDON % "'vault://team/token'") == []


def test_defaults_are_not_shown() -> None:
    text = (
        RESOURCE % ", default: hunter2"
    ) + "addons: [{name: m, secrets: {T: {ref: K, default: hunter2}}}]\n"
    config = loaded(text, {})
    assert "hunter2" not in json.dumps(config.document.resolved)
