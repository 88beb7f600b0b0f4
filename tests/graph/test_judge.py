"""Decisions on tasks that change deployed resources: record against desired state."""

import pytest
from msgspec.structs import replace

from fabric.graph.decide import UP_TO_DATE, Action, Change, Decision
from fabric.graph.judge import (
    GONE,
    build_live_output,
    build_wanted,
    hash_declared_values,
    judge_deploy,
    judge_release,
    judge_remove,
    judge_restore,
    release_key,
    release_output,
)
from fabric.graph.plan import Known
from fabric.model.hashing import hash_fields
from fabric.model.records.record import (
    FunctionRecord,
    Intent,
    Lifecycle,
    Mode,
    Operation,
    Record,
)
from fabric.model.task import EntryKind, InputEntry, Pairs, Task, TaskInputs
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import DeployInputs, ReleaseInputs, RemoveInputs, RestoreInputs
from tests.support import records

PROVIDER = "cloud1-lambda"
CODE = (InputEntry(EntryKind.CODE, "deployer", "1"),)
ARCHIVE = (("package:shop/hello", "a" * 64),)
DEPLOY = TaskId(f"deploy:shop/hello@{PROVIDER}")


def declared(**env: str) -> Pairs:
    """Variables of a graph, which holds only hashes."""
    return tuple((name, hash_fields((value,))) for name, value in env.items())


def deploy(function: str = "hello", *specs: tuple[str, Pairs, Pairs]) -> DeployInputs:
    functions = specs or (("hello", (("memory", "128"),), declared(A="1")),)
    return DeployInputs("shop", function, PROVIDER, "dev", "real", (), functions)


def known(inputs: TaskInputs, upstream: Pairs | None = ARCHIVE, *needs: str) -> Known:
    task = Task(DEPLOY, inputs, tuple(TaskId(one) for one in needs))
    return Known(task, CODE, upstream, () if upstream is not None else ("package:shop/hello",))


def deployed(inputs: DeployInputs, **changes: object) -> Record:
    """The record after a deploy of these inputs."""
    made = records.record(mode=Mode.REAL)
    functions = []
    for spec in inputs.functions:
        wanted = build_wanted(inputs, spec, CODE, ARCHIVE)
        functions.append(
            FunctionRecord(
                wanted.name,
                wanted.key,
                "a" * 64,
                settings=wanted.settings,
                environment=wanted.environment(made.salt),
                upstream=wanted.upstream,
            )
        )
    return replace(made, functions=tuple(functions), **changes)


def reason(decision: Decision) -> tuple[Action, str]:
    return decision.action, decision.reason


def test_deploy_waits_for_its_archive() -> None:
    found = judge_deploy(known(deploy(), None), deploy(), None)
    assert reason(found) == (Action.WAIT, "known after package:shop/hello")
    assert found.key is None


@pytest.mark.parametrize("record", [None, records.record(functions=())])
def test_function_without_a_record_is_a_first_deploy(record: Record | None) -> None:
    assert reason(judge_deploy(known(deploy()), deploy(), record)) == (Action.RUN, "first deploy")


def test_function_deployed_with_the_same_inputs_is_up_to_date() -> None:
    record = deployed(deploy())
    found = judge_deploy(known(deploy()), deploy(), record)
    assert reason(found) == (Action.SKIP, UP_TO_DATE)
    assert found.output == build_live_output(record, ["hello"])
    assert found.key == record.functions[0].key


def test_changed_inputs_of_a_deploy_are_listed_without_values() -> None:
    wanted = deploy("hello", ("hello", (("memory", "256"),), declared(A="2", B="3")))
    found = judge_deploy(known(wanted), wanted, deployed(deploy()))
    assert reason(found) == (Action.RUN, "setting memory changed, and 2 other inputs")
    assert [(one.kind, one.name) for one in found.changes] == [
        (EntryKind.OPTION, "memory"),
        (EntryKind.ENV, "A"),
        (EntryKind.ENV, "B"),
    ]
    assert found.changes[0] == Change(EntryKind.OPTION, "memory", "128", "256")
    old = dict(hash_declared_values((("A", "1"),), "2" * 32))["A"]
    assert (found.changes[1].old, found.changes[2].old) == (old, "")


def test_changes_of_a_whole_service_name_the_function() -> None:
    both = (("hello", (("memory", "128"),), ()), ("bye", (("memory", "128"),), ()))
    wanted = deploy("", both[0], ("bye", (("memory", "256"),), ()))
    found = judge_deploy(known(wanted), wanted, deployed(deploy("", *both)))
    assert reason(found) == (Action.RUN, "setting bye.memory changed")


def with_secret(version: str, **env: str) -> DeployInputs:
    settings = (("memory", "128"), ("secret shop/db", version))
    return deploy("hello", ("hello", settings, declared(**env)))


def test_a_new_version_of_a_secret_is_a_reason_without_the_whole_id() -> None:
    wanted = with_secret("22222222-bbbb", A="pin 2")
    found = judge_deploy(known(wanted), wanted, deployed(with_secret("11111111-aaaa", A="pin 1")))
    expected = "new secret version 22222222 of shop/db, and 1 other input"
    assert reason(found) == (Action.RUN, expected)
    assert found.changes[0] == Change(EntryKind.OPTION, "secret shop/db", "11111111", "22222222")


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        (deploy(), with_secret("1", A="1"), "version 1 of secret shop/db not recorded yet"),
        (with_secret("1", A="1"), deploy(), "secret shop/db no longer used"),
    ],
)
def test_a_secret_without_a_version_before_or_now_is_a_reason(
    was: DeployInputs, now: DeployInputs, expected: str
) -> None:
    assert judge_deploy(known(now), now, deployed(was)).reason == expected


def test_a_function_with_recorded_versions_can_have_the_key_of_its_deploy() -> None:
    record = deployed(with_secret("1", A="1"))
    [was] = record.functions
    record = replace(record, functions=(replace(was, key="of an older deploy"),))
    same, other = with_secret("1", A="1"), with_secret("1", A="2")
    assert judge_deploy(known(same), same, record).action is Action.SKIP
    assert judge_deploy(known(other), other, record).action is Action.RUN


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (Operation.REMOVE, "result of the last removal of hello unknown"),
        (Operation.DEPLOY, "result of the last deploy of hello unknown"),
    ],
)
def test_function_whose_deployed_state_is_unknown_is_deployed_again(
    operation: Operation, expected: str
) -> None:
    half = records.function(key="other", settings=())
    pending = (Intent("deploy:shop/other", operation),)
    record = records.record(mode=Mode.REAL, functions=(half,), pending=pending)
    found = judge_deploy(known(deploy()), deploy(), record)
    assert (*reason(found), found.changes) == (Action.RUN, expected, ())


@pytest.mark.parametrize(
    ("mode", "action"), [(Mode.REAL, Action.RUN), (Mode.SIMULATED, Action.SKIP)]
)
def test_unfinished_call_is_made_again_except_by_a_simulated_provider(
    mode: Mode, action: Action
) -> None:
    record = deployed(deploy(), mode=mode, pending=(Intent(DEPLOY, Operation.DEPLOY),))
    found = judge_deploy(known(deploy()), deploy(), record)
    assert found.action is action
    assert (found.reason == "result of the last deploy unknown") == (action is Action.RUN)


def test_whole_service_is_deployed_if_a_function_left_the_config() -> None:
    wanted = deploy("", ("hello", (), ()))
    record = deployed(deploy("", ("hello", (), ()), ("old", (), ())))
    found = judge_deploy(known(wanted), wanted, record)
    assert reason(found) == (Action.RUN, "old removed from the config")
    others = replace(wanted, others=("old",))
    assert judge_deploy(known(others), others, record).action is Action.SKIP
    single = deploy("hello", ("hello", (), ()))
    assert judge_deploy(known(single), single, deployed(single)).action is Action.SKIP


def test_archives_of_other_functions_do_not_change_the_key() -> None:
    spec = deploy().functions[0]
    more = (*ARCHIVE, ("package:shop/bye", "b" * 64))
    address = (*ARCHIVE, (f"release:cart@{PROVIDER}", "c" * 64))
    keys = [build_wanted(deploy(), spec, CODE, one).key for one in (ARCHIVE, more, address)]
    assert keys[0] == keys[1]
    assert keys[0] != keys[2]


RELEASE = ReleaseInputs("shop", PROVIDER, "dev", "real", (), ("hello",))


def released(**changes: object) -> Record:
    record = records.record(mode=Mode.REAL)
    key = release_key(known(RELEASE, ()), RELEASE, record)
    return replace(record, release_key=key, **changes)


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (None, (Action.RUN, "first release")),
        (records.record(history=()), (Action.RUN, "first release")),
        (released(), (Action.SKIP, UP_TO_DATE)),
        (
            released(lifecycle=Lifecycle.FAILED),
            (Action.RUN, "last deployment ended as failed"),
        ),
        (
            released(pending=(Intent(DEPLOY, Operation.RELEASE),)),
            (Action.RUN, "functions or settings changed"),
        ),
        (
            released(functions=(records.function(key="new"),)),
            (Action.RUN, "functions or settings changed"),
        ),
    ],
    ids=["no record", "not released", "same", "failed", "unfinished", "new function"],
)
def test_release_runs_unless_the_same_functions_are_released(
    record: Record | None, expected: tuple[Action, str]
) -> None:
    assert reason(judge_release(known(RELEASE, ()), RELEASE, record)) == expected


def test_release_waits_for_its_deploys() -> None:
    assert judge_release(known(RELEASE, None), RELEASE, released()).action is Action.WAIT


def test_release_output_holds_addresses_and_no_ids() -> None:
    one = released()
    again = replace(one, deployment_id="other", updated_at="later", serial=99)
    assert release_output(one) == release_output(again)
    assert release_output(one).fact("endpoint") == "https://shop.example"
    assert release_output(replace(one, endpoint="https://new")) != release_output(one)


def remove(function: str) -> RemoveInputs:
    return RemoveInputs("shop", function, PROVIDER, "dev", Mode.REAL)


@pytest.mark.parametrize(
    ("function", "record"), [("", None), ("hello", None), ("other", records.record())]
)
def test_removal_of_a_missing_resource_is_skipped(function: str, record: Record | None) -> None:
    found = judge_remove(known(remove(function)), remove(function), record)
    assert (*reason(found), found.output) == (Action.SKIP, "not there", GONE)


@pytest.mark.parametrize("function", ["", "hello"])
def test_removal_of_a_deployed_resource_runs(function: str) -> None:
    inputs = remove(function)
    waiting = judge_remove(known(inputs, None), inputs, records.record())
    assert waiting.action is Action.WAIT
    asked = judge_remove(known(inputs, ()), inputs, records.record())
    assert reason(asked) == (Action.RUN, "to be removed")
    after = judge_remove(known(inputs, (), f"release:shop@{PROVIDER}"), inputs, records.record())
    assert reason(after) == (Action.RUN, "removed from the config")


def test_restore_runs_for_each_function_that_differs() -> None:
    record = records.record()
    (target,) = record.history
    inputs = RestoreInputs(
        "shop", "hello", PROVIDER, "dev", Mode.REAL, target.deployment_id, ("hello",)
    )
    waiting = judge_restore(known(inputs, None), inputs, record, target)
    assert waiting.action is Action.WAIT
    same = judge_restore(known(inputs), inputs, record, target)
    assert (*reason(same), same.output) == (Action.SKIP, "unchanged", GONE)
    newer = replace(record, functions=(records.function(key="new"),))
    differs = judge_restore(known(inputs), inputs, newer, target)
    assert reason(differs) == (Action.RUN, f"restored from {target.deployment_id}")
    whole = replace(inputs, function="", functions=())
    assert judge_restore(known(whole), whole, record, target).action is Action.RUN
