"""Deleting functions and services: the calls, and what the record contains afterwards."""

import pytest

from fabric.graph.decide import Action
from fabric.graph.plan import Known
from fabric.model.problems import FabricError
from fabric.model.records.record import RELEASE_UNCERTAIN, Mode
from fabric.tasks.remove import RemoveKind
from tests.support.records import function, record
from tests.tasks.deploys import FAILED, Deploys, FakeDeployer, release, removal
from tests.tasks.tools import HeldRecord, QuietTools

TWO = record(mode=Mode.REAL, functions=(function(), function("world")), release_key="key")


def test_one_function_is_deleted_and_the_others_stay() -> None:
    deploys = Deploys(HeldRecord(TWO))
    RemoveKind(deploys.tools()).run(removal("hello"), {}, QuietTools())
    assert deploys.provider.calls == [("destroy", "hello")]
    assert [one.name for one in deploys.held.record.functions] == ["world"]
    assert deploys.held.record.release_key == "key"


def test_a_whole_service_is_deleted_with_its_own_resources() -> None:
    deploys = Deploys(HeldRecord(TWO))
    RemoveKind(deploys.tools()).run(removal(), {}, QuietTools())
    assert deploys.provider.calls == [("dissolve", "hello", "world")]
    left = deploys.held.record
    assert (left.functions, left.endpoint, left.outputs, left.release_key) == ((), "", (), "")


def test_the_provider_receives_the_state_before_the_call() -> None:
    deploys = Deploys(HeldRecord(TWO))
    RemoveKind(deploys.tools()).run(removal(), {}, QuietTools())
    assert deploys.provider.previous == TWO


@pytest.mark.parametrize(
    ("mode", "keys", "is_uncertain"),
    [
        (Mode.REAL, ["", "k"], True),
        (Mode.COMMAND, ["", "k"], False),
        (Mode.SIMULATED, ["k", "k"], False),
    ],
)
def test_a_failed_call_leaves_doubt_about_its_functions_only(
    mode: Mode, keys: list[str], *, is_uncertain: bool
) -> None:
    deploys = Deploys(HeldRecord(TWO), FakeDeployer(FAILED))
    with pytest.raises(FabricError):
        RemoveKind(deploys.tools()).run(removal("hello", mode), {}, QuietTools())
    left = deploys.held.record
    assert [one.key for one in left.functions] == keys
    assert (RELEASE_UNCERTAIN in left.kept) == is_uncertain


@pytest.mark.parametrize(
    ("name", "action"), [("hello", Action.RUN), ("", Action.RUN), ("other", Action.SKIP)]
)
def test_only_a_deployed_function_is_deleted(name: str, action: Action) -> None:
    kind = RemoveKind(Deploys(HeldRecord(TWO)).tools())
    assert kind.judge(Known(removal(name), (), ())).action is action


def test_a_claim_locks_the_record() -> None:
    deploys = Deploys(HeldRecord(TWO))
    RemoveKind(deploys.tools()).claim(removal())
    assert deploys.locked == 1


def test_a_task_of_another_kind_is_an_error() -> None:
    with pytest.raises(TypeError, match="is not a task of kind `remove`"):
        RemoveKind(Deploys(HeldRecord(TWO)).tools()).claim(release("hello"))
