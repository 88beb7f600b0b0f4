"""The environment of functions: which of several values wins."""

import pytest

from fabric.config.environment import find_connection, list_addon_secrets
from fabric.config.yaml.nodes import Mapping
from fabric.config.yaml.reader import read
from fabric.model.backends import BackendKind
from tests.support.config_texts import HEAD, loaded

RESOURCES = """\
resources:
  orders-db: {type: database, envVar: DB, connectionEnv: ORDERS_URL, default: local}
  users-db: {type: database, envVar: USERS, default: other}
"""


def env_of(text: str, env: dict[str, str] | None = None) -> dict[str, str]:
    return dict(loaded(HEAD + text, env or {}).functions[0].env)


def node_of(text: str) -> Mapping:
    root = read("fabric.yml", text.encode()).root
    assert isinstance(root, Mapping)
    return root


def test_a_function_overrides_variables_of_its_service() -> None:
    text = "env: {A: service, B: service}\nfunctions: [{name: api, entry: a.ts, env: {B: own}}]\n"
    assert env_of(text) == {"A": "service", "B": "own"}


def test_a_resource_overrides_variables_and_a_function_can_select_resources() -> None:
    for selected, users in (("", "other"), (", resources: [orders-db]", None)):
        function = f"{{name: api, entry: a.ts, env: {{DB: own}}{selected}}}"
        found = env_of(f"{RESOURCES}functions: [{function}]\n")
        assert (found["DB"], found.get("USERS")) == ("local", users)


def test_no_selected_resources_are_not_all_resources() -> None:
    assert env_of(f"{RESOURCES}functions: [{{name: api, entry: a.ts, resources: []}}]\n") == {}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{connectionEnv: URL, connectionString: text, default: last}", "env"),
        ("{connection-env: URL, default: last}", "env"),
        ("{connectionEnv: EMPTY, default: last}", ""),
        ("{connectionEnv: UNSET, connectionString: text, default: last}", "text"),
        ("{connectionEnv: UNSET, default: last}", "last"),
        ("{connectionEnv: UNSET}", None),
        ("{}", None),
    ],
)
def test_the_first_source_of_an_address_wins(text: str, value: str | None) -> None:
    assert find_connection(node_of(text), {"URL": "env", "EMPTY": ""}) == value


def test_a_resource_is_named_by_its_variable_or_that_of_its_address() -> None:
    text = "resources: {a: {type: database, connectionEnv: URL}, b: {type: database, envVar: B}}\n"
    config = loaded(f"{HEAD}{text}functions: [{{name: api, entry: a.ts}}]\n", {"URL": "u"})
    assert [one.env_var for one in config.supplies.resources] == ["URL", "B"]
    assert {"URL", "B"} <= config.document.secret_names
    assert config.document.bindings.names >= {"URL"}
    assert config.backend.kind is BackendKind.LOCAL


def test_secrets_of_an_addon_are_references_with_defaults() -> None:
    text = "secrets: {A: 'secret://KEY', B: {ref: 'vault://path', default: x}, C: {default: y}}"
    found = list(list_addon_secrets(node_of(text)))
    assert [(one.variable, one.key, one.lies_elsewhere) for one in found] == [
        ("A", "KEY", False),
        ("B", "vault://path", True),
    ]
    assert [one.default.text if one.default else None for one in found] == [None, "x"]


def test_a_secret_of_an_addon_overrides_the_variable_of_a_function() -> None:
    text = (
        "secrets: {KEY: '${env:TOKEN}'}\naddons: {mail: {secrets: {MAIL: KEY}}}\n"
        "functions: [{name: api, entry: a.ts, env: {MAIL: own}}]\n"
    )
    config = loaded(HEAD + text, {"TOKEN": "hush"})
    assert dict(config.functions[0].env)["MAIL"] == "hush"
    assert "MAIL" in config.document.secret_names
