"""Event sources of adopted functions: moved, copied, or named with what remains to be done."""

import json
from typing import Any

import pytest

from tests.support.cloud1_shop import EVERY_HOUR, FROM_QUEUE, Shop
from tests.support.other_tool import OtherTool
from tests.support.until import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]


def parts(done: Any) -> dict[tuple[str, str, str], str]:
    """The reasons by action, kind and name."""
    assert done.code == 0, done.out + done.err
    return {
        (one["action"], one["kind"], one["name"]): one["reason"] for one in done.result["parts"]
    }


def test_sources_of_another_alias_are_left_for_the_user(shop: Shop, other: OtherTool) -> None:
    arn = other.deploys("hello", "old", Publish=True)
    other.functions.create_alias(FunctionName=arn, Name="prod", FunctionVersion="1")
    other.feeds(f"{arn}:prod")
    other.schedules(f"{arn}:prod")
    other.permits(
        f"{arn}:prod",
        "apigateway.amazonaws.com",
        f"arn:aws:execute-api:us-east-1:{shop.cloud1.account}:resty/*",
    )
    other.owns()
    shop.has("hello", "new", EVERY_HOUR, FROM_QUEUE)
    found = parts(shop.run("adopt"))
    assert "calls the alias `prod`" in found["manual", "event source", "queue `work`"]
    assert "calls the alias `prod`" in found["manual", "rule", "old-rule"]
    assert "stays at its version" in found["keep", "API", "resty"]
    assert other.source == f"{arn}:prod"


def test_a_rule_with_other_targets_is_left_for_the_user(shop: Shop, other: OtherTool) -> None:
    arn = other.deploys("hello", "old")
    other.schedules(arn)
    target = {"Id": "q", "Arn": f"arn:aws:sqs:us-east-1:{shop.cloud1.account}:work"}
    shop.cloud1.client("events").put_targets(Rule="old-rule", Targets=[target])
    other.owns()
    shop.has("hello", "new", EVERY_HOUR)
    assert "remove its target" in parts(shop.run("adopt"))["manual", "rule", "old-rule"]
    shop.ran("deploy")
    assert len(shop.cloud1.left()["rules"]) == 2


def test_changes_of_event_sources_are_announced(shop: Shop, other: OtherTool) -> None:
    arn = other.deploys("hello", "old")
    uuid = other.feeds(arn)
    other.schedules(arn)
    mapping = other.functions.get_event_source_mapping
    until(lambda: mapping(UUID=uuid)["State"] == "Enabled")
    other.functions.update_event_source_mapping(UUID=uuid, Enabled=False)
    until(lambda: mapping(UUID=uuid)["State"] == "Disabled")
    shop.cloud1.client("events").disable_rule(Name="old-rule")
    other.owns()
    shop.has("hello", "new", EVERY_HOUR, FROM_QUEUE)
    found = parts(shop.run("adopt", "--dry-run"))
    assert found["take", "event source", "queue `work`"].endswith("changes batchSize, enabled")
    assert found["take", "rule", "old-rule"].endswith("changes its input and its state")


def test_retries_and_destinations_apply_to_the_alias_too(shop: Shop, other: OtherTool) -> None:
    arn = other.deploys("hello", "old")
    other.schedules(arn)
    queue = f"arn:aws:sqs:us-east-1:{shop.cloud1.account}:dead"
    given = {
        "MaximumRetryAttempts": 0,
        "DestinationConfig": {"OnFailure": {"Destination": queue}},
    }
    other.functions.put_function_event_invoke_config(FunctionName=arn, **given)
    other.owns()
    shop.has("hello", "new", EVERY_HOUR)
    done = parts(shop.run("adopt"))
    assert ("take", "retries and destinations", "shop-dev-hello") in done

    def read(**which: str) -> dict[str, Any]:
        found = other.functions.get_function_event_invoke_config(FunctionName=arn, **which)
        return {key: found[key] for key in given}

    assert read(Qualifier="live") == given
    assert shop.run("adopt", "--release").code == 0
    missing = other.functions.exceptions.ResourceNotFoundException
    with pytest.raises(missing):
        read(Qualifier="live")
    assert read() == given

    assert shop.run("adopt").code == 0
    shop.ran("deploy")
    with pytest.raises(missing):  # the config has no `async`
        read(Qualifier="live")


def test_a_source_that_is_known_later_is_left_for_the_user(shop: Shop, other: OtherTool) -> None:
    arn = other.deploys("hello", "old")
    other.feeds(arn)
    other.owns()
    queue = "{Type: AWS::SQS::Queue, Properties: {QueueName: work}}"
    template = f"Resources: {{Q: {queue}}}\nOutputs: {{QueueArn: {{Value: !GetAtt Q.Arn}}}}\n"
    shop.project.write({"infra.yml": template})
    shop.has("hello", "new", "{type: queue, queue: '${stack:QueueArn}'}")
    stack = "{before: {template: infra.yml, name: shop-infra}}"
    shop.tail = f"extensions: {{cloud1-lambda: {{stack: {stack}}}}}\n"
    found = parts(shop.run("adopt"))
    assert "if the config has the same source" in found["manual", "event source", "queue `work`"]
    [row] = shop.run("state", "show").result["functions"]
    assert row["triggers"][1]["queue"] == "${stack:QueueArn}"
    assert "~ hello" in shop.project.fabric("plan", env=shop.env).out


def test_resources_that_the_old_stack_deletes_are_named(shop: Shop, other: OtherTool) -> None:
    other.deploys("hello", "old")
    other.owns()
    other.deploys("legacy", "old")
    hello = other.resources["HelloLambdaFunction"]
    other.resources["Table"] = {"Type": "AWS::DynamoDB::Table", "id": "orders"}
    other.resources["ServerlessDeploymentBucket"] = {"Type": "AWS::S3::Bucket", "id": "code"}
    other.owns(retained=False)
    kept = {**other.resources, "HelloLambdaFunction": {**hello, "DeletionPolicy": "Retain"}}
    shop.cloud1.has_stack("shop-dev", kept)
    found = parts(shop.run("adopt"))
    assert found["keep", "function", "shop-dev-legacy"] == (
        "is not in the config; stays in stack `shop-dev`, and is deleted with it"
    )
    assert found["keep", "table", "orders"] == "stays in stack `shop-dev`, and is deleted with it"
    assert ("keep", "bucket", "code") not in found


def test_a_domain_of_the_old_api_is_left_for_the_user(
    shop: Shop, other: OtherTool, certificate: str
) -> None:
    arn = other.deploys("hello", "old")
    other.serves(arn, "/hello")
    gateways, name = shop.cloud1.client("apigatewayv2"), "api.shop.example"
    where = {"CertificateArn": certificate, "EndpointType": "REGIONAL"}
    gateways.create_domain_name(DomainName=name, DomainNameConfigurations=[where])
    api = other.resources["HttpApi"]["id"]
    mapping = gateways.create_api_mapping(DomainName=name, ApiId=api, Stage="$default")
    other.owns()
    domain = f"{{domain: {{name: {name}, certificate: '{certificate}'}}}}"
    with_domain = f"extensions: {{cloud1-lambda: {{http: {domain}}}}}\n"
    shop.tail = with_domain
    assert "point its API mapping" in parts(shop.run("adopt"))["manual", "domain", name]

    # As the reason describes.
    shop.tail = ""
    shop.ran("deploy")
    [new] = [one["ApiId"] for one in gateways.get_apis()["Items"] if one["ApiId"] != api]
    gateways.update_api_mapping(
        DomainName=name, ApiId=new, Stage="$default", ApiMappingId=mapping["ApiMappingId"]
    )
    shop.tail = with_domain
    shop.ran("deploy")


def test_permissions_without_a_single_api_are_understood(shop: Shop, other: OtherTool) -> None:
    arn = other.deploys("hello", "old")
    place = f"us-east-1:{shop.cloud1.account}"
    other.permits(arn, "apigateway.amazonaws.com", f"arn:aws:execute-api:{place}:*/*/GET/hello")
    other.permits(arn, "iot.amazonaws.com", f"arn:aws:iot:{place}:rule/theirs")
    other.owns()
    assert ("keep", "APIs", "*") in parts(shop.run("adopt"))


def test_rules_of_other_buses_return_after_an_interruption(shop: Shop, other: OtherTool) -> None:
    arn = other.deploys("hello", "old")
    events = shop.cloud1.client("events")
    events.create_event_bus(Name="orders")
    where = {"EventBusName": "orders"}
    events.put_rule(Name="a-rule", EventPattern=json.dumps({"source": ["shop"]}), **where)
    events.put_targets(Rule="a-rule", Targets=[{"Id": "theirs", "Arn": arn}], **where)
    other.schedules(arn, name="z-rule")
    other.owns()
    pattern = "{type: eventbus, bus: orders, pattern: {source: [shop]}}"
    shop.has("hello", "new", EVERY_HOUR, pattern)
    shop.cloud1.fault("lambda.UpdateAlias", login="denied")
    shop.cloud1.fault("events.PutTargets", skip=1, login="denied")
    assert shop.run("adopt").error["code"] == "credentials/refused"
    targets = [
        *events.list_targets_by_rule(Rule="a-rule", **where)["Targets"],
        *events.list_targets_by_rule(Rule="z-rule")["Targets"],
    ]
    assert f"{arn}:live" in [one["Arn"] for one in targets]
    assert shop.run("adopt", "--release").code == 0
    [target] = events.list_targets_by_rule(Rule="a-rule", **where)["Targets"]
    assert target["Arn"] == arn
    assert other.functions.list_aliases(FunctionName=arn)["Aliases"] == []
