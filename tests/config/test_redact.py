"""What `config show` prints: no credential, whatever key holds it."""

import json

import pytest

from fabric.config.redact import encode_redacted_config, mark_credentials
from fabric.config.yaml.nodes import Mapping
from fabric.config.yaml.reader import read
from fabric.model.secrecy import REDACTED

CANARY = "canary-value"


def shown(text: str) -> str:
    root = read("fabric.yml", text.encode()).root
    assert isinstance(root, Mapping)
    return encode_redacted_config(mark_credentials(root))


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
