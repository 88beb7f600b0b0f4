"""What packages offer is looked for by name, and what it does wrong is told."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

from fabric.model.problems import FabricError
from fabric.system.plugins import (
    GROUP,
    PluginVariables,
    find_plugin,
    list_installed,
    load_secret_manager,
    load_secret_managers,
    read_secret,
)


class Manager:
    kind = "secret-manager"
    variables: Sequence[str] = ("KEY",)

    def __init__(self, answers: Mapping[str, object]) -> None:
        self._answers = answers

    def read(self, reference: str, env: Mapping[str, str]) -> str:
        found = self._answers[reference]
        if isinstance(found, Exception):
            raise found
        return found  # type: ignore[return-value]


ANSWERS: Mapping[str, object] = {
    "good": "value",
    "number": 7,
    "nul": "a\0b",
    "leaky": RuntimeError("TOKEN=hunter2222 was refused"),
}


@pytest.fixture(autouse=True)
def package() -> Iterator[None]:
    module = ModuleType("fabric_test_plugins")
    vars(module).update(manager=Manager(ANSWERS), other=object())
    sys.modules[module.__name__] = module
    yield
    del sys.modules[module.__name__]


def entries() -> list[EntryPoint]:
    names = {"vault": "manager", "other": "other", "broken": "nothing"}
    found = {name: f"fabric_test_plugins:{value}" for name, value in names.items()}
    return [EntryPoint(name, value, GROUP) for name, value in found.items()]


def problem_of(name: str, reference: str = "good") -> str:
    with pytest.raises(FabricError) as caught:
        read_secret(name, reference, PluginVariables({}), entries)
    return f"{caught.value.first.code}: {caught.value.first.message}"


def test_a_manager_is_found_by_its_name() -> None:
    assert read_secret("vault", "good", PluginVariables({}), entries) == "value"
    assert load_secret_manager("vault", entries).variables == ("KEY",)
    assert list(load_secret_managers(entries)) == ["vault"]


@pytest.mark.parametrize(
    ("name", "reference", "said"),
    [
        ("vaul", "good", "plugin/unknown: unknown plugin `vaul`"),
        ("other", "good", "plugin/other-kind: the plugin `other` is not a secret manager"),
        ("broken", "good", "plugin/broken: cannot load the plugin `broken`: AttributeError"),
        ("vault", "gone", "plugin/failed: the plugin `vault` failed: KeyError: 'gone'"),
        ("vault", "number", "plugin/failed: the plugin `vault` returned int, which is not text"),
        ("vault", "nul", "plugin/failed: the plugin `vault` returned text that contains NUL"),
    ],
)
def test_plugin_errors_are_reported_by_name(name: str, reference: str, said: str) -> None:
    assert problem_of(name, reference).startswith(said)


def test_words_of_an_error_show_no_credential() -> None:
    assert "hunter2222" not in problem_of("vault", "leaky")


def test_the_nearest_is_named_or_all_that_there_are() -> None:
    for name, hint in (("vualt", "did you mean `vault`?"), ("x", "broken, other, vault")):
        with pytest.raises(FabricError) as caught:
            find_plugin(name, entries)
        assert hint in caught.value.first.hint


def test_no_installed_package_means_no_plugins() -> None:
    assert list(list_installed()) == []


def test_all_variables_of_a_plugin_come_from_one_source() -> None:
    variables = ("VAULT_ADDRESS", "VAULT_TOKEN")
    filed = {"VAULT_ADDRESS": "https://vault.example", "OTHER": "x"}
    with pytest.raises(FabricError) as caught:
        PluginVariables({"VAULT_TOKEN": "mine"}, filed).of("vault", variables)
    assert caught.value.first.code == "plugin/mixed-sources"
    assert "mine" not in caught.value.first.message
    both = {**filed, "VAULT_TOKEN": "theirs"}
    given = PluginVariables({"PATH": "/bin"}, both).of("vault", variables)
    assert given == {
        "PATH": "/bin",
        "VAULT_ADDRESS": both["VAULT_ADDRESS"],
        "VAULT_TOKEN": "theirs",
    }
    # The process has all of them: the file has no say.
    own = {"VAULT_ADDRESS": "https://mine.example", "VAULT_TOKEN": "mine"}
    assert PluginVariables(own, both).of("vault", variables) == own
