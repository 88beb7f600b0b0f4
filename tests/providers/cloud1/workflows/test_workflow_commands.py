"""Services with workflows at AWS, from the first deploy to the removal."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cloud1_shop import Shop
from tests.support.cloud1_site import make_queue
from tests.support.in_process import project
from tests.support.project import Done
from tests.support.servers.strict_cloud1.client import StrictCloud1

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

_CREATE, _UPDATE = "stepfunctions.CreateStateMachine", "stepfunctions.UpdateStateMachine"
_MOVE = "stepfunctions.UpdateStateMachineAlias"
_INVOKE = "${function:double.arn}"
_DOUBLE = """
def handler(event, context):
    if event.get("n") == 13:
        raise ValueError("unlucky")
    return {"n": event.get("n", 1) * 2}
"""


def task(**more: Any) -> dict[str, Any]:
    return {"Type": "Task", "Resource": _INVOKE, "End": True, **more}


class WorkflowShop(Shop):
    """A function, and a workflow that calls it."""

    keys = ""
    workflow = "checkout"
    states: dict[str, Any]
    # The template of the stack before the functions.
    before = ""
    boundary = ""

    def write(self) -> None:
        document = {"StartAt": next(iter(self.states), ""), "States": self.states}
        self.project.write({"double.py": _DOUBLE, "checkout.asl.json": json.dumps(document)})
        entry = f"{{name: {self.workflow}, definition: checkout.asl.json{self.keys}}}"
        self.tail = f"workflows: [{entry}]\n" if self.states else ""
        if self.before:
            stack = f"{{before: {{onRemove: delete, template: {self.before}}}}}"
            self.tail += f"extensions: {{cloud1-lambda: {{stack: {stack}}}}}\n"
        if self.boundary:
            self.tail += (
                f"extensions: {{cloud1-lambda: {{iam: {{boundary: '{self.boundary}'}}}}}}\n"
            )
        super().write()

    def invoke(self, payload: Any, *words: str) -> Done:
        self.project.write({"event.json": json.dumps(payload)})
        return self.run("invoke", "run", "--workflow", "checkout", "--event", "event.json", *words)

    def output(self, payload: Any) -> Any:
        done = self.invoke(payload)
        assert done.code == 0, done.out + done.err
        return done.result["output"]


@pytest.fixture
def shop(cloud1: StrictCloud1, tmp_path: Path) -> WorkflowShop:
    made = WorkflowShop(cloud1, project(tmp_path / "project", sources={}))
    made.functions["double"] = []
    made.states = {"Double": task()}
    return made


def test_a_workflow_calls_the_released_functions(shop: WorkflowShop) -> None:
    plan = shop.run("plan")
    [row] = plan.result["workflows"]
    assert (row["name"], row["change"]) == ("checkout", "create")
    shop.ran("deploy")
    assert shop.output({"n": 21}) == {"n": 42}
    [service] = shop.run("outputs").result["services"]
    arn = service["outputs"]["workflow_checkout"]
    assert arn.endswith(":stateMachine:shop-dev-checkout:live")
    assert shop.ran("deploy") == {}
    assert shop.run("plan").result["workflows"][0]["change"] == "none"

    failed = shop.invoke({"n": 13})
    assert failed.code == 1
    assert "ValueError" in failed.document["error"]["message"]
    started = shop.invoke({"n": 1}, "--no-wait").result
    assert ":execution:" in started["execution"]

    shop.ran("remove", "--yes")
    assert not shop.cloud1.left()


def test_only_a_changed_workflow_gets_a_version(shop: WorkflowShop) -> None:
    shop.ran("deploy")
    shop.functions["other"] = []
    shop.project.write({"other.py": _DOUBLE})
    calls = shop.ran("deploy")
    assert not any(name.startswith("stepfunctions.") for name in calls)

    shop.states = {"Double": task(End=False, Next="Again"), "Again": task()}
    del shop.states["Double"]["End"]
    plan = shop.run("plan")
    rows = {one["id"]: one for one in plan.result["tasks"]}
    assert rows["workflow:shop/checkout@cloud1-lambda"]["reason"].startswith(
        "setting definition changed"
    )
    assert rows["deploy:shop/double@cloud1-lambda"]["action"] == "skip"
    assert "definition" in plan.result["workflows"][0]["fields"]
    told = shop.run("explain", "workflow:shop/checkout@cloud1-lambda").result
    assert [one["name"] for one in told["changed"]] == ["definition"]
    calls = shop.ran("deploy")
    assert (calls[_UPDATE], calls[_MOVE]) == (1, 1)
    assert not any(name.startswith("lambda.") for name in calls)
    assert shop.output({"n": 1}) == {"n": 4}


def test_permissions_and_triggers_publish_no_version(shop: WorkflowShop) -> None:
    shop.ran("deploy")
    shop.keys = ', permissions: [{actions: "s3:GetObject", resources: "*"}]'
    calls = shop.ran("deploy")
    assert (_UPDATE in calls, _MOVE in calls, calls["iam.PutRolePolicy"]) == (False, False, 2)
    shop.keys += ", triggers: [{type: cron, schedule: rate(1 hour), input: {n: 4}}]"
    calls = shop.ran("deploy")
    assert (_UPDATE in calls, _MOVE in calls, calls["events.PutTargets"]) == (False, False, 1)
    [rule] = shop.cloud1.left()["rules"]
    shop.cloud1.fire_rule(rule.rpartition("/")[2])
    shop.keys = ""
    shop.ran("deploy")
    left = shop.cloud1.left()
    assert "rules" not in left
    assert left["role policies"] == ["shop-dev-checkout.workflow-role/fabric"]


def test_a_schedule_with_a_time_zone_uses_the_role_of_the_workflow(shop: WorkflowShop) -> None:
    shop.keys = (
        ", triggers: [{type: cron, schedule: '0 9 * * 1', timezone: Europe/Berlin},"
        " {type: eventbus, pattern: {source: [shop]}}]"
    )
    shop.ran("deploy")
    [schedule] = shop.cloud1.left()["schedules"]
    shop.cloud1.fire_schedule(schedule.rpartition("/")[2])
    shop.ran("remove", "--yes")
    assert not shop.cloud1.left()


def test_the_role_of_triggers_follows_a_changed_boundary(shop: WorkflowShop) -> None:
    def read_boundary() -> str:
        policies = shop.cloud1.left()["role policies"]
        [name] = [one.partition("/")[0] for one in policies if "workflow-events" in one]
        found = shop.cloud1.client("iam").get_role(RoleName=name)["Role"]
        return str(found.get("PermissionsBoundary", {}).get("PermissionsBoundaryArn", ""))

    shop.keys = ", triggers: [{type: eventbus, pattern: {source: [shop]}}]"
    for name in ("", "one", "two", ""):
        shop.boundary = f"arn:aws:iam::{shop.cloud1.account}:policy/{name}" if name else ""
        shop.ran("deploy")
        assert read_boundary() == shop.boundary
    assert shop.ran("deploy") == {}


def test_a_rollback_restores_the_version_the_permissions_and_the_triggers(
    shop: WorkflowShop,
) -> None:
    shop.keys = ", triggers: [{type: cron, schedule: rate(1 hour)}]"
    shop.ran("deploy")
    [rule] = shop.cloud1.left()["rules"]
    shop.states = {"Wait": {"Type": "Pass", "Result": {"n": 0}, "End": True}}
    shop.keys = ", permissions: [], triggers: [{type: cron, schedule: rate(2 hours)}]"
    shop.ran("deploy")
    assert shop.output({"n": 3}) == {"n": 0}
    calls = shop.ran("rollback")
    assert (_UPDATE in calls, calls[_MOVE]) == (False, 1)
    assert shop.output({"n": 3}) == {"n": 6}
    assert shop.cloud1.left()["rules"] == [rule]
    calls = shop.ran("deploy")
    assert _UPDATE not in calls
    assert shop.output({"n": 3}) == {"n": 0}


def test_a_rollback_to_a_renamed_workflow_is_refused_before_any_change(shop: WorkflowShop) -> None:
    shop.ran("deploy")
    shop.workflow = "checkout2"
    shop.project.write({"other.py": _DOUBLE})
    shop.functions["other"] = []
    shop.ran("deploy")
    shop.cloud1.reset()
    done = shop.run("rollback")
    assert done.error["code"] == "rollback/no-way-back"
    assert shop.cloud1.calls() == {}


def test_a_workflow_that_the_config_no_longer_contains_is_deleted(shop: WorkflowShop) -> None:
    shop.keys = ", triggers: [{type: cron, schedule: rate(1 hour)}]"
    shop.ran("deploy")
    states, shop.states = shop.states, {}
    plan = shop.run("plan")
    assert plan.result["workflows"][0]["change"] == "delete"
    shop.ran("deploy")
    assert {"machines", "rules", "role policies"}.isdisjoint(shop.cloud1.left())
    outputs = shop.run("outputs").result["services"][0]["outputs"]
    assert "workflow_checkout" not in outputs
    assert shop.ran("deploy") == {}
    assert shop.run("plan").result["summary"]["run"] == 0
    shop.states = states
    shop.ran("deploy")
    assert shop.output({"n": 2}) == {"n": 4}


@pytest.mark.parametrize("is_after", [False, True])
def test_a_deploy_that_failed_at_any_call_is_completed_by_the_next_one(
    shop: WorkflowShop, *, is_after: bool
) -> None:
    def fail(operation: str, *words: str) -> None:
        shop.cloud1.reset()
        refused = {"status": 400, "code": "ValidationException"}
        shop.cloud1.fault(operation, after=is_after, times=9, **refused)
        assert shop.run(*words).code != 0, operation

    shop.keys = ", triggers: [{type: cron, schedule: rate(1 hour)}]"
    for operation in (_CREATE, "stepfunctions.CreateStateMachineAlias", "events.PutTargets"):
        fail(operation, "deploy")
    shop.ran("deploy")
    assert shop.output({"n": 2}) == {"n": 4}
    shop.states = {"Double": task(Next="Again"), "Again": task()}
    del shop.states["Double"]["End"]
    shop.keys = ", triggers: [{type: cron, schedule: rate(2 hours)}]"
    for operation in (_UPDATE, _MOVE, "events.RemoveTargets"):
        fail(operation, "deploy")
    shop.ran("deploy")
    assert shop.output({"n": 2}) == {"n": 8}
    assert len(shop.cloud1.left()["rules"]) == 1
    assert shop.ran("deploy") == {}
    fail("stepfunctions.DeleteStateMachine", "remove", "--yes")
    shop.ran("remove", "--yes")
    assert not shop.cloud1.left()


def test_a_foreign_state_machine_is_not_changed(shop: WorkflowShop) -> None:
    shop.cloud1.client("stepfunctions").create_state_machine(
        name="shop-dev-checkout",
        definition=json.dumps({"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}),
        roleArn=_states_role(shop.cloud1),
    )
    done = shop.run("deploy")
    assert done.document["error"]["code"] == "deploy/foreign"
    shop.run("remove", "--yes")
    assert shop.cloud1.left() == {"machines": ["shop-dev-checkout"]}


def _states_role(cloud1: StrictCloud1) -> str:
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "states.amazonaws.com"},
        "Action": "sts:AssumeRole",
    }
    trust = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    made = cloud1.client("iam").create_role(RoleName="states", AssumeRolePolicyDocument=trust)
    return str(made["Role"]["Arn"])


def test_an_express_workflow_answers_and_has_logs(shop: WorkflowShop) -> None:
    shop.keys = ", type: express, logs: {level: ALL, retentionDays: 14}, tracing: active"
    shop.ran("deploy")
    assert shop.output({"n": 5}) == {"n": 10}

    def days() -> object:
        logs, prefix = shop.cloud1.client("logs"), "/aws/vendedlogs/states/"
        [group] = logs.describe_log_groups(logGroupNamePrefix=prefix)["logGroups"]
        return group.get("retentionInDays")

    assert days() == 14
    shop.keys = shop.keys.replace(", retentionDays: 14", "")
    assert _UPDATE not in shop.ran("deploy")
    assert days() is None
    shop.keys = ", type: standard"
    done = shop.run("plan")
    assert done.document["error"]["code"] == "config/unfit"
    assert "rename the workflow" in done.document["error"]["hint"]


def test_functions_know_the_arn_and_definitions_know_substitutions(shop: WorkflowShop) -> None:
    shop.project.write(
        {"ask.py": "import os\ndef handler(event, context):\n    return os.environ['FLOW']\n"}
    )
    shop.functions["ask"] = []
    shop.more = ', env: {FLOW: "${workflow:checkout.arn}"}'
    shop.states = {
        "Pick": {
            "Type": "Choice",
            "Choices": [{"Variable": "$.n", "NumericGreaterThan": 5, "Next": "Ask"}],
            "Default": "Each",
        },
        "Ask": {"Type": "Task", "Resource": "${function:ask.arn}", "End": True},
        "Each": {
            "Type": "Map",
            "ItemsPath": "$.items",
            "ItemProcessor": {"StartAt": "One", "States": {"One": task()}},
            "Next": "Both",
        },
        "Both": {
            "Type": "Parallel",
            "Branches": [
                {"StartAt": "Same", "States": {"Same": {"Type": "Pass", "End": True}}},
                {
                    "StartAt": "Note",
                    "States": {"Note": {"Type": "Pass", "Result": "${Note}", "End": True}},
                },
            ],
            "End": True,
        },
    }
    shop.keys = (
        ", substitutions: {Note: 'a \"note\"'}, permissions: [{actions: 'lambda:InvokeFunction',"
        " resources: '${function:ask.arn}'}]"
    )
    shop.ran("deploy")
    arn = shop.output({"n": 9})
    assert arn.endswith(":stateMachine:shop-dev-checkout:live")
    assert shop.output({"n": 1, "items": [{"n": 2}]}) == [[{"n": 4}], 'a "note"']


def test_the_stack_of_the_service_can_create_the_role(shop: WorkflowShop) -> None:
    shop.keys = ", role: '${stack:Role}'"

    def deploy(role: str) -> Done:
        resources = "{Q: {Type: 'AWS::SQS::Queue'}}"
        shop.before = f"{{Resources: {resources}, Outputs: {{Role: {{Value: '{role}'}}}}}}"
        return shop.run("deploy")

    refused = deploy("states")
    assert refused.document["error"]["code"] == "config/unfit"
    assert "`role` of the workflow `checkout` is `states`, not an ARN" in refused.err + refused.out
    done = deploy(_states_role(shop.cloud1))
    assert done.code == 0, done.out
    alias = done.result["deployments"][0]["outputs"]["workflow_checkout"]
    states = shop.cloud1.client("stepfunctions")
    machine = states.describe_state_machine(stateMachineArn=alias.removesuffix(":live"))
    assert machine["roleArn"].endswith(":role/states")
    shop.ran("remove", "--yes")
    assert not shop.cloud1.left()


def test_triggers_of_a_workflow_use_outputs_of_the_stack(shop: WorkflowShop) -> None:
    shop.keys = (
        ", triggers: [{type: cron, schedule: rate(1 hour), method: scheduler,"
        " deadLetter: '${stack:Dead}', input: {to: '${stack:Dead}'}}]"
    )

    def deploy(queue: str) -> Done:
        resources = "{Q: {Type: 'AWS::SQS::Queue'}}"
        shop.before = f"{{Resources: {resources}, Outputs: {{Dead: {{Value: '{queue}'}}}}}}"
        return shop.run("deploy")

    refused = deploy("dead").document["error"]
    assert (refused["code"], "`dead`" in refused["message"]) == ("config/unfit", True)
    assert "schedules" not in shop.cloud1.left()
    sqs = _states_role(shop.cloud1).replace(":iam:", f":sqs:{shop.region}").partition(":role")[0]
    queue, other = f"{sqs}:dead", f"{sqs}:other"
    for name in ("dead", "other"):
        make_queue(shop.cloud1, name)
    done = deploy(queue)
    assert done.code == 0, done.out + done.err
    target = _find_schedule(shop)["Target"]
    assert target["DeadLetterConfig"] == {"Arn": queue}
    assert json.loads(target["Input"]) == {"to": queue}
    assert shop.ran("deploy") == {}
    assert deploy(other).code == 0
    assert _UPDATE not in shop.cloud1.calls()
    assert _find_schedule(shop)["Target"]["DeadLetterConfig"] == {"Arn": other}


def _find_schedule(shop: WorkflowShop) -> Any:
    [name] = shop.cloud1.left()["schedules"]
    return shop.cloud1.client("scheduler").get_schedule(Name=name.rpartition("/")[2])


def test_a_simulated_deploy_records_workflows(shop: WorkflowShop) -> None:
    shop.write()
    done = shop.project.json("deploy")
    assert done.code == 0, done.out
    outputs = done.result["deployments"][0]["outputs"]
    assert outputs["workflow_checkout"].startswith("arn:aws:states:us-east-1:000000000000:")
    again = shop.project.json("deploy")
    assert again.result["summary"]["ran"] == 0
    run = shop.project.json("invoke", "run", "--workflow", "checkout", "--event", "event.json")
    assert run.code != 0
    shop.project.json("remove", "--yes")


def test_a_custom_deploy_command_deploys_no_workflows(shop: WorkflowShop) -> None:
    shop.write()
    own = {"FABRIC_CLOUD1_DEPLOY_CMD": "true", "CLOUD1_DEPLOY_CMD": "true"}
    done = shop.project.json("plan", "--strict", env={**shop.env, **own})
    assert done.document["error"]["code"] == "config/unfit"
