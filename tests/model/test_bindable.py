"""Which variables a config may bind: its own writer all, a caller none that is a credential."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.model.bindable import EVERYTHING, Bindable

CALLERS = Bindable(is_own=False, prefixes=("",))
PLAIN = {"HOME": "/root", "COLOR": "red", "API_URL": "https://api.test/v1", "KEYBOARD": "de"}
HIDDEN = {
    "API_TOKEN": "t", "MY_SECRET": "s", "DB_PASSWORD": "p", "GIT_CREDENTIALS": "c", "A_KEY": "k",
    "DATABASE_URL": "postgresql://me:word@db/x", "AWS_REGION": "eu", "aws_profile": "mine",
    "FABRIC_DAEMON_API_KEY": "k", "MYSQL_PWD": "w", "SMTP_PASS": "w", "GITHUB_PAT": "w",
    "AZURE_STORAGE_CONNECTION_STRING": "AccountKey=x", "PROXY": "http://u:p@proxy:8080",
    "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer abc", "SIGNING_KEYS": "k1", "DB_DSN": "x",
    "MYSQL": "user:pw@tcp(db)/x", "CACHE": "redis://:pa/ss@h", "SAS": "https://h/c?sv=1&sig=abc",
    "JDBC": "jdbc:postgresql://h/db?user=u&password=jdbcpw", "PLAIN": "Bearer abcdefghijkl",
}  # fmt: skip


def test_ones_own_config_binds_everything() -> None:
    assert dict(EVERYTHING.of(HIDDEN).env) == HIDDEN
    assert not EVERYTHING.of(HIDDEN).withheld


@pytest.mark.parametrize("name", HIDDEN)
def test_caller_never_receives_credential_like_variables(name: str) -> None:
    found = CALLERS.of(HIDDEN | PLAIN)
    assert name not in found.env
    assert name in found.withheld


@pytest.mark.parametrize("name", PLAIN)
def test_caller_receives_plain_variables(name: str) -> None:
    assert CALLERS.of(HIDDEN | PLAIN).env[name] == PLAIN[name]


def test_prefixes_narrow_variables_and_never_reveal_hidden_ones() -> None:
    chosen = Bindable(is_own=False, prefixes=("COL", "DB_"))
    assert dict(chosen.of(HIDDEN | PLAIN).env) == {"COLOR": "red"}


@given(st.dictionaries(st.text(max_size=12), st.text(max_size=12)))
def test_every_variable_is_either_given_or_withheld(env: dict[str, str]) -> None:
    found = CALLERS.of(env)
    assert set(found.env) | found.withheld == set(env)
    assert not set(found.env) & found.withheld


def test_without_prefixes_a_stranger_gets_no_variable_at_all() -> None:
    """A credential may be called anything: which variables are harmless, the operator says."""
    env = {"COLOR": "red", "MYSTERY": "hunter2", "API_TOKEN": "x"}
    none = Bindable(is_own=False).of(env)
    assert (none.env, none.withheld) == ({}, frozenset(env))
    assert Bindable(is_own=False, is_trusted=True).of(env).env == {
        "COLOR": "red",
        "MYSTERY": "hunter2",
    }
    assert Bindable().of(env).env == env
