"""Services with workflows at AWS, from the first deploy to the removal."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cloud1_shop import Shop
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
    states: dict[str, Any]
    before = ""

    def write(self) -> None:
        document = {"StartAt": next(iter(self.states)), "States": self.states}
        self.project.write({"double.py": _DOUBLE, "checkout.asl.json": json.dumps(document)})
        if self.states:
            self.tail = (
                f"workflows: [{{name: checkout, definition: checkout.asl.json{self.keys}}}]\n"
            )
        super().write()

    def invoke(self, payload: Any, *words: str) -> Done:
        self.project.write({"event.json": json.dumps(payload)})
        return self.run(
            "invoke", "run", "--workflow", "checkout", "--event", "event.json", *words
        )

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
