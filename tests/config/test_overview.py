"""The overview of a config for edits: entries with places, and three kinds of problems."""

import pytest

from fabric.config.load import ConfigText
from fabric.config.overview import Overview, read_overview
from fabric.model.problems import FabricError
from tests.support.config_texts import HEAD, ONE


def overview(text: str, **env: str) -> Overview:
    return read_overview(ConfigText("fabric.yml", text.encode(), env, "dev"))


def test_overview_lists_entries_with_their_places() -> None:
    found = overview(
        HEAD
        + "functions:\n  - {name: a, entry: a.ts}\n  - {name: b, entry: b.ts}\n"
        + "resources: {db: {type: database}}\n"
    )
    rows = [(one.name, one.entry, str(one.where)) for one in found.sections["functions"]]
    assert rows == [("a", "a.ts", "fabric.yml:4:6"), ("b", "b.ts", "fabric.yml:5:6")]
    (resource,) = found.sections["resources"]
    assert (resource.name, str(resource.where)) == ("db", "fabric.yml:6:13")
    assert found.sections["addons"] == ()
    assert (found.provider, found.runtime) == ("cloud1-lambda", "nodejs20.x")
    assert (found.problems, found.limits, found.unset) == ((), (), ())


def test_unset_values_are_not_format_problems() -> None:
    found = overview(
        "service: shop\nprovider: {name: '${env:PROVIDER}', runtime: '${env:RUNTIME}'}\n"
        + ONE
        + "env: {A: '${secret:A}', B: '${param:B}'}\nbackend: {kind: '${env:KIND}'}\n"
    )
    assert [one.code for one in found.unset] == [
        "config/unset-variable",
        "config/unset-variable",
        "config/unset-secret",
        "config/unset-param",
        "config/unset-variable",
    ]
    assert all(one.frame for one in found.unset)
    assert found.problems == ()
    assert (found.provider, found.runtime, found.backend) == ("", "", "")


def test_set_values_are_read() -> None:
    text = "service: s\nprovider: {name: '${env:PROVIDER}', runtime: nodejs}\n" + ONE
    assert overview(text, PROVIDER="host1").provider == "host1"


def test_limits_are_separate_from_format_problems() -> None:
    text = HEAD + "functions: [{name: a, entry: a.ts, memory: 64}]\n"
    found = overview(text)
    assert (found.problems, [one.code for one in found.limits]) == ((), ["config/over-limit"])
    wrong = overview(text + "enw: {}\n")
    assert ([one.code for one in wrong.problems], wrong.limits) == (["config/unknown-key"], ())
    assert wrong.unset == ()


@pytest.mark.parametrize(("backend", "kind"), [("", "local"), ("backend: {kind: sql}\n", "sql")])
def test_backend_is_local_by_default(backend: str, kind: str) -> None:
    assert overview(HEAD + ONE + backend).backend == kind


@pytest.mark.parametrize("text", ["a: [", "- a"])
def test_file_that_cannot_be_parsed_is_an_error(text: str) -> None:
    with pytest.raises(FabricError):
        overview(text)
