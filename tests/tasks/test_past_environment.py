"""The environment of an earlier deployment: known values, and why a restore is refused."""

import pytest

from fabric.graph.judge import hash_declared_values
from fabric.model.late_values import format_placeholder
from fabric.model.ownership_tags import mark_of
from fabric.model.problems import FabricError
from fabric.model.records.record import FunctionRecord, Mode, OpenedValues
from fabric.model.secrets.secret import Secret
from fabric.tasks.deploy_tools import Values
from fabric.tasks.past_environment import (
    PastEnvironment,
    PastFunction,
    find_versions_to_restore,
    has_kept_versions,
    list_past_environments,
)
from tests.support.records import function, record
from tests.tasks.deploys import REF, Deploys, FakeDeployer, VersionedDeployer, known_values
from tests.tasks.tools import HeldRecord

SALT = record().salt


def past(**env: str) -> FunctionRecord:
    hashes = hash_declared_values(tuple(sorted(env.items())), SALT)
    return function(environment=hashes, environment_sha256="e")


def environment(
    one: FunctionRecord, deploys: Deploys, *, takes_today: bool = False
) -> PastEnvironment:
    return PastEnvironment(deploys.tools(takes_today=takes_today), PastFunction(REF, one, SALT))


def opened(**values: str) -> OpenedValues:
    return OpenedValues(Secret(tuple(values.items())))


def with_values(values: Values, stored: OpenedValues | None = None) -> Deploys:
    deploys = Deploys(HeldRecord(record()), known={"hello": values})
    deploys.opened = stored or OpenedValues()
    return deploys


def test_unchanged_values_are_those_of_the_config() -> None:
    found = environment(past(A="1", B="2"), with_values(known_values(A="1", B="2", C="3")))
    assert found.problem is None
    assert found.build_environment().reveal() == (("A", "1"), ("B", "2"))
    assert found.build_record() == past(A="1", B="2")


def test_a_changed_value_is_taken_from_the_stored_values() -> None:
    one = function(environment=hash_declared_values((("A", "1"),), SALT), sealed_values="1.a.b")
    found = environment(one, with_values(known_values(A="2"), opened(A="1")))
    assert found.build_environment().reveal() == (("A", "1"),)


@pytest.mark.parametrize(
    ("values", "message", "hint"),
    [
        (
            known_values(A="2"),
            "`shop/hello`: the old deployment had other values for A; values were not stored",
            "set the old values, or add --with-current-environment",
        ),
        (
            known_values(C="3"),
            "`shop/hello`: the config no longer sets A; values were not stored",
            "set the old values, or add --with-current-environment",
        ),
        (
            Values(),
            "the config no longer contains `shop/hello`, so the values of A are not known",
            "add the function to the config again, with its old values",
        ),
    ],
)
def test_an_incomplete_environment_is_refused(values: Values, message: str, hint: str) -> None:
    found = environment(past(A="1"), with_values(values))
    assert found.problem
    assert found.problem.message == message
    assert found.problem.hint.startswith(hint)
    assert "encrypted values" in found.problem.hint
    with pytest.raises(FabricError):
        found.build_environment()


def test_values_that_cannot_be_opened_name_the_reason() -> None:
    one = function(environment=past(A="1").environment, sealed_values="1.a.b")
    stored = OpenedValues(why_not="the key is missing")
    found = environment(one, with_values(known_values(A="2"), stored))
    assert found.problem
    assert found.problem.message.endswith("; its values are stored, but the key is missing")
    assert "encrypted values" not in found.problem.hint


def test_current_values_can_replace_the_old_ones_under_another_key() -> None:
    deploys = with_values(known_values(A="2", B="2"))
    found = environment(past(A="1", B="2", C="3"), deploys, takes_today=True)
    assert found.problem is None
    assert found.build_environment().reveal() == (("A", "2"), ("B", "2"))
    assert found.left_out
    assert found.left_out.message.startswith("`shop/hello` is restored without C")
    now = found.build_record()
    assert now.key != past(A="1").key
    assert now.environment == hash_declared_values((("A", "2"), ("B", "2")), SALT)
    assert now.sealed_values == "sealed 2"


def test_current_values_win_over_stored_ones_if_they_are_requested() -> None:
    one = function(environment=past(A="1").environment, sealed_values="1.a.b")
    deploys = with_values(known_values(A="2"), opened(A="1"))
    found = environment(one, deploys, takes_today=True)
    assert found.build_environment().reveal() == (("A", "2"),)


def test_a_function_without_a_config_has_no_current_values() -> None:
    found = environment(past(A="1"), with_values(Values()), takes_today=True)
    assert found.problem


def test_addresses_of_upstreams_are_the_current_ones() -> None:
    deploys = with_values(known_values(URL=f"{format_placeholder('SERVICE_AUTH_URL')}/v1"))
    deploys.urls = {"SERVICE_AUTH_URL": "https://auth.example"}
    one = past(URL=f"{format_placeholder('SERVICE_AUTH_URL')}/v1")
    found = environment(one, deploys)
    assert found.build_environment().reveal() == (("URL", "https://auth.example/v1"),)


@pytest.mark.parametrize(
    ("mode", "provider", "expected"),
    [
        (Mode.REAL, VersionedDeployer(), True),
        (Mode.REAL, FakeDeployer(), False),
        (Mode.SIMULATED, VersionedDeployer(), False),
    ],
)
def test_only_real_deploys_of_some_providers_keep_versions(
    mode: Mode, provider: FakeDeployer, *, expected: bool
) -> None:
    deploys = Deploys(HeldRecord(record()), provider)
    assert has_kept_versions(deploys.tools(), record(mode=mode)) is expected


def test_versions_are_searched_only_for_functions_with_unknown_values() -> None:
    functions = (past(A="1"), function("world"))
    live = record(mode=Mode.REAL, functions=functions)
    provider = VersionedDeployer(versions={"hello": "7"})
    deploys = Deploys(HeldRecord(live), provider)
    assert find_versions_to_restore(deploys.tools(), live, functions) == {"hello": "7"}
    assert provider.marks == {"hello": mark_of("k", SALT)}
    left = list_past_environments(deploys.tools(), live, functions)
    assert [one.function for one in left] == ["world"]


def test_no_version_is_searched_if_all_values_are_known() -> None:
    live = record(mode=Mode.REAL)
    provider = VersionedDeployer(versions={"hello": "7"})
    deploys = Deploys(HeldRecord(live), provider)
    assert find_versions_to_restore(deploys.tools(), live, live.functions) == {}
    assert provider.marks == {}
