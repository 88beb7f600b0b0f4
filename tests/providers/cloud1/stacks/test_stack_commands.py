"""Services with CloudFormation stacks at AWS, from the first deploy to the removal."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cloud1_shop import Shop
from tests.support.in_process import project
from tests.support.project import Done
from tests.support.servers.strict_cloud1.client import StrictCloud1

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

_EXECUTE = "cloudformation.ExecuteChangeSet"
_VERSION = "lambda.PublishVersion"


class StackShop(Shop):
    """A function whose environment has an output of the stack before it."""

    before = ""
    after = ""
    settings = ""
    resources: dict[str, Any]

    @property
    def head(self) -> str:
        stacks = f"before: {{template: infra.yml, {self.before}}}{self.after}"
        extension = f"extensions: {{cloud1-lambda: {{stack: {{{stacks}}}{self.settings}}}}}\n"
        return super().head + extension

    def write(self) -> None:
        document = {
            "Resources": self.resources,
            "Outputs": {"Queue": {"Value": {"Ref": next(iter(self.resources))}}},
        }
        self.project.write({"infra.yml": json.dumps(document), "last.yml": json.dumps(document)})
        text = 'import os\ndef handler(event, context):\n    return {"statusCode": 200, '
        self.project.write({"hello.py": f'{text}"body": os.environ["QUEUE"]}}\n'})
        super().write()

    def failed(self, *words: str) -> Done:
        self.cloud1.reset()
        done = self.run(*words)
        assert done.code == 1, done.out + done.err
        return done

    @property
    def stacks(self) -> list[str]:
        return self.cloud1.left().get("stacks", [])


@pytest.fixture
def shop(cloud1: StrictCloud1, tmp_path: Path) -> StackShop:
    made = StackShop(cloud1, project(tmp_path / "project", sources={}))
    made.resources = {"Orders": {"Type": "AWS::SQS::Queue"}}
    made.more = ', env: {QUEUE: "${stack:Queue}"}'
    made.functions["hello"] = ["{type: http, path: /hello}"]
    return made


def test_a_function_gets_the_outputs_of_its_stack(shop: StackShop) -> None:
    plan = shop.run("plan")
    assert plan.result["stacks"][0]["resources"] == [
        {"id": "Orders", "type": "AWS::SQS::Queue", "action": "add"}
    ]
    shop.ran("deploy")
    assert shop.said("hello") == "shop-dev-Orders-1"
    assert shop.ran("deploy") == {}

    shop.resources["Topic"] = {"Type": "AWS::SNS::Topic"}
    calls = shop.ran("deploy")
    assert (calls[_EXECUTE], _VERSION in calls) == (1, False)
    assert shop.run("state", "show").result["stacks"][0]["name"] == "shop-dev"

    shop.ran("remove", "--yes")
    assert shop.stacks == ["shop-dev"]


def test_a_late_value_is_checked_with_all_functions(shop: StackShop) -> None:
    shop.has("auth", "one")
    shop.more = ', env: {QUEUE: "${stack:Queue}"}, tags: {queue: "${stack:Queue}"}'
    shop.settings = ", http: {authorizers: {staff: {type: request, function: auth}}}"
    shop.ran("deploy")
    assert shop.said("hello") == "shop-dev-Orders-1"


def test_simulated_outputs_fit_where_an_arn_is_required(shop: StackShop) -> None:
    late = '"${stack:Queue}"'
    shop.more = (
        f", env: {{QUEUE: {late}}}, role: {late}, kmsKey: {late}, async: {{onFailure: {late}}}"
    )
    shop.settings = f", iam: {{boundary: {late}}}"
    shop.write()
    done = shop.project.fabric("deploy", "--json")
    assert done.code == 0, done.out + done.err


def test_a_removal_names_the_kept_stack(shop: StackShop) -> None:
    shop.ran("deploy")
    done = shop.project.fabric("remove", "--yes", env=shop.env)
    assert "`shop-dev` of `shop` was kept" in done.err
    shop.ran("deploy")
    assert shop.said("hello") == "shop-dev-Orders-1"


def test_stacks_with_this_policy_are_deleted_around_the_functions(shop: StackShop) -> None:
    shop.before = "onRemove: delete"
    shop.after = ", after: {template: last.yml, onRemove: delete}"
    shop.ran("deploy")
    assert shop.stacks == ["shop-dev", "shop-dev-after"]
    shop.cloud1.reset()
    shop.ran("remove", "--yes")
    order = [name for name, _ in shop.cloud1.answers() if name.partition(".")[2].startswith("Del")]
    assert order[0] == order[-1] == "cloudformation.DeleteStack"
    assert "lambda.DeleteFunction" in order
    assert not shop.cloud1.left()


def test_a_failed_stack_stops_the_functions(shop: StackShop) -> None:
    shop.resources["Bad"] = {"Type": "AWS::SNS::Topic", "Metadata": {"Fails": "no quota"}}
    done = shop.failed("deploy")
    assert "no quota" in done.document["error"]["message"]
    assert shop.cloud1.left() == {}
    del shop.resources["Bad"]
    shop.ran("deploy")
    assert shop.said("hello") == "shop-dev-Orders-1"


def test_a_failed_stack_leaves_functions_without_its_outputs_up_to_date(shop: StackShop) -> None:
    def deploy(code: str) -> dict[str, tuple[str, str]]:
        shop.project.write({"plain.py": f"def handler(event, context):\n    return {code}\n"})
        document = shop.run("deploy").document
        [service] = document["result"]["deployments"]
        return {one["name"]: (one["status"], one["reason"]) for one in service["functions"]}

    shop.tail = "  - {name: plain, entry: plain.py}\n"
    assert deploy("1")["plain"][0] == "created"
    shop.resources = {"Other": {"Type": "AWS::SQS::Queue"}}
    ends = deploy("1")
    assert (ends["hello"][0], ends["plain"]) == ("blocked", ("unchanged", "up to date"))
    assert [status for status, _ in deploy("2").values()] == ["blocked", "blocked"]


def test_a_loss_of_data_is_refused_until_it_is_allowed(shop: StackShop) -> None:
    shop.ran("deploy")
    shop.resources = {"Other": {"Type": "AWS::SQS::Queue"}}
    [warning] = shop.run("plan").result["warnings"]
    lost = "stack `shop-dev` would lose data: `Orders` (AWS::SQS::Queue) is deleted"
    assert (warning["code"], warning["message"]) == ("stack/would-replace", lost)
    done = shop.failed("deploy")
    assert done.document["error"]["code"] == "stack/would-replace"
    assert _EXECUTE not in shop.cloud1.calls()
    shop.before = "allowReplace: [Orders]"
    codes = [one["code"] for one in shop.run("plan").result["warnings"]]
    assert codes == ["config/stack"]  # the resource is not in the template anymore
    shop.ran("deploy")
    assert shop.said("hello") == "shop-dev-Other-2"


def test_a_plan_names_the_resource_that_a_new_name_replaces(shop: StackShop) -> None:
    def rename(name: str) -> None:
        queue = {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": name}}
        shop.resources = {"Topic": {"Type": "AWS::SNS::Topic"}, "Orders": queue}
        shop.write()
        text = shop.project.root / "infra.yml"
        text.write_text(text.read_text().replace('"Orders": {', '\n"Orders": {'))

    rename("a")
    assert shop.project.fabric("deploy", env=shop.env).code == 0
    rename("b")
    plan = shop.project.fabric("plan", env=shop.env)
    assert "\n-/+ Orders  AWS::SQS::Queue (replaced)\n" in plan.out
    assert "infra.yml:2:1" in plan.err
    done = shop.project.fabric("deploy", env=shop.env)
    assert "`Orders` (AWS::SQS::Queue) is replaced" in done.err
    assert "infra.yml:2:1" in done.err


def test_the_last_stack_can_use_outputs_of_the_first(shop: StackShop) -> None:
    shop.after = ', after: {template: end.yml, parameters: {Queue: "${stack:Queue}"}}'
    end = {
        "Parameters": {"Queue": {"Type": "String"}},
        "Resources": {"Alarm": {"Type": "AWS::SNS::Topic"}},
        "Outputs": {"Seen": {"Value": {"Ref": "Queue"}}},
    }
    shop.project.write({"end.yml": json.dumps(end)})
    shop.ran("deploy")
    [_, last] = shop.run("state", "show").result["stacks"]
    assert last["outputs"] == [{"name": "Seen", "value": "shop-dev-Orders-1"}]
    assert shop.ran("deploy") == {}


def test_a_rollback_keeps_the_stack(shop: StackShop) -> None:
    shop.ran("deploy")
    shop.more = ', env: {QUEUE: "new ${stack:Queue}"}'
    shop.resources["Topic"] = {"Type": "AWS::SNS::Topic"}
    shop.ran("deploy")
    calls = shop.ran("rollback")
    assert _EXECUTE not in calls
    assert shop.said("hello") == "shop-dev-Orders-1"
    assert shop.ran("plan") == {}


def test_a_stack_that_the_config_no_longer_contains_is_kept_and_named(shop: StackShop) -> None:
    shop.ran("deploy")
    shop.more = ", env: {QUEUE: none}"
    shop.write()
    config = shop.project.root / "fabric.yml"
    lines = config.read_text().splitlines(keepends=True)
    config.write_text("".join(one for one in lines if not one.startswith("extensions")))
    done = shop.project.fabric("plan", env=shop.env)
    assert "the stack `shop-dev` of `shop` is no longer in the config" in done.err
    assert shop.stacks == ["shop-dev"]


def test_a_custom_deploy_command_deploys_no_stacks(shop: StackShop) -> None:
    shop.write()
    own = {"FABRIC_CLOUD1_DEPLOY_CMD": "true", "CLOUD1_DEPLOY_CMD": "true"}
    done = shop.project.json("plan", "--strict", env={**shop.env, **own})
    assert done.document["error"]["code"] == "config/unfit"


def _listed(shop: StackShop) -> list[str]:
    client = shop.cloud1.client("cloudformation")
    rows = client.list_stack_resources(StackName="shop-dev")["StackResourceSummaries"]
    return sorted(one["LogicalResourceId"] for one in rows)


def test_the_reason_names_what_changed_of_a_stack(shop: StackShop) -> None:
    shop.before = "tags: {team: one}"
    shop.ran("deploy")
    shop.before = "tags: {team: two}"
    [stack] = [one for one in shop.run("plan").result["tasks"] if one["kind"] == "stack"]
    assert stack["reason"] == "setting tags.team changed"
    shop.resources["Topic"] = {"Type": "AWS::SNS::Topic"}
    shop.write()
    done = shop.project.fabric("explain", "stack:shop/before@cloud1-lambda", env=shop.env)
    assert "template" in done.out + done.err


def test_a_removal_deletes_a_kept_stack_on_request(shop: StackShop) -> None:
    shop.ran("deploy")
    done = shop.project.fabric("remove", "--yes", "--with-stack", env=shop.env)
    assert "was kept" not in done.err
    assert shop.cloud1.left() == {}


def test_a_failed_deploy_returns_the_stack_that_it_changed(shop: StackShop) -> None:
    shop.ran("deploy")
    shop.resources["More"] = {"Type": "AWS::SQS::Queue"}
    shop.more = ', env: {QUEUE: "${stack:Queue} new"}'
    shop.cloud1.reset()
    shop.cloud1.fault("lambda.UpdateAlias", status=400, code="InvalidParameterValueException")
    done = shop.run("deploy", "--rollback-on-failure")
    assert done.code == 1, done.out + done.err
    assert shop.cloud1.calls()[_EXECUTE] == 2
    assert _listed(shop) == ["Orders"]
    shop.resources.pop("More")
    shop.more = ', env: {QUEUE: "${stack:Queue}"}'
    assert shop.ran("deploy") == {}
    assert shop.said("hello") == "shop-dev-Orders-1"


def test_a_rollback_restores_the_stack_on_request(shop: StackShop) -> None:
    names = {"Name": {"Type": "String"}, "Password": {"Type": "String"}}
    template = {
        "Parameters": names,
        "Resources": shop.resources,
        "Outputs": {"Queue": {"Value": {"Ref": "Name"}}},
    }

    def write(name: str) -> None:
        shop.before = f"parameters: {{Name: {name}, Password: pass-{name}}}"
        shop.write()
        shop.project.write({"infra.yml": json.dumps(template)})

    def ran(*words: str) -> Done:
        done = shop.project.json(*words, env=shop.env)
        assert done.code == 0, done.out + done.err
        return done

    for name in ("first", "second"):
        write(name)
        ran("deploy")
    assert shop.cloud1.calls()[_EXECUTE] == 2
    state = [*(shop.project.root / ".fabric").rglob("*.state.json")]
    assert state
    assert all("pass-" not in one.read_text() for one in state)
    ran("rollback", "--with-stack")
    client = shop.cloud1.client("cloudformation")
    [stack] = client.describe_stacks(StackName="shop-dev")["Stacks"]
    assert stack["Outputs"] == [{"OutputKey": "Queue", "OutputValue": "first"}]


def test_a_service_can_be_a_stack_without_functions(shop: StackShop) -> None:
    shop.before, shop.more = "onRemove: delete", ""
    shop.functions.clear()
    shop.ran("deploy")
    assert shop.stacks == ["shop-dev"]
    [row] = shop.run("outputs").result["services"]
    assert "stack.Queue" in row["outputs"]
    assert not shop.ran("deploy")
    shop.run("remove", "--yes")
    assert not shop.stacks
    calls = shop.project.json("invoke", "local")
    assert calls.document["error"]["code"] == "invoke/no-functions"
