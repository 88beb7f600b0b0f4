"""Secrets at AWS by their versions."""

import pytest

from fabric.model.late_values import find_late_names, format_binding, show_placeholders
from fabric.model.lookups import LookupKind, SecretName, SecretPin, parse_pin, parse_secret_name
from fabric.model.secrets.secret_pins import (
    find_pins,
    find_secret_source,
    format_pin,
    has_unread_values,
    list_secret_versions,
    with_versions,
)

PIN = SecretPin(LookupKind.SECRETS_MANAGER, "shop/db#user", "one", "eu-west-1", default="none")
OLD = SecretPin(LookupKind.SECRETS_MANAGER, "shop/db::AWSPREVIOUS", "zero")
KEY = SecretPin(LookupKind.SSM, "/shop/key", "3")
ARN = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:shop/db-a1B2c3"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("shop/db", SecretName("shop/db")),
        ("shop/db#user:x", SecretName("shop/db", "user:x")),
        ("shop/db:user", SecretName("shop/db", "user")),
        ("shop/db:user:AWSPENDING", SecretName("shop/db", "user", "AWSPENDING")),
        ("shop/db::AWSPENDING", SecretName("shop/db", "", "AWSPENDING")),
        (ARN, SecretName(ARN)),
        (f"{ARN}:user", SecretName(ARN, "user")),
        (f"{ARN}#user", SecretName(ARN, "user")),
    ],
)
def test_a_name_has_a_key_and_a_label(name: str, expected: SecretName) -> None:
    assert parse_secret_name(name) == expected


def test_only_a_name_without_key_and_label_can_be_an_arn() -> None:
    names = ("shop/db.arn", "shop/db", "shop/db.arn:user", "shop/db.arn::AWSPENDING")
    assert [parse_secret_name(one).arn_owner for one in names] == ["shop/db", "", "", ""]


def test_a_pin_is_a_late_value_that_is_shown_as_the_config_writes_it() -> None:
    text = f"a {format_pin(PIN)} b"
    [name] = find_late_names(text)
    assert parse_pin(name) == PIN
    assert find_pins(text, text) == (PIN,)
    assert format_binding(name) == "${secretsmanager:shop/db#user}"
    assert show_placeholders(text) == "a ${secretsmanager:shop/db#user} b"


def test_settings_contain_the_version_of_each_secret_once() -> None:
    texts = (format_pin(PIN), format_pin(OLD) + format_pin(KEY))
    assert list_secret_versions((*texts, *texts)) == (
        ("secret /shop/key", "3"),
        ("secret shop/db", "one"),
        ("secret shop/db:AWSPREVIOUS", "zero"),
    )


@pytest.mark.parametrize(
    ("setting", "source"),
    [("secret a/b", "a/b"), ("f.secret a/b", "a/b"), ("secrets", ""), ("memory", "")],
)
def test_a_setting_names_its_secret(setting: str, source: str) -> None:
    assert find_secret_source(setting) == source


def test_recorded_versions_replace_those_of_a_text() -> None:
    text = f"{format_pin(PIN)} {format_pin(KEY)}"
    found = with_versions(text, (("secret shop/db", "before"), ("memory", "128")))
    assert [pin.version for pin in find_pins(found)] == ["before", "3"]


def test_a_secret_is_not_a_value_that_a_deploy_creates() -> None:
    assert not has_unread_values(f"plain {format_pin(PIN)}")
    assert has_unread_values("\ue000stack:Out\ue001")
