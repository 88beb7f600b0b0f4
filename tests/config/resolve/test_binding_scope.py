"""Sources of bindings other than variables: parameters, files, secret managers, and requests."""

from collections.abc import Mapping

import pytest

from fabric.config.load import BindingInputs, ConfigText, load_config
from fabric.model.bindable import SecretUse
from fabric.model.problems import FabricError, Problem
from tests.support.config_texts import HEAD, ONE

FILES = {"motd.txt": "hello", "tokens/api_token": "t0ken"}
REQUEST = BindingInputs(withheld=frozenset({"DB_URL", "MAIL"}), secret_use=SecretUse.HIDDEN)


def read_text(path: str) -> str | None:
    if path.startswith("/"):
        raise FabricError(Problem("config/not-trusted", "outside", "use a path of the project"))
    return FILES.get(path)


def read_secret(scheme: str, reference: str) -> str:
    if reference == "down":
        raise FabricError(Problem("vault/unreachable", "no answer", "try again"))
    return f"{scheme} {reference}"


INPUTS = BindingInputs({"COLOR": "red"}, read_text, read_secret)


def source(text: str, inputs: BindingInputs, env: Mapping[str, str]) -> ConfigText:
    return ConfigText("fabric.yml", (HEAD + ONE + text).encode(), env, "dev", bindings=inputs)


def bound(value: str, more: str = "", inputs: BindingInputs = INPUTS, **env: str) -> str:
    config = load_config(source(f"env: {{A: '{value}'}}\n{more}", inputs, env))
    return dict(config.functions[0].env)["A"]


def refused(text: str, inputs: BindingInputs = INPUTS, **env: str) -> Problem:
    with pytest.raises(FabricError) as raised:
        load_config(source(text, inputs, env))
    (found,) = raised.value.problems
    assert found.frame
    return found


@pytest.mark.parametrize(
    ("value", "params", "found"),
    [
        ("${param:COLOR}", "", "red"),
        ("${param:COLOR}", "params: {COLOR: blue}\n", "red"),
        ("${param:SIZE}", "params: {SIZE: 5}\n", "5"),
        ("${param:SIZE}", "params: {SIZE: 'x ${env:N}'}\n", "x 1"),
        ("${param:SIZE,small}", "", "small"),
        ("${param:SIZE,${stage}}", "", "dev"),
        ("${param:SIZE}", "params: {SIZE: a}\nstages: {dev: {params: {SIZE: b}}}\n", "b"),
    ],
)
def test_parameter_is_read_from_the_command_line_first(value: str, params: str, found: str) -> None:
    assert bound(value, params, N="1") == found


def test_unset_parameter_names_both_places_to_set_it() -> None:
    found = refused("env: {A: '${param:SIZE}'}\n")
    assert found.code == "config/unset-param"
    assert found.hint == "set --param SIZE=…, or add it to `params` (or `stages.<stage>.params`)"


@pytest.mark.parametrize(
    ("value", "found"),
    [("${file:motd.txt}", "hello"), ("${file:gone.txt,none}", "none"), ("${file:gone.txt,}", "")],
)
def test_file_is_read_as_text(value: str, found: str) -> None:
    assert bound(value) == found


@pytest.mark.parametrize(
    ("path", "code", "message"),
    [
        ("gone.txt", "config/missing-file", "file `gone.txt` not found in the project"),
        ("/etc/passwd", "config/not-trusted", "outside"),
    ],
)
def test_file_that_cannot_be_read_is_reported(path: str, code: str, message: str) -> None:
    found = refused(f"env: {{A: '${{file:{path}}}'}}\n")
    assert (found.code, found.message) == (code, message)
    assert found.hint


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("env: {A: '${param:API_TOKEN}'}\n", "p4ram"),
        ("env: {A: '${param:PLAIN}'}\nparams: {PLAIN: '${secret:K}'}\nsecrets: {K: s3cret}\n",
         "s3cret"),
        ("env: {A: '${param:DB_PASSWORD}'}\nparams: {DB_PASSWORD: '${stage}'}\n", "dev"),
        ("env: {A: '${file:tokens/api_token}'}\n", "t0ken"),
        ("env: {A: '${secret:K}'}\nsecrets: {K: 'vault://a/b'}\n", "vault a/b"),
    ],
)  # fmt: skip
def test_value_with_a_secret_name_or_source_is_secret(text: str, value: str) -> None:
    inputs = BindingInputs({"API_TOKEN": "p4ram"}, read_text, read_secret)
    config = load_config(source(text, inputs, {}))
    assert value in config.document.secret_values.reveal()
    assert "A" in config.document.secret_names


def test_error_of_a_secret_manager_names_the_secret() -> None:
    found = refused("env: {A: '${secret:K}'}\nsecrets: {K: 'vault://down'}\n")
    assert (found.code, found.message) == ("vault/unreachable", "secret `K`: no answer")
    assert found.hint == "try again"
    addon = refused("addons: {m: {secrets: {T: 'vault://down'}}}\n")
    assert (addon.code, addon.message) == ("vault/unreachable", "addon `m`: `T`: no answer")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("env: {A: '${env:DB_URL}'}\n", "config/unset-variable"),
        ("env: {A: '${secret:MAIL}'}\n", "config/unset-secret"),
        ("resources: {db: {type: database, connectionEnv: DB_URL}}\n", "config/unset-variable"),
        ("addons: {m: {secrets: {T: MAIL}}}\n", "config/unset-variable"),
    ],
)
def test_withheld_variable_cannot_be_used_in_a_request(text: str, code: str) -> None:
    found = refused(text, REQUEST)
    assert found.code == code
    assert "cannot be used in requests" in found.message


def test_withheld_variable_has_its_default_and_a_hint_for_the_server() -> None:
    assert bound("${env:DB_URL,none}", inputs=REQUEST) == "none"
    assert "--resolve-env" in refused("env: {A: '${env:DB_URL}'}\n", REQUEST).hint


def test_secret_of_a_request_is_hidden_or_refused() -> None:
    assert bound("${secret:KEY}", inputs=REQUEST, KEY="value") == "[REDACTED]"
    refusing = BindingInputs(read_secret=read_secret, secret_use=SecretUse.REFUSED)
    for text in (
        "env: {A: '${secret:KEY}'}\n",
        "env: {A: '${secret:KEY}'}\nsecrets: {KEY: 'vault://a'}\n",
    ):
        found = refused(text, refusing, KEY="value")
        assert found.message == "secret `KEY` is not available in requests without an API key"
        assert found.hint == "start the server with --api-key-file"
