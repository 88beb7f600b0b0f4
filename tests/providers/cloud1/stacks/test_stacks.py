"""CloudFormation stacks at AWS: created, updated, guarded, and cleaned up after failures."""

import json
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.model.secrets.secret import Secret
from fabric.providers.core.contract import (
    CallContext,
    DeployedStack,
    DeploymentAddress,
    StackOrder,
    StackRules,
)
from fabric.providers.core.retry import RetryPolicy
from tests.support.cloud1_site import Cloud1Site

pytestmark = pytest.mark.slow

_QUEUE = "AWS::SQS::Queue"
_CREATE, _EXECUTE = "cloudformation.CreateChangeSet", "cloudformation.ExecuteChangeSet"


def resource(kind: str = _QUEUE, fails: str = "", **properties: Any) -> Any:
    made: dict[str, Any] = {"Type": kind, "Properties": properties}
    return {**made, "Metadata": {"Fails": fails}} if fails else made


def template(outputs: Sequence[str] = (), **resources: Any) -> str:
    rows = {name: {"Value": {"Ref": name}} for name in outputs}
    return json.dumps({"Resources": resources, **({"Outputs": rows} if rows else {})})


def order(text: str, token: str = "1" * 64, **rules: Any) -> StackOrder:
    return StackOrder(name="shop-dev", template=text, token=token, rules=StackRules(**rules))


ADDRESS = DeploymentAddress("shop", "dev", "cloud1-lambda", "cloud1-lambda", "us-east-1")


class Stacks:
    def __init__(self, site: Cloud1Site) -> None:
        site.waiting = RetryPolicy(base=0.001, cap=0.001, most=10.0)
        self.site = site
        self.said: list[str] = []

    def deploy(self, asked: StackOrder) -> DeployedStack:
        return self.site.deployer.deploy_stack(ADDRESS, asked, CallContext(self.said.append))

    def delete(self) -> None:
        self.site.deployer.delete_stack(ADDRESS, "shop-dev")

    def problem(self, asked: StackOrder) -> Any:
        with pytest.raises(FabricError) as caught:
            self.deploy(asked)
        return caught.value.first

    @property
    def status(self) -> str:
        client = self.site.cloud1.client("cloudformation")
        return str(client.describe_stacks(StackName="shop-dev")["Stacks"][0]["StackStatus"])

    @property
    def left(self) -> list[str]:
        return self.site.cloud1.left().get("stacks", [])


@pytest.fixture
def stacks(site: Cloud1Site) -> Stacks:
    return Stacks(site)


def test_a_stack_is_created_with_its_outputs_and_reports_progress(stacks: Stacks) -> None:
    made = stacks.deploy(order(template(["Orders"], Orders=resource(), Topic=resource())))
    assert dict(made.outputs) == {"Orders": "shop-dev-Orders-1"}
    assert stacks.said == [
        "shop-dev: Orders (AWS::SQS::Queue) CREATE_COMPLETE",
        "shop-dev: Topic (AWS::SQS::Queue) CREATE_COMPLETE",
    ]


def test_a_change_set_without_changes_is_no_update(stacks: Stacks) -> None:
    text = template(["Orders"], Orders=resource())
    first = stacks.deploy(order(text))
    again = stacks.deploy(order(text, "2" * 64))
    assert first == again
    assert stacks.said[-1] == "stack shop-dev: unchanged"
    assert stacks.site.cloud1.calls()[_EXECUTE] == 1


@pytest.mark.parametrize("operation", [_CREATE, _EXECUTE])
def test_a_lost_response_begins_nothing_twice(stacks: Stacks, operation: str) -> None:
    stacks.site.cloud1.fault(operation, after=True)
    stacks.deploy(order(template(Orders=resource())))
    ended = [one for one in stacks.said if one.endswith("CREATE_COMPLETE")]
    assert len(ended) == 1


def test_a_failed_create_is_deleted_and_names_the_first_failed_resource(stacks: Stacks) -> None:
    failing = template(A=resource(), B=resource(fails="no quota"), C=resource())
    problem = stacks.problem(order(failing))
    assert (problem.code, stacks.left) == ("stack/failed", [])
    assert "`B` (AWS::SQS::Queue): no quota" in problem.message
    stacks.deploy(order(template(A=resource()), "2" * 64))
    assert stacks.status == "CREATE_COMPLETE"


def test_a_failed_update_is_rolled_back_and_can_be_repeated(stacks: Stacks) -> None:
    stacks.deploy(order(template(A=resource())))
    failing = template(A=resource(), B=resource(fails="no quota"))
    problem = stacks.problem(order(failing, "2" * 64))
    assert "UPDATE_ROLLBACK_COMPLETE" in problem.message
    assert "no quota" in problem.message
    stacks.deploy(order(template(A=resource(), B=resource()), "3" * 64))
    assert stacks.status == "UPDATE_COMPLETE"


def test_a_failed_rollback_names_the_command_that_continues_it(stacks: Stacks) -> None:
    stacks.deploy(order(template(A=resource())))
    stuck = resource(fails="no quota")
    stuck["Metadata"]["Sticks"] = "yes"
    problem = stacks.problem(order(template(A=resource(), B=stuck), "2" * 64))
    assert "continue-update-rollback --stack-name shop-dev" in problem.hint
    again = stacks.problem(order(template(A=resource()), "3" * 64))
    assert (again.code, "continue-update-rollback" in again.hint) == ("stack/stuck", True)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"Orders": resource(QueueName="b")}, "is replaced"),
        ({"Orders": resource(QueueName="a", KmsMasterKeyId="k")}, "can be replaced"),
        ({"Other": resource("AWS::SNS::Topic")}, "is deleted"),
    ],
)
def test_a_loss_of_data_is_refused_before_anything_changes(
    stacks: Stacks, changed: Any, words: str
) -> None:
    stacks.deploy(order(template(Orders=resource(QueueName="a"))))
    problem = stacks.problem(order(template(**changed), "2" * 64))
    assert problem.code == "stack/would-replace"
    assert f"`Orders` (AWS::SQS::Queue) {words}" in problem.message
    assert stacks.site.cloud1.calls()[_EXECUTE] == 1
    allowed = order(template(**changed), "2" * 64, allow_replace=frozenset({"Orders"}))
    stacks.deploy(allowed)
    assert stacks.status == "UPDATE_COMPLETE"


def test_resources_without_data_are_replaced_and_deleted(stacks: Stacks) -> None:
    topic = "AWS::SNS::Topic"
    stacks.deploy(order(template(A=resource(topic, QueueName="a"), B=resource(topic))))
    stacks.deploy(order(template(A=resource(topic, QueueName="b")), "2" * 64))
    assert stacks.status == "UPDATE_COMPLETE"


def test_a_stack_of_others_is_taken_over_only_on_request(stacks: Stacks) -> None:
    text = template(Orders=resource())
    stacks.deploy(order(text))
    other = replace(ADDRESS, service="other")
    with pytest.raises(FabricError) as caught:
        stacks.site.deployer.deploy_stack(other, order(text, adopt=True))
    assert caught.value.first.code == "deploy/foreign"


def test_an_unmanaged_stack_is_adopted_on_request(stacks: Stacks) -> None:
    text = template(Orders=resource())
    client = stacks.site.cloud1.client("cloudformation")
    asked = {"StackName": "shop-dev", "ChangeSetName": "own"}
    client.create_change_set(**asked, ChangeSetType="CREATE", ClientToken="t", TemplateBody=text)
    client.describe_change_set(**asked)
    client.execute_change_set(**asked)
    problem = stacks.problem(order(text))
    assert (problem.code, "adopt: true" in problem.hint) == ("deploy/foreign", True)
    stacks.deploy(order(text, adopt=True))
    tags = client.describe_stacks(StackName="shop-dev")["Stacks"][0]["Tags"]
    assert {"Key": "fabric:service", "Value": "shop"} in tags


def test_a_run_waits_for_the_operation_of_a_killed_one(stacks: Stacks) -> None:
    text = template(["A"], A=resource(), B=resource())
    stacks.site.cloud1.fault("cloudformation.DescribeStacks", skip=2, times=99, status=400)
    assert stacks.problem(order(text)).code == "provider/refused"
    stacks.site.cloud1.reset()
    made = stacks.deploy(order(text))
    assert dict(made.outputs) == {"A": "shop-dev-A-1"}
    assert "stack shop-dev: waiting for CREATE_IN_PROGRESS" in stacks.said
    assert _EXECUTE not in stacks.site.cloud1.calls()


def test_parameters_reach_the_template_and_wrong_ones_are_refused(stacks: Stacks) -> None:
    text = json.dumps(
        {
            "Parameters": {"Stage": {"Type": "String"}},
            "Resources": {"A": resource()},
            "Outputs": {"Stage": {"Value": {"Ref": "Stage"}}},
        }
    )
    assert "must have values" in stacks.problem(order(text)).message
    given = replace(order(text), parameters=Secret((("Stage", "dev"),)))
    assert dict(stacks.deploy(given).outputs) == {"Stage": "dev"}


def test_a_missing_capability_is_named(stacks: Stacks) -> None:
    text = template(Role=resource("AWS::IAM::Role"))
    assert "CAPABILITY_IAM" in stacks.problem(order(text)).message
    stacks.deploy(replace(order(text), capabilities=("CAPABILITY_IAM",)))


def test_termination_protection_follows_the_config(stacks: Stacks) -> None:
    text = template(A=resource())
    stacks.deploy(order(text, protect=True))
    with pytest.raises(FabricError, match="TerminationProtection"):
        stacks.delete()
    stacks.deploy(order(text))
    stacks.delete()
    assert stacks.left == []


def test_a_deletion_waits_and_names_what_could_not_be_deleted(stacks: Stacks) -> None:
    sticking = resource()
    sticking["Metadata"] = {"Sticks": "the bucket is not empty"}
    stacks.deploy(order(template(A=sticking)))
    with pytest.raises(FabricError, match="the bucket is not empty"):
        stacks.delete()


def test_a_missing_stack_counts_as_deleted(stacks: Stacks) -> None:
    stacks.delete()
    assert stacks.left == []


def create_bucket(stacks: Stacks) -> str:
    """Create a bucket for large templates. The server keeps it for other tests."""
    name = f"artifacts-{uuid4()}"
    stacks.site.cloud1.client("s3").create_bucket(Bucket=name)
    stacks.site.extension["artifactBucket"] = name
    return name


def large() -> str:
    """A template that a call cannot contain."""
    resources = {f"Q{number}": resource(Text="x" * 1000) for number in range(60)}
    return template(["Q0"], **resources)


def test_a_large_template_is_stored_only_while_aws_reads_it(stacks: Stacks) -> None:
    bucket = create_bucket(stacks)
    made = stacks.deploy(order(large()))
    assert dict(made.outputs) == {"Q0": "shop-dev-Q0-1"}
    found = stacks.site.cloud1.client("s3").list_objects_v2(Bucket=bucket)
    assert found["KeyCount"] == 0


def test_a_large_template_is_kept_apart_from_those_of_other_services(stacks: Stacks) -> None:
    bucket, text = create_bucket(stacks), large()
    stored = stacks.site.cloud1.client("s3")
    others = ("us-east-1/other/dev/shop-dev", "us-east-1/shop/prod/shop-dev")
    left = ("us-east-1/shop/dev/shop-dev", *others)
    for name in left:
        stored.put_object(Bucket=bucket, Key=f"fabric/stacks/{name}.template", Body=text)
    stacks.deploy(order(text))
    found = [one["Key"] for one in stored.list_objects_v2(Bucket=bucket)["Contents"]]
    assert found == [f"fabric/stacks/{one}.template" for one in others]


def test_a_large_template_without_a_bucket_is_refused_before_a_call(stacks: Stacks) -> None:
    problem = stacks.problem(order(large()))
    assert (problem.code, "artifactBucket" in problem.hint) == ("stack/too-large", True)
    assert _CREATE not in stacks.site.cloud1.calls()
    huge = template(Q=resource(Text="x" * (1 << 20)))
    assert "maximum is 1,048,576 bytes" in stacks.problem(order(huge)).hint


def test_express_mode_keeps_the_rollback_and_notifications_are_sent(stacks: Stacks) -> None:
    asked = order(template(A=resource()))
    stacks.deploy(replace(asked, is_express=True, notifications=("arn:aws:sns:us-east-1:1:t",)))
    assert stacks.status == "CREATE_COMPLETE"
    custom = template(A=resource(), B=resource("Custom::Thing"))
    problem = stacks.problem(replace(order(custom, "2" * 64), is_express=True))
    assert "EXPRESS" in problem.message or "Unrecognized" in problem.message


def imported(name: str = "orders") -> dict[str, Any]:
    return {**resource(QueueName=name), "DeletionPolicy": "Retain"}


def test_resources_are_imported_in_a_step_before_the_update(stacks: Stacks) -> None:
    text = template(["Orders", "Topic"], Orders=imported(), Topic=resource())
    asked = replace(order(text), imports='{"Orders": {"QueueName": "orders"}}')
    made = stacks.deploy(asked)
    assert dict(made.outputs) == {"Orders": "orders", "Topic": "shop-dev-Topic-2"}
    assert stacks.site.cloud1.calls()[_EXECUTE] == 2
    stacks.site.cloud1.reset()
    stacks.deploy(replace(asked, token="2" * 64))
    assert _EXECUTE not in stacks.site.cloud1.calls()


def test_a_resource_is_imported_into_a_deployed_stack(stacks: Stacks) -> None:
    stacks.deploy(order(template(["Topic"], Topic=resource())))
    text = template(["Orders", "Topic"], Orders=imported(), Topic=resource(Text="new"))
    asked = replace(order(text, "2" * 64), imports='{"Orders": {"QueueName": "orders"}}')
    stacks.site.cloud1.fault(_CREATE, skip=1, status=400)
    assert stacks.problem(asked).code == "provider/refused"
    assert stacks.status == "IMPORT_COMPLETE"
    stacks.site.cloud1.reset()
    assert dict(stacks.deploy(asked).outputs)["Orders"] == "orders"
    assert stacks.site.cloud1.calls()[_EXECUTE] == 1


def parametrized(name: str, **resources: Any) -> str:
    return json.dumps({"Parameters": {name: {"Type": "String"}}, "Resources": resources})


def test_an_import_keeps_the_parameters_and_tags_that_the_same_deploy_changes(
    stacks: Stacks,
) -> None:
    text = parametrized("Old", Topic=resource(Text={"Ref": "Old"}))
    stacks.deploy(replace(order(text), parameters=Secret((("Old", "a"),))))
    text = parametrized("New", Orders=imported(), Topic=resource(Text={"Ref": "New"}))
    asked = replace(order(text, "2" * 64), imports='{"Orders": {"QueueName": "orders"}}')
    stacks.deploy(replace(asked, parameters=Secret((("New", "b"),)), tags=(("team", "web"),)))
    [found] = stacks.site.cloud1.client("cloudformation").describe_stacks(StackName="shop-dev")[
        "Stacks"
    ]
    assert {"Key": "team", "Value": "web"} in found["Tags"]
