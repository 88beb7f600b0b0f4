"""Queues, buckets, rules and schedules: what they refuse, and what they bring to functions."""

import json
from typing import Any

import pytest

from tests.servers.strict_cloud1.refused import refused
from tests.support.function_archive import archive
from tests.support.servers.strict_cloud1.client import StrictCloud1
from tests.support.servers.strict_cloud1.samples import live, role_of
from tests.support.until import until

pytestmark = pytest.mark.slow

# Keeps what it is given in its log; fails the messages that say so.
RECORDING = """export const handler = async (event) => {
    console.log("given " + JSON.stringify(event));
    const failed = (event.Records ?? []).filter((one) => one.body === "bad");
    return { batchItemFailures: failed.map((one) => ({ itemIdentifier: one.messageId })) };
}"""


def recording(cloud1: StrictCloud1, **changed: Any) -> str:
    return live(cloud1, Code={"ZipFile": archive(index_mjs=RECORDING)}, **changed)


def given(cloud1: StrictCloud1) -> list[Any]:
    logs = cloud1.client("logs")
    try:
        found = logs.filter_log_events(logGroupName="/aws/lambda/hello")["events"]
    except logs.exceptions.ResourceNotFoundException:
        return []
    said = [one["message"] for one in found if one["message"].startswith("given ")]
    return [json.loads(one.removeprefix("given ")) for one in said]


def queue(cloud1: StrictCloud1, visibility: int = 30) -> tuple[str, str]:
    """Its address and its ARN."""
    client = cloud1.client("sqs")
    made = client.create_queue(QueueName="work", Attributes={"VisibilityTimeout": str(visibility)})
    asked = {"QueueUrl": made["QueueUrl"], "AttributeNames": ["QueueArn"]}
    return made["QueueUrl"], client.get_queue_attributes(**asked)["Attributes"]["QueueArn"]


def permit(cloud1: StrictCloud1, principal: str, source: str) -> None:
    cloud1.client("lambda").add_permission(
        FunctionName="hello",
        Qualifier="live",
        StatementId="source",
        Action="lambda:InvokeFunction",
        Principal=principal,
        SourceArn=source,
    )


def test_queue_invokes_the_function_and_retains_failed_messages(cloud1: StrictCloud1) -> None:
    arn = recording(cloud1)
    url, source = queue(cloud1)
    cloud1.client("lambda").create_event_source_mapping(
        FunctionName=arn,
        EventSourceArn=source,
        FunctionResponseTypes=["ReportBatchItemFailures"],
    )
    entries = [{"Id": one, "MessageBody": one} for one in ("good", "bad")]
    cloud1.client("sqs").send_message_batch(QueueUrl=url, Entries=entries)
    until(lambda: {r["body"] for e in given(cloud1) for r in e["Records"]} == {"good", "bad"})

    def left() -> tuple[str, str]:
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        asked = {"QueueUrl": url, "AttributeNames": names}
        found = cloud1.client("sqs").get_queue_attributes(**asked)["Attributes"]
        return found[names[0]], found[names[1]]

    until(lambda: left() == ("0", "1"))


def test_a_mapping_that_is_there_is_a_conflict_that_names_it(cloud1: StrictCloud1) -> None:
    arn = recording(cloud1)
    _, source = queue(cloud1)
    client = cloud1.client("lambda")
    asked = {"FunctionName": arn, "EventSourceArn": source}
    ident = client.create_event_source_mapping(**asked)["UUID"]
    with refused("ResourceConflictException", ident):
        client.create_event_source_mapping(**asked)


@pytest.mark.parametrize(
    ("visibility", "changed", "words"),
    [
        (2, {}, "Queue visibility timeout: 2 seconds is less than Function timeout: 3 seconds"),
        (30, {"BatchSize": 11}, "Maximum batch window in seconds must be greater than 0"),
    ],
    ids=["visibility", "batch"],
)
def test_a_mapping_that_would_not_work_is_refused(
    cloud1: StrictCloud1, visibility: int, changed: dict[str, Any], words: str
) -> None:
    arn = recording(cloud1)
    _, source = queue(cloud1, visibility)
    with refused("InvalidParameterValueException", words):
        cloud1.client("lambda").create_event_source_mapping(
            FunctionName=arn, EventSourceArn=source, **changed
        )


def test_a_mapping_of_no_queue_is_refused(cloud1: StrictCloud1) -> None:
    arn = recording(cloud1)
    source = f"arn:aws:sqs:{cloud1.region}:{cloud1.account}:none"
    with refused("InvalidParameterValueException", "NonExistentQueue"):
        cloud1.client("lambda").create_event_source_mapping(FunctionName=arn, EventSourceArn=source)


def test_a_mapping_is_in_use_until_it_was_looked_at_often_enough(cloud1: StrictCloud1) -> None:
    arn = recording(cloud1)
    _, source = queue(cloud1)
    client = cloud1.client("lambda")
    made = client.create_event_source_mapping(FunctionName=arn, EventSourceArn=source)
    ident = made["UUID"]
    states = [client.get_event_source_mapping(UUID=ident)["State"] for _ in range(2)]
    assert [made["State"], *states] == ["Creating", "Creating", "Enabled"]
    client.update_event_source_mapping(UUID=ident, BatchSize=5)
    with refused("ResourceInUseException", "because it is in use"):
        client.delete_event_source_mapping(UUID=ident)
    assert client.get_event_source_mapping(UUID=ident)["BatchSize"] == 5


def test_a_mapping_outlives_its_function(cloud1: StrictCloud1) -> None:
    arn = recording(cloud1)
    _, source = queue(cloud1)
    client = cloud1.client("lambda")
    cloud1.changes_take(0)
    made = client.create_event_source_mapping(FunctionName=arn, EventSourceArn=source)
    client.delete_function(FunctionName="hello")
    assert cloud1.left() == {"mappings": [f"{source} {arn}"]}
    cloud1.changes_take(1)
    assert client.delete_event_source_mapping(UUID=made["UUID"])["State"] == "Deleting"
    listed = [client.list_event_source_mappings()["EventSourceMappings"] for _ in range(2)]
    assert [len(one) for one in listed] == [1, 0]
    assert cloud1.left() == {}


def bucket(cloud1: StrictCloud1) -> str:
    name = f"uploads-{cloud1.account}"
    cloud1.client("s3").create_bucket(Bucket=name)
    return name


def notify(cloud1: StrictCloud1, name: str, *rows: dict[str, Any]) -> None:
    cloud1.client("s3").put_bucket_notification_configuration(
        Bucket=name, NotificationConfiguration={"LambdaFunctionConfigurations": list(rows)}
    )


def of_puts(ident: str, arn: str, prefix: str = "") -> dict[str, Any]:
    rules = [{"Name": "prefix", "Value": prefix}]
    return {
        "Id": ident,
        "LambdaFunctionArn": arn,
        "Events": ["s3:ObjectCreated:*"],
        "Filter": {"Key": {"FilterRules": rules}},
    }


def test_bucket_notifies_only_functions_that_permit_it(cloud1: StrictCloud1) -> None:
    arn, name = recording(cloud1), bucket(cloud1)
    words = "Unable to validate the following destination configurations"
    with refused("InvalidArgument", words):
        notify(cloud1, name, of_puts("a", arn, "in/"))
    permit(cloud1, "s3.amazonaws.com", f"arn:aws:s3:::{name}")
    notify(cloud1, name, of_puts("a", arn, "in/"))
    for key in ("out/no", "in/yes"):
        cloud1.client("s3").put_object(Bucket=name, Key=key, Body=b"1")
    until(lambda: bool(given(cloud1)))
    assert [one["Records"][0]["s3"]["object"]["key"] for one in given(cloud1)] == ["in%2Fyes"]


def test_the_notifications_of_a_bucket_are_one_document(cloud1: StrictCloud1) -> None:
    arn, name = recording(cloud1), bucket(cloud1)
    permit(cloud1, "s3.amazonaws.com", f"arn:aws:s3:::{name}")
    notify(cloud1, name, of_puts("a", arn, "in/"))
    with refused("InvalidArgument", "overlap"):
        notify(cloud1, name, of_puts("a", arn, "in/"), of_puts("b", arn, "in/deep/"))
    notify(cloud1, name, of_puts("b", arn, "out/"))
    assert cloud1.left()["notifications"] == [f"{name}/b"]


@pytest.mark.parametrize(
    "expression", ["cron(0 12 * * *)", "cron(0 12 * * * *)", "rate(1 minutes)", "rate(0 hours)"]
)
def test_a_time_that_cloud1_does_not_know_is_refused(cloud1: StrictCloud1, expression: str) -> None:
    with refused("ValidationException", "ScheduleExpression is not valid"):
        cloud1.client("events").put_rule(Name="nightly", ScheduleExpression=expression)


def test_a_rule_calls_the_function_when_its_time_comes(cloud1: StrictCloud1) -> None:
    arn, events = recording(cloud1), cloud1.client("events")
    made = events.put_rule(Name="nightly", ScheduleExpression="cron(0 12 * * ? *)")
    events.put_targets(Rule="nightly", Targets=[{"Id": "1", "Arn": arn}])
    cloud1.fire_rule("nightly")
    permit(cloud1, "events.amazonaws.com", made["RuleArn"])
    cloud1.fire_rule("nightly")
    until(lambda: bool(given(cloud1)))
    assert [one["resources"] for one in given(cloud1)] == [[made["RuleArn"]]]
    assert cloud1.left()["rules"] == ["default/nightly"]


def test_event_bus_rule_invokes_the_function_for_matching_events(cloud1: StrictCloud1) -> None:
    arn, events = recording(cloud1), cloud1.client("events")
    events.create_event_bus(Name="shop")
    pattern = json.dumps({"source": ["orders"]})
    made = events.put_rule(Name="orders", EventBusName="shop", EventPattern=pattern)
    permit(cloud1, "events.amazonaws.com", made["RuleArn"])
    targets = [{"Id": "1", "Arn": arn}]
    events.put_targets(Rule="orders", EventBusName="shop", Targets=targets)
    for source in ("others", "orders"):
        entry = {"Source": source, "DetailType": "made", "Detail": '{"id": 1}'}
        events.put_events(Entries=[{**entry, "EventBusName": "shop"}])
    until(lambda: bool(given(cloud1)))
    assert [(one["source"], one["detail"]) for one in given(cloud1)] == [("orders", {"id": 1})]


def test_a_target_that_is_not_there_is_counted_and_named(cloud1: StrictCloud1) -> None:
    arn, events = recording(cloud1), cloud1.client("events")
    events.put_rule(Name="nightly", ScheduleExpression="rate(1 day)")
    targets = [{"Id": "good", "Arn": arn}, {"Id": "bad", "Arn": f"{arn}-of-none"}]
    failed = events.put_targets(Rule="nightly", Targets=targets)
    assert failed["FailedEntryCount"] == 1
    assert failed["FailedEntries"][0]["TargetId"] == "bad"
    kept = events.list_targets_by_rule(Rule="nightly")["Targets"]
    assert [one["Id"] for one in kept] == ["good"]


def test_a_rule_with_targets_stays(cloud1: StrictCloud1) -> None:
    arn, events = recording(cloud1), cloud1.client("events")
    events.put_rule(Name="nightly", ScheduleExpression="rate(1 day)")
    events.put_targets(Rule="nightly", Targets=[{"Id": "1", "Arn": arn}])
    with refused("ValidationException"):
        events.delete_rule(Name="nightly")
    events.remove_targets(Rule="nightly", Ids=["1"])
    events.delete_rule(Name="nightly")
    assert list(cloud1.left()) == ["functions"]


def schedule(cloud1: StrictCloud1, arn: str, role: str) -> None:
    cloud1.client("scheduler").create_schedule(
        Name="nightly",
        ScheduleExpression="cron(0 12 * * ? *)",
        ScheduleExpressionTimezone="Europe/Berlin",
        FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": arn, "RoleArn": role, "Input": '{"at": "noon"}'},
    )


def test_a_schedule_calls_the_function_by_its_role(cloud1: StrictCloud1) -> None:
    arn = recording(cloud1)
    with refused("ValidationException", "must allow AWS EventBridge Scheduler"):
        schedule(cloud1, arn, role_of(cloud1) + "-of-another")
    schedule(cloud1, arn, role_of(cloud1))
    cloud1.fire_schedule("nightly")
    until(lambda: given(cloud1) == [{"at": "noon"}])
    assert cloud1.left()["schedules"] == ["default/nightly"]


def test_a_call_without_waiting_is_carried_out_later(cloud1: StrictCloud1) -> None:
    recording(cloud1)
    asked = {"FunctionName": "hello", "Qualifier": "live", "InvocationType": "Event"}
    assert cloud1.client("lambda").invoke(**asked, Payload=b"7")["StatusCode"] == 202
    until(lambda: given(cloud1) == [7])


def test_role_policies_are_listed_among_leftovers(cloud1: StrictCloud1) -> None:
    role_of(cloud1)
    statement = {"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    asked = {"RoleName": "functions", "PolicyName": "fabric-shop-dev"}
    cloud1.client("iam").put_role_policy(**asked, PolicyDocument=policy)
    assert cloud1.left() == {"role policies": ["functions/fabric-shop-dev"]}
    cloud1.client("iam").delete_role_policy(**asked)
    assert cloud1.left() == {}


def test_the_identity_is_of_the_account(cloud1: StrictCloud1) -> None:
    assert cloud1.client("sts").get_caller_identity()["Account"] == cloud1.account
