"""Restoring an earlier deployment: orders to the provider, and the record afterwards."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.graph.decide import Action
from fabric.graph.judge import hash_declared_values
from fabric.graph.plan import Known
from fabric.model.ownership_tags import mark_of
from fabric.model.problems import FabricError
from fabric.model.records.endings import take_snapshot
from fabric.model.records.record import Mode, Record
from fabric.model.secrets.secrecy import REDACTED
from fabric.providers.core.contract import LiveFunction
from fabric.tasks.restore import RestoreKind, with_place
from tests.support.records import SHA256, function, record
from tests.tasks.deploys import (
    FAILED,
    Deploys,
    FakeDeployer,
    VersionedDeployer,
    known_values,
    removal,
    restore,
)
from tests.tasks.tools import HeldRecord, QuietTools

OLD = function(key="old", resource_id="3", settings=(("runtime", "python3.12"), ("memory", "128")))
NOW = record(mode=Mode.REAL, functions=(function(key="new"), function("other")))


@pytest.fixture
def deploys(tmp_path: Path) -> Deploys:
    archive = tmp_path / "a.zip"
    archive.write_bytes(b"1234")
    found = Deploys(HeldRecord(NOW), archive=archive)
    found.old = replace(take_snapshot(NOW), functions=(OLD,))
    found.known["hello"] = known_values()
    return found


def run(deploys: Deploys, *names: str, function: str = "") -> QuietTools:
    quiet = QuietTools()
    RestoreKind(deploys.tools()).run(restore(function, *names), {}, quiet)
    return quiet


def record_of(deploys: Deploys) -> Record:
    return deploys.held.record


def test_a_function_is_ordered_as_it_was(deploys: Deploys) -> None:
    run(deploys, "hello", function="hello")
    (order,) = deploys.provider.orders
    assert (order.artifact.sha256, order.artifact.size) == (SHA256, 4)
    assert order.artifact.runtime == "python3.12"
    assert order.version == "3"
    assert order.mark == mark_of("old", NOW.salt)
    assert not order.only_version


def test_no_placeholder_of_a_secret_in_a_trigger_is_ordered(deploys: Deploys) -> None:
    settings = (*OLD.settings, ("triggers", "h1"))
    old = replace(OLD, triggers=(f'{{"queue": "{REDACTED}"}}',), settings=settings)
    deploys.old = replace(take_snapshot(NOW), functions=(old,))
    with pytest.raises(FabricError) as raised:
        run(deploys, "hello", function="hello")
    assert (raised.value.first.code, deploys.provider.calls) == ("deploy/unknown-trigger", [])
    today = deploys.known["hello"]
    spec = ("hello", (("triggers", "h1"),), ())
    deploys.known["hello"] = replace(today, triggers=('{"queue": "hush"}',), spec=spec)
    run(deploys, "hello", function="hello")
    assert deploys.provider.orders[0].triggers == ('{"queue": "hush"}',)


def test_the_record_has_the_old_function_at_its_new_place(deploys: Deploys) -> None:
    run(deploys, "hello", function="hello")
    now = record_of(deploys).function("hello")
    assert now
    assert (now.key, now.resource_name, now.resource_id) == ("old", "new-hello", "9")
    assert record_of(deploys).function("other")


def test_a_whole_service_loses_functions_that_it_did_not_have(deploys: Deploys) -> None:
    run(deploys, "hello")
    assert [one.name for one in record_of(deploys).functions] == ["hello"]
    assert deploys.provider.calls == [("deploy", "hello"), ("release", "hello")]


def test_without_functions_only_the_service_is_released(deploys: Deploys) -> None:
    run(deploys)
    assert [one[0] for one in deploys.provider.calls] == ["release"]


def test_a_failed_call_leaves_the_function_uncertain(deploys: Deploys) -> None:
    deploys.provider = FakeDeployer(FAILED)
    with pytest.raises(FabricError):
        run(deploys, "hello", function="hello")
    assert {one.name: one.key for one in record_of(deploys).functions} == {
        "hello": "",
        "other": "k",
    }


def test_tags_that_changed_are_the_current_ones_and_this_is_reported(deploys: Deploys) -> None:
    deploys.known["hello"] = known_values(("tags", "today"))
    deploys.old = replace(
        take_snapshot(NOW), functions=(replace(OLD, settings=(("tags", "then"),)),)
    )
    quiet = run(deploys, "hello", function="hello")
    assert "hello gets its current tags" in quiet.said[0]
    now = record_of(deploys).function("hello")
    assert now
    assert now.settings == (("tags", "today"),)
    assert now.key not in ("old", "new")
    (order,) = deploys.provider.orders
    assert order.mark == mark_of(now.key, NOW.salt)
    assert order.mark_of_then == mark_of("old", NOW.salt)


def test_a_moved_upstream_gives_the_function_another_key(deploys: Deploys) -> None:
    auth = "release:auth@cloud1-lambda"
    deploys.old = replace(take_snapshot(NOW), functions=(replace(OLD, upstream=((auth, "then"),)),))
    deploys.outside = ((auth, "today"),)
    run(deploys, "hello", function="hello")
    now = record_of(deploys).function("hello")
    assert now
    assert now.upstream == ((auth, "today"),)
    assert now.key != "old"


def test_unknown_values_are_restored_from_the_version_of_the_provider(deploys: Deploys) -> None:
    lost = replace(OLD, environment=hash_declared_values((("A", "1"),), NOW.salt))
    deploys.old = replace(take_snapshot(NOW), functions=(lost,))
    deploys.provider = VersionedDeployer(versions={"hello": "7"})
    quiet = run(deploys, "hello", function="hello")
    (order,) = deploys.provider.orders
    assert (order.version, order.only_version, order.env.reveal()) == ("7", True, ())
    assert "restored to the version at the provider" in quiet.said[0]


@pytest.mark.parametrize(("key", "action"), [("new", Action.SKIP), ("old", Action.RUN)])
def test_an_unchanged_function_is_not_restored(deploys: Deploys, key: str, action: Action) -> None:
    deploys.old = replace(take_snapshot(NOW), functions=(function(key=key),))
    kind = RestoreKind(deploys.tools())
    decision = kind.judge(Known(restore("hello", "hello"), (), ()))
    assert decision.action is action


def test_an_address_comes_from_the_response_of_the_provider() -> None:
    live = LiveFunction("hello", "name", "5", "https://hello.example")
    placed = with_place(OLD, live)
    assert (placed.resource_name, placed.resource_id, placed.endpoint) == (
        "name",
        "5",
        "https://hello.example",
    )
    assert placed.key == OLD.key


def test_a_task_of_another_kind_is_an_error(deploys: Deploys) -> None:
    with pytest.raises(TypeError, match="is not a task of kind `restore`"):
        RestoreKind(deploys.tools()).claim(removal())
