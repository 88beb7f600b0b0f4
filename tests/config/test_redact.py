"""What `config show` prints: no credential, whatever key holds it."""

import json
from typing import Any

import pytest

from fabric.config.redact import encode_redacted_config, mark_credentials
from fabric.config.yaml.nodes import Mapping, Scalar, find_child
from fabric.config.yaml.reader import read
from fabric.model.late_values import format_placeholder
from fabric.model.secrets.secrecy import REDACTED

CANARY = "canary-value"


def root_of(text: str) -> Mapping:
    root = read("fabric.yml", text.encode()).root
    assert isinstance(root, Mapping)
    return root


def shown(text: str) -> str:
    return encode_redacted_config(mark_credentials(root_of(text)))


@pytest.mark.parametrize(
    "key",
    [
        "bearer",
        "pat",
        "githubPat",
        "GH_PAT",
        "privateKeyPem",
        "sessionKey",
        "apiToken",
        "jwt",
        "dsn",
    ],
)
def test_value_of_a_credential_key_is_redacted_in_every_free_section(key: str) -> None:
    for section in ("params", "integrations", "alerts", "extensions"):
        text = shown(f"service: shop\n{section}: {{deep: {{{key}: {CANARY}}}}}\n")
        assert json.loads(text)[section] == {"deep": {key: REDACTED}}


@pytest.mark.parametrize(
    "key", ["path", "pattern", "compatibility", "dispatch", "keyboard", "cookies"]
)
def test_value_of_a_similar_key_is_shown(key: str) -> None:
    assert CANARY in shown(f"service: shop\nparams: {{{key}: {CANARY}}}\n")


def test_an_arn_and_an_output_of_the_stack_are_shown_under_any_key() -> None:
    output, other = format_placeholder("stack:TokenTableRef"), format_placeholder("ssm:/token")
    arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:db"
    assert arn in shown(f"service: shop\nparams: {{SecretArn: '{arn}'}}\n")
    assert output in shown(f"service: shop\nextensions: {{tokenTable: '{output}'}}\n")
    assert other not in shown(f"service: shop\nextensions: {{token: '{other}'}}\n")


@pytest.mark.parametrize(
    "value",
    [
        "ghp_0123456789abcdefghij0123",
        "Bearer canary-0123456789",
        "-----BEGIN PRIVATE KEY-----canary",
        "https://user:canary@example.com",
    ],
)
def test_value_in_the_form_of_a_credential_is_redacted_under_any_key(value: str) -> None:
    text = shown(f"service: shop\nalerts: {{to: '{value}'}}\n")
    assert "canary" not in text
    assert "0123456789" not in text
    assert REDACTED in text


def test_credential_variables_of_functions_are_redacted() -> None:
    functions = "functions: [{name: one, env: {API_TOKEN: canary, COLOR: red}}]"
    found = json.loads(shown(f"service: shop\n{functions}\n"))
    assert found["functions"][0]["env"] == {"API_TOKEN": REDACTED, "COLOR": "red"}


def document(text: str) -> Any:
    return json.loads(shown(text))


def is_hidden(value: object) -> bool:
    return isinstance(value, str) and REDACTED in value and "real" not in value


def test_stages_are_not_shown_because_they_are_applied() -> None:
    assert document("service: shop\nstages: {dev: {region: real}}") == {"service": "shop"}


@pytest.mark.parametrize("functions", ["[{name: api, env: %s}]", "{api: {env: %s}}"])
def test_variables_with_names_of_credentials_are_hidden(functions: str) -> None:
    env = "{API_TOKEN: real, LOG_LEVEL: warn}"
    found = document(f"env: {env}\nfunctions: {functions % env}")
    function = found["functions"][0] if "[" in functions else found["functions"]["api"]
    for one in (found["env"], function["env"]):
        assert is_hidden(one["API_TOKEN"])
        assert one["LOG_LEVEL"] == "warn"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("secrets: {API_KEY: real}", "secrets API_KEY"),
        ("secrets: [{name: API_KEY, ref: real}]", "secrets 0 ref"),
        ("extensions: {cloud1-lambda: {apiToken: real}}", "extensions cloud1-lambda apiToken"),
        ("extensions: {a: {password: {value: [real]}}}", "extensions a password value 0"),
        ("params: {apiKey: real}", "params apiKey"),
        ("resources: [{name: db, default: real}]", "resources 0 default"),
        ("resources: {db: {connectionString: real}}", "resources db connectionString"),
        ("addons: {mail: {secrets: {A: {default: real}}}}", "addons mail secrets A default"),
        ("fabric: {healthCheck: {url: 'https://u:real@h'}}", "fabric healthCheck url"),
    ],
)
def test_values_that_can_be_secrets_are_hidden(text: str, path: str) -> None:
    value = document(text)
    for step in path.split():
        value = value[int(step) if step.isdigit() else step]
    assert is_hidden(value)


@pytest.mark.parametrize(
    "text",
    [
        'secrets: [{"name":"API_KEY"}]',
        'provider: {"name":"cloud1-lambda","runtime":"nodejs20.x"}',
        'functions: [{"entry":"a.ts","memory":128,"minify":true,"name":"api"}]',
        'params: {"color":"blue"}',
        'resources: [{"envVar":"DB","name":"db"}]',
    ],
)
def test_other_values_are_shown_as_they_are(text: str) -> None:
    key, _, value = text.partition(": ")
    assert document(text) == {key: json.loads(value)}


def test_only_leaves_are_marked() -> None:
    root = mark_credentials(root_of("env: {API_TOKEN: a, SIZE: '5'}"))
    leaves = [find_child(root, "env", name) for name in ("API_TOKEN", "SIZE")]
    assert [one.secret for one in leaves if isinstance(one, Scalar)] == [True, False]
    assert mark_credentials(root_of("env: []")) == root_of("env: []")
