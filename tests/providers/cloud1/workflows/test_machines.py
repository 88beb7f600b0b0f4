"""What the roles of a workflow allow, and their names."""

import json
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from fabric.providers.cloud1.core.policies import RolePolicies
from fabric.providers.cloud1.events.wires import ScheduleWire
from fabric.providers.cloud1.functions.roles import OwnRole
from fabric.providers.cloud1.workflows.machine_release import build_trigger_policies
from fabric.providers.cloud1.workflows.machines import Machine, build_machine_policies
from tests.support.orders import address
from tests.support.records import function, record

if TYPE_CHECKING:
    from fabric.providers.cloud1.core.versions import Cloud1Work

_HOME = "arn:aws:lambda:us-east-1:123456789012:function:shop-dev"
# Its place is recorded, so that no call is made.
_WORK = cast("Cloud1Work", None)
_ADDRESS = replace(
    address(), previous=record(functions=(function("api", resource_id=f"{_HOME}-api:1"),))
)
MACHINE = Machine(_WORK, _ADDRESS, "flow")


def allowed(policies: RolePolicies) -> dict[str, list[str]]:
    rows = (json.loads(one) for one in policies.statements)
    return {row["Action"][0]: row["Resource"] for row in rows}


def test_functions_and_workflows_that_a_definition_names_can_be_called() -> None:
    calls = "function:api.arn workflow:other.arn"
    found = allowed(build_machine_policies(MACHINE, {"calls": calls}))
    other = "arn:aws:states:us-east-1:123456789012:stateMachine:shop-dev-other"
    assert found["lambda:InvokeFunction"] == [f"{_HOME}-api:live"]
    assert found["states:StartExecution"] == [f"{other}:live", other]


def test_a_function_that_is_called_by_its_name_can_be_called_without_an_alias() -> None:
    found = allowed(build_machine_policies(MACHINE, {"calls": "function:api.name"}))
    assert found == {"lambda:InvokeFunction": [f"{_HOME}-api:live", f"{_HOME}-api"]}


def test_permissions_are_those_with_the_values_of_their_bindings() -> None:
    said = '[{"actions":["s3:GetObject"],"resources":["%s"]}]'
    settings = {"permissions": said % "${stack:Bucket}", "resolved": said % "arn:aws:s3:::b/*"}
    found = allowed(build_machine_policies(MACHINE, settings))
    assert found == {"s3:GetObject": ["arn:aws:s3:::b/*"]}


def test_schedules_can_start_the_workflow_and_send_failed_events_to_their_queue() -> None:
    queue = "arn:aws:sqs:us-east-1:123456789012:failed"
    wires = (ScheduleWire("a", options=json.dumps({"deadLetter": queue})), ScheduleWire("b"))
    found = allowed(build_trigger_policies(MACHINE, wires))
    assert found["sqs:SendMessage"] == [queue]
    assert found["states:StartExecution"] == [MACHINE.alias_arn, MACHINE.arn]


def test_no_function_has_the_role_of_a_workflow() -> None:
    assert MACHINE.role.name != OwnRole(_WORK, _ADDRESS, "flow-workflow").name
    assert "." in MACHINE.role.name
