"""Workflows as tasks: when a version is published, and what the record contains."""

from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

from fabric.config.values import StateMachine
from fabric.graph.decide import Action, Decision
from fabric.graph.plan import Known
from fabric.graph.workflows import describe_machine
from fabric.model.late_values import format_placeholder
from fabric.model.problems import FabricError
from fabric.model.records.endings import end_deployed, take_snapshot
from fabric.model.records.record import Mode, Record, WorkflowRecord
from fabric.model.records.record_json import decode, encode
from fabric.model.task import Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import WorkflowInputs
from fabric.providers.core.contract import (
    NO_CONTEXT,
    CallContext,
    DeployedWorkflow,
    DeploymentAddress,
    Unsupported,
    WorkflowDraft,
    WorkflowOrder,
)
from fabric.tasks.deploy_tools import WorkflowValues
from fabric.tasks.restore import RestoreKind
from fabric.tasks.workflow import WorkflowKind
from tests.support.records import record
from tests.tasks.deploys import FAILED, Deploys, FakeDeployer, restore
from tests.tasks.tools import HeldRecord, QuietTools

MACHINE = StateMachine(name="flow", definition='{"StartAt":"A"}')


@dataclass
class WorkflowProvider(FakeDeployer):
    asked: list[WorkflowOrder] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)

    def find_unfit_workflows(
        self, address: DeploymentAddress, workflows: list[WorkflowDraft]
    ) -> list[Unsupported]:
        return []

    def deploy_workflow(
        self, address: DeploymentAddress, order: WorkflowOrder, watch: CallContext = NO_CONTEXT
    ) -> DeployedWorkflow:
        self.asked.append(order)
        if self.error:
            raise self.error
        return DeployedWorkflow("arn:m", order.version or f"arn:m:{len(self.asked)}")

    def delete_workflow(
        self, address: DeploymentAddress, name: str, watch: CallContext = NO_CONTEXT
    ) -> None:
        self.deleted.append(name)


def build_task(machine: StateMachine = MACHINE, **changes: object) -> Task:
    inputs = WorkflowInputs(
        *("shop", machine.name, "cloud1-lambda", "dev", Mode.REAL),
        settings=describe_machine(machine),
    )
    return Task(TaskId("workflow:shop/flow@cloud1-lambda"), replace(inputs, **changes))


def shop(machine: StateMachine = MACHINE, *rows: WorkflowRecord) -> Deploys:
    held = HeldRecord(record(mode=Mode.REAL, workflows=rows))
    deploys = Deploys(held, WorkflowProvider())
    put(deploys, machine)
    return deploys


def put(deploys: Deploys, machine: StateMachine) -> Task:
    deploys.workflows["flow"] = WorkflowValues(
        machine, describe_machine(machine), machine.definition, machine.permissions, machine.role
    )
    return build_task(machine)


def provider(deploys: Deploys) -> WorkflowProvider:
    assert isinstance(deploys.provider, WorkflowProvider)
    return deploys.provider


def run(deploys: Deploys, task: Task) -> Record:
    WorkflowKind(deploys.tools()).run(task, {}, QuietTools())
    return deploys.held.record


def judged(deploys: Deploys, task: Task, *, force: bool = False) -> Decision:
    kind = WorkflowKind(deploys.tools(force=force))
    return kind.judge(Known(task, kind.code(task), ()))


def test_a_deployed_workflow_is_up_to_date_until_an_input_changes() -> None:
    deploys, task = shop(), build_task()
    assert judged(deploys, task).reason == "first deploy"
    run(deploys, task)
    assert judged(deploys, task).action is Action.SKIP
    assert judged(deploys, task, force=True).reason == "--force was given"
    changed = judged(deploys, build_task(replace(MACHINE, type="express")))
    assert changed.reason == "setting type changed"


def test_only_a_change_of_its_content_asks_for_a_version() -> None:
    deploys = shop()
    run(deploys, build_task())
    run(deploys, put(deploys, replace(MACHINE, permissions='["AdministratorAccess"]')))
    other = replace(MACHINE, definition='{"StartAt":"B"}')
    run(deploys, put(deploys, other))
    run(deploys, put(deploys, replace(other, logs='{"level":"ALL"}')))
    run(deploys, put(deploys, replace(other, logs='{"level":"ALL","retentionDays":14}')))
    first, second, third, fourth, last = provider(deploys).asked
    assert (first.version, second.version, third.version) == ("", "arn:m:1", "")
    assert (fourth.version, last.version) == ("", "arn:m:4")
    assert first.mark == second.mark != third.mark


def test_the_record_survives_the_form_on_disk_and_old_records_stay_as_they_are() -> None:
    held = run(shop(), build_task())
    held = replace(held, history=(take_snapshot(held),))
    assert decode(encode(held), "x") == held
    assert b"workflows" not in encode(record())


def test_a_role_that_the_stack_creates_belongs_to_the_version_and_not_to_the_record() -> None:
    machine = replace(MACHINE, role=format_placeholder("stack:Role"))
    deploys = shop(machine)
    values = deploys.workflows["flow"]
    for arn in ("arn:a", "arn:a", "arn:b"):
        deploys.workflows["flow"] = replace(values, role=arn)
        row = run(deploys, build_task(machine)).workflow("flow")
        assert row
        assert dict(row.settings)["role"] == "${stack:Role}"
    first, second, third = provider(deploys).asked
    assert [dict(one.settings)["role"] for one in (first, second, third)] == [
        *("arn:a", "arn:a", "arn:b")
    ]
    assert (bool(first.version), bool(second.version), bool(third.version)) == (False, True, False)


def test_permissions_with_outputs_of_the_stack_are_recorded_as_they_are() -> None:
    late = f'["{format_placeholder("stack:Policy")}"]'
    machine = replace(MACHINE, permissions=late)
    deploys = shop(machine)
    values = deploys.workflows["flow"]
    deploys.workflows["flow"] = replace(values, permissions='["arn:p"]')
    row = run(deploys, build_task(machine)).workflow("flow")
    assert row
    assert dict(row.settings)["permissions"] == '["${stack:Policy}"]'
    assert dict(row.settings)["resolved"] == '["arn:p"]'
    assert decode(encode(deploys.held.record), "x") == deploys.held.record
    assert judged(deploys, build_task(machine)).action is Action.SKIP


def test_a_value_that_no_record_can_contain_is_refused_before_the_first_change() -> None:
    deploys = shop(replace(MACHINE, permissions='["x"]'))
    values = deploys.workflows["flow"]
    late = (format_placeholder("function:api.arn"),)
    deploys.workflows["flow"] = replace(values, triggers=late)
    with pytest.raises(FabricError, match="not known yet"):
        run(deploys, build_task(values.machine))
    assert (provider(deploys).asked, deploys.held.record.workflows) == ([], ())


def test_a_failed_first_deploy_leaves_a_workflow_that_a_removal_finds() -> None:
    deploys = shop()
    deploys.provider.error = FAILED
    with pytest.raises(FabricError):
        run(deploys, build_task())
    assert deploys.held.record.workflows == (WorkflowRecord(name="flow"),)
    assert judged(deploys, build_task()).reason == "result of the last deploy unknown"


def test_a_workflow_is_deleted_once_with_its_release_state() -> None:
    deploys, task = shop(), build_task(is_removed=True)
    run(deploys, build_task())
    deploys.held.record = replace(deploys.held.record, kept=(("workflow/flow", "{}"),))
    assert judged(deploys, task).reason == "to be deleted"
    left = run(deploys, task)
    assert (left.workflows, left.kept) == ((), ())
    assert judged(deploys, task).action is Action.SKIP
    run(deploys, task)
    assert provider(deploys).deleted == ["flow"]


def test_a_config_that_was_edited_during_the_run_is_not_deployed() -> None:
    with pytest.raises(FabricError, match="was edited during the run"):
        run(shop(), build_task(settings=()))


def test_a_provider_without_workflows_is_refused() -> None:
    deploys = shop()
    deploys.provider = FakeDeployer()
    with pytest.raises(FabricError, match="only built-in deploys support"):
        run(deploys, build_task())


def test_a_rollback_releases_the_versions_of_then() -> None:
    deploys = shop()
    before = run(deploys, build_task())
    deploys.old = take_snapshot(before)
    run(deploys, put(deploys, replace(MACHINE, definition='{"StartAt":"B"}')))
    RestoreKind(deploys.tools()).run(restore(), {}, QuietTools())
    assert deploys.provider.previous
    assert deploys.provider.previous.workflows == before.workflows
    assert deploys.held.record.workflows == before.workflows


@pytest.mark.parametrize("is_recreated", [False, True])
def test_a_rollback_to_a_workflow_that_was_deleted_since_changes_nothing(
    *, is_recreated: bool
) -> None:
    deploys = shop()
    before = run(deploys, build_task())
    held = replace(before, history=(take_snapshot(before),))
    deploys.held.record = held
    gone = run(deploys, build_task(is_removed=True))
    ended = end_deployed(held, replace(gone, release_key="k2"), "second", "now")
    deploys.held.record, deploys.old = ended, ended.history[1]
    if is_recreated:
        run(deploys, build_task())
    with pytest.raises(FabricError, match="was deleted since"):
        RestoreKind(deploys.tools()).run(restore("one", "one"), {}, QuietTools())
    assert deploys.provider.calls == []
