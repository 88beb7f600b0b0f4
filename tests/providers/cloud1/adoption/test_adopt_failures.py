"""Adoptions that fail halfway, run at the same time, or lack permissions."""

import json

import pytest

from tests.support.cloud1_shop import EVERY_HOUR, FROM_QUEUE, Shop
from tests.support.cloud1_site import changing
from tests.support.other_tool import OtherTool

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]


@pytest.fixture
def arn(shop: Shop, other: OtherTool) -> str:
    """The ARN of a function with an API, a queue and a schedule."""
    made = other.deploys("hello", "old")
    other.feeds(made)
    other.schedules(made)
    other.serves(made, "/hello")
    other.owns()
    shop.has("hello", "new", EVERY_HOUR, FROM_QUEUE)
    return made


@pytest.mark.parametrize(
    "call",
    [
        *("lambda.TagResource", "lambda.PublishVersion", "lambda.CreateAlias"),
        *("lambda.AddPermission", "lambda.UpdateEventSourceMapping"),
        *("events.PutTargets", "apigatewayv2.UpdateIntegration"),
    ],
)
def test_a_refused_call_is_undone_and_repeated(
    shop: Shop, other: OtherTool, arn: str, call: str
) -> None:
    shop.cloud1.fault(call, login="denied")
    done = shop.run("adopt")
    assert (done.code, done.error["code"]) == (77, "credentials/refused")
    assert call.partition(".")[2] in done.error["message"]
    assert shop.cloud1.http_get(other.url).text == "old"

    assert shop.run("adopt", "--release").code == 0
    assert other.functions.list_aliases(FunctionName=arn)["Aliases"] == []
    assert other.source == arn
    [target] = shop.cloud1.client("events").list_targets_by_rule(Rule="old-rule")["Targets"]
    assert target["Arn"] == arn
    assert "fabric:function" not in other.describe("hello")["Tags"]
    assert shop.run("state", "list").result["records"] == []
    assert shop.cloud1.http_get(other.url).text == "old"

    assert shop.run("adopt").code == 0
    shop.ran("deploy")
    assert shop.cloud1.http_get(other.url).text == "new"


def test_a_failed_adoption_must_end_before_a_deploy(shop: Shop, other: OtherTool, arn: str) -> None:
    shop.cloud1.fault("lambda.UpdateEventSourceMapping", login="denied")
    done = shop.run("adopt")
    refused, unfinished = done.error["problems"]
    assert (done.code, refused["code"]) == (77, "credentials/refused")
    assert unfinished["code"] == "adopt/unfinished"
    shop.cloud1.reset()
    for words in (["plan"], ["deploy"], ["rollback"]):
        error = shop.run(*words).error
        assert error["code"] == "adopt/unfinished"
        assert "`hello`" in error["message"]
        assert "fabric adopt --release" in error["hint"]
    assert changing(shop.cloud1) == {}
    assert other.source == arn

    assert shop.run("adopt").code == 0
    shop.ran("deploy")
    [mapping] = other.functions.list_event_source_mappings()["EventSourceMappings"]
    assert mapping["FunctionArn"] == f"{arn}:live"
    assert shop.cloud1.http_get(other.url).text == "new"


def test_a_failed_adoption_can_be_removed(shop: Shop, arn: str) -> None:
    shop.cloud1.fault("lambda.UpdateEventSourceMapping", login="denied")
    assert shop.run("adopt").code == 77
    assert shop.run("remove", "--yes").code == 0
    assert shop.run("state", "list").result["records"] == []
    del arn


def test_a_second_adoption_at_the_same_time_is_rejected(
    shop: Shop, other: OtherTool, arn: str
) -> None:
    shop.cloud1.throttle(per_second=20)
    both = [shop.start("adopt", "--json", "--lock-timeout", "60s") for _ in range(2)]
    documents = [json.loads(one.communicate()[0]) for one in both]
    shop.cloud1.reset()
    assert sorted(one["ok"] for one in documents) == [False, True]
    [rejected] = [one["error"]["code"] for one in documents if not one["ok"]]
    assert rejected in ("adopt/moved", "deploy/foreign")
    versions = other.functions.list_versions_by_function(FunctionName=arn)["Versions"]
    assert [one["Version"] for one in versions] == ["$LATEST", "1"]
    assert shop.run("state", "show").result["lifecycle"] == "deployed"


def test_a_second_undo_finds_nothing(shop: Shop, arn: str) -> None:
    for _ in range(2):
        assert shop.run("adopt").code == 0
        assert shop.run("adopt", "--release").code == 0
    assert shop.run("adopt", "--release").error["code"] == "adopt/not-adopted"
    del arn


def test_tags_must_be_readable(shop: Shop, other: OtherTool) -> None:
    other.deploys("hello", "old")
    other.owns(retained=False)
    shop.cloud1.reset()
    shop.cloud1.fault("lambda.ListTags", login="denied")
    done = shop.run("adopt")
    assert (done.code, done.error["code"]) == (77, "credentials/refused")
    assert "lambda:ListTags" in done.error["hint"]
    assert changing(shop.cloud1) == {}


def test_functions_of_several_stacks_are_checked(shop: Shop, other: OtherTool) -> None:
    other.deploys("hello", "old")
    other.owns()
    other.resources = {}
    other.deploys("bye", "old")
    shop.has("bye", "new")
    shop.cloud1.has_stack("shop-two", other.resources)
    shop.cloud1.reset()
    done = shop.run("adopt")
    assert done.error["code"] == "adopt/not-retained"
    assert "`shop-two/ByeLambdaFunction`" in done.error["message"]
    assert done.document["result"]["stacks"] == ["shop-dev", "shop-two"]
    assert changing(shop.cloud1) == {}


def test_layers_of_a_function_must_be_retained(shop: Shop, other: OtherTool) -> None:
    layer = other.publishes_layer("shared")
    other.deploys("hello", "old", Layers=[layer])
    other.owns()
    kept = {**other.resources, "Shared": {"Type": "AWS::Lambda::LayerVersion", "id": layer}}
    retained = {name: {**one, "DeletionPolicy": "Retain"} for name, one in kept.items()}
    shop.cloud1.has_stack("shop-dev", {**retained, "Shared": kept["Shared"]})
    assert "`shop-dev/Shared`" in shop.run("adopt").error["message"]


def test_an_own_name_is_adopted(shop: Shop, other: OtherTool) -> None:
    other.deploys("hello", "old")
    other.owns()
    shop.functions.clear()
    shop.has("greet", "new")
    shop.more = ", functionName: shop-dev-hello"
    assert shop.run("adopt").code == 0
    shop.ran("deploy")
    assert shop.said("greet") == "new"
