"""Every kind of trigger brings its events to the function, for as long as it is in the config."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secrecy import REDACTED
from tests.support.cloud1_site import Cloud1Site, changing, make_queue
from tests.support.orders import trigger
from tests.support.servers.strict_cloud1.samples import role_of
from tests.support.service_site import timed
from tests.support.until import until

pytestmark = pytest.mark.slow

_CLICKS = "arn:aws:kinesis:r:1:stream/a"
_LATEST = {"startingPosition": "LATEST"}
_CREATED = "objstore1:ObjectCreated:*"


def came(site: Cloud1Site, function: str = "hello", count: int = 1) -> list[Any]:
    until(lambda: len(site.given(function)) >= count, "no event came")
    return site.given(function)


def refused(site: Cloud1Site, *triggers: str, timeout: int = 3) -> tuple[Problem, ...]:
    """And nothing is met: neither by its alias, nor by a rule."""
    order = timed(site.order("hello", *triggers), timeout)
    site.deploy(order)
    site.cloud1.reset()
    with pytest.raises(FabricError) as found:
        site.release(["hello"])
    assert changing(site.cloud1) == {}
    return found.value.problems


def uploads(site: Cloud1Site) -> str:
    """Names of buckets are everybody's."""
    return f"uploads-{site.cloud1.account}"


def put(site: Cloud1Site, key: str) -> None:
    site.cloud1.client("s3").put_object(Bucket=uploads(site), Key=key, Body=b"x")


def test_a_schedule_of_utc_is_a_rule(site: Cloud1Site) -> None:
    site.up(site.order("hello", trigger("cron", schedule="0 12 * * 1-5", timezone="Etc/UTC")))
    (rule,) = site.cloud1.left()["rules"]
    name = rule.removeprefix("default/")
    events = site.cloud1.client("events")
    shown = events.describe_rule(Name=name)["ScheduleExpression"]
    assert shown == "cron(0 12 ? * MON,TUE,WED,THU,FRI *)"
    site.cloud1.fire_rule(name)
    assert came(site)[0]["detail-type"] == "Scheduled Event"


def test_a_schedule_of_a_time_zone_takes_a_role(site: Cloud1Site) -> None:
    asked = trigger("cron", schedule="cron(0 12 * * ? *)", timezone="Europe/Berlin")
    site.extension["schedulerRoleArn"] = role_of(site.cloud1)
    site.up(site.order("hello", asked))
    (name,) = site.cloud1.left()["schedules"]
    site.cloud1.fire_schedule(name.removeprefix("default/"))
    assert came(site)[0]["source"] == "aws.scheduler"
    site.up(site.order("hello", trigger("cron", schedule="cron(0 12 * * ? *)")))
    assert [kind for kind in site.cloud1.left() if kind in ("rules", "schedules")] == ["rules"]


def test_a_rate_has_no_time_zone(site: Cloud1Site) -> None:
    site.up(site.order("hello", trigger("cron", schedule="rate(2 hours)", timezone="Asia/Tokyo")))
    assert "schedules" not in site.cloud1.left()


def test_another_role_of_schedules_reaches_them(site: Cloud1Site) -> None:
    asked = trigger("cron", schedule="cron(0 12 * * ? *)", timezone="Europe/Berlin")
    site.extension["schedulerRoleArn"] = role_of(site.cloud1)
    site.up(site.order("hello", asked))
    site.extension["schedulerRoleArn"] = site.cloud1.role("clock")
    site.up(site.order("hello", asked))
    (name,) = site.cloud1.left()["schedules"]
    found = site.cloud1.client("scheduler").get_schedule(Name=name.removeprefix("default/"))
    assert found["Target"]["RoleArn"].endswith("role/clock")


def test_event_bus_delivers_events_that_match_the_pattern(site: Cloud1Site) -> None:
    events = site.cloud1.client("events")
    events.create_event_bus(Name="orders")
    pattern = {"source": ["shop"], "detail": {"paid": [True]}}
    site.up(site.order("hello", trigger("eventbus", pattern=pattern, bus="orders")))
    for paid in (False, True):
        detail = json.dumps({"paid": paid})
        entry = {"Source": "shop", "DetailType": "order", "Detail": detail}
        events.put_events(Entries=[{**entry, "EventBusName": "orders"}, entry])
    assert [one["detail"] for one in came(site)] == [{"paid": True}]


def test_a_queue_is_emptied_by_the_function(site: Cloud1Site) -> None:
    url = make_queue(site.cloud1)
    response = "ReportBatchItemFailures"
    asked = {"queue": "work", "batchSize": 2, "functionResponseType": response}
    site.up(site.order("hello", trigger("queue", **asked)))
    entries = [{"Id": one, "MessageBody": one} for one in ("good", "bad")]
    site.cloud1.client("sqs").send_message_batch(QueueUrl=url, Entries=entries)

    def left() -> list[str]:
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = site.cloud1.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)
        return [found["Attributes"][name] for name in names]

    until(lambda: left() == ["0", "1"])


@pytest.mark.parametrize(
    ("members", "shown"),
    [
        ({"batchSize": 7}, ("Enabled", 7, 0)),
        ({"batchSize": 20, "maximumBatchingWindowSeconds": 5}, ("Enabled", 20, 5)),
        ({"enabled": False}, ("Disabled", 10, 0)),
    ],
    ids=["size", "window", "off"],
)
def test_settings_of_a_queue_follow_the_config(
    site: Cloud1Site, members: dict[str, Any], shown: tuple[str, int, int]
) -> None:
    make_queue(site.cloud1)
    site.up(site.order("hello", trigger("queue", queue="work")))
    site.up(site.order("hello", trigger("queue", queue="work", **members)))
    client = site.cloud1.client("lambda")
    client.list_event_source_mappings()
    (found,) = client.list_event_source_mappings()["EventSourceMappings"]
    window = found["MaximumBatchingWindowInSeconds"]
    assert (found["State"], found["BatchSize"], window) == shown


def test_filters_and_concurrency_of_a_queue_follow_the_config(site: Cloud1Site) -> None:
    make_queue(site.cloud1)
    lambdas = site.cloud1.client("lambda")
    filters = [{"body": {"kind": ["order"]}}]
    site.up(
        site.order("hello", trigger("queue", queue="work", filters=filters, maximumConcurrency=5))
    )
    [mapping] = lambdas.list_event_source_mappings()["EventSourceMappings"]
    [row] = mapping["FilterCriteria"]["Filters"]
    assert (json.loads(row["Pattern"]), mapping["ScalingConfig"]) == (
        filters[0],
        {"MaximumConcurrency": 5},
    )
    site.up(site.order("hello", trigger("queue", queue="work")))
    [mapping] = lambdas.list_event_source_mappings()["EventSourceMappings"]
    assert not {"FilterCriteria", "ScalingConfig"} & mapping.keys()


def make_stream(site: Cloud1Site) -> str:
    kinesis = site.cloud1.client("kinesis")
    kinesis.create_stream(StreamName="clicks", ShardCount=1)
    found = kinesis.describe_stream_summary(StreamName="clicks")["StreamDescriptionSummary"]
    return str(found["StreamARN"])


def test_settings_of_a_stream_follow_the_config(site: Cloud1Site) -> None:
    stream, lambdas = make_stream(site), site.cloud1.client("lambda")
    failed = f"arn:aws:sqs:us-east-1:{site.cloud1.account}:failed"
    more = {"bisectOnError": True, "maximumRetryAttempts": 3, "onFailure": failed, "batchSize": 7}
    source = {"stream": stream, "startingPosition": "TRIM_HORIZON"}
    site.up(site.order("hello", trigger("logstream", **source, **more)))
    [mapping] = lambdas.list_event_source_mappings()["EventSourceMappings"]
    assert (mapping["StartingPosition"], mapping["BatchSize"]) == ("TRIM_HORIZON", 7)
    assert mapping["BisectBatchOnFunctionError"]
    assert mapping["DestinationConfig"] == {"OnFailure": {"Destination": failed}}
    moved = {**source, "startingPosition": "LATEST"}
    site.up(site.order("hello", trigger("logstream", **moved)))
    assert "keeps its `startingPosition` TRIM_HORIZON" in "\n".join(site.talk)
    site.up(site.order("hello", trigger("logstream", **source)))
    [mapping] = lambdas.list_event_source_mappings()["EventSourceMappings"]
    assert (mapping["BatchSize"], mapping["MaximumRetryAttempts"]) == (100, -1)
    assert "DestinationConfig" not in mapping
    site.up(site.order("hello"))
    found = lambdas.list_event_source_mappings()["EventSourceMappings"]
    assert {one["State"] for one in found} <= {"Deleting"}


def test_a_topic_delivers_messages_that_match_the_filter(site: Cloud1Site) -> None:
    sns = site.cloud1.client("sns")
    topic = sns.create_topic(Name="orders")["TopicArn"]
    paid = {"kind": ["paid"]}
    site.up(site.order("hello", trigger("pubsub", topic="orders", filter=paid, filterScope="body")))
    for kind in ("open", "paid"):
        sns.publish(TopicArn=topic, Message=json.dumps({"kind": kind}))
    [record] = came(site)[0]["Records"]
    assert json.loads(record["Sns"]["Message"]) == {"kind": "paid"}
    site.up(site.order("hello", trigger("pubsub", topic=topic)))
    sns.publish(TopicArn=topic, Message="anything")
    assert came(site, count=2)[1]["Records"][0]["Sns"]["Message"] == "anything"
    site.up(site.order("hello"))
    assert sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"] == []


def test_a_topic_of_another_region_is_subscribed_and_left(site: Cloud1Site) -> None:
    sns = site.cloud1.client("sns", region="eu-west-1")
    topic = sns.create_topic(Name="orders")["TopicArn"]
    site.up(site.order("hello", trigger("pubsub", topic=topic)))
    assert len(sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]) == 1
    site.up(site.order("hello"))
    assert sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"] == []


def test_a_rule_sends_the_configured_input(site: Cloud1Site) -> None:
    given = {"input": {"job": "report"}, "retry": {"maximumRetryAttempts": 1}}
    site.up(site.order("hello", trigger("cron", schedule="rate(1 hour)", **given)))
    (rule,) = site.cloud1.left()["rules"]
    name = rule.removeprefix("default/")
    [target] = site.cloud1.client("events").list_targets_by_rule(Rule=name)["Targets"]
    assert target["RetryPolicy"]["MaximumRetryAttempts"] == 1
    site.cloud1.fire_rule(name)
    assert came(site)[0] == {"job": "report"}


def test_a_disabled_rule_stays(site: Cloud1Site) -> None:
    site.up(site.order("hello", trigger("cron", schedule="rate(1 hour)", enabled=False)))
    (rule,) = site.cloud1.left()["rules"]
    events = site.cloud1.client("events")
    assert events.describe_rule(Name=rule.removeprefix("default/"))["State"] == "DISABLED"


@pytest.mark.parametrize(
    "wrong",
    [
        trigger("logstream", stream="clicks", startingPosition="LATEST"),
        trigger("logstream", stream="arn:aws:kinesis:r:1:stream/a", startingPosition="FIRST"),
        trigger("logstream", stream=_CLICKS, startingPosition="AT_TIMESTAMP"),
        trigger(
            "logstream", stream=_CLICKS, startingPosition="LATEST", startingPositionTimestamp=1
        ),
        trigger(
            "logstream",
            stream="arn:aws:dynamodb:r:1:table/a/stream/b",
            startingPosition="AT_TIMESTAMP",
            startingPositionTimestamp=1,
        ),
        trigger("cron", schedule="rate(1 hour)", input={}, inputPath="$.a"),
    ],
)
def test_options_that_cloud1_rejects_are_refused_before_any_change(
    site: Cloud1Site, wrong: str
) -> None:
    (problem,) = refused(site, wrong)
    assert problem.code == "config/unfit"


def test_a_queue_may_be_named_by_its_arn(site: Cloud1Site) -> None:
    make_queue(site.cloud1)
    arn = f"arn:aws:sqs:{site.cloud1.region}:{site.cloud1.account}:work"
    site.up(site.order("hello", trigger("queue", queue=arn)))
    assert len(site.cloud1.left()["mappings"]) == 1


def test_a_queue_that_comes_back_at_once_is_waited_for(site: Cloud1Site) -> None:
    make_queue(site.cloud1)
    asked = trigger("queue", queue="work")
    site.up(site.order("hello", asked))
    site.cloud1.changes_take(3)
    site.up(site.order("hello"))
    site.up(site.order("hello", asked))
    assert len(site.cloud1.left()["mappings"]) == 1


def test_bucket_notifies_about_matching_objects(site: Cloud1Site) -> None:
    asked = trigger("storage", bucket=uploads(site), events=[_CREATED], prefix="in-", suffix=".txt")
    site.up(site.order("hello", asked))
    for key in ("out-a.txt", "in-a.png", "in-a.txt"):
        put(site, key)
    keys = [record["s3"]["object"]["key"] for one in came(site) for record in one["Records"]]
    assert keys == ["in-a.txt"]


def test_a_bucket_that_is_made_carries_the_names_of_its_service(site: Cloud1Site) -> None:
    site.up(site.order("hello", trigger("storage", bucket=uploads(site), events=[_CREATED])))
    tags = site.cloud1.client("s3").get_bucket_tagging(Bucket=uploads(site))["TagSet"]
    assert {one["Key"]: one["Value"] for one in tags} == {
        "fabric:service": "shop",
        "fabric:stage": "dev",
    }


def test_a_bucket_moves_from_one_function_to_another(site: Cloud1Site) -> None:
    asked = trigger("storage", bucket=uploads(site), events=[_CREATED])
    site.up(site.order("hello", asked))
    site.up(site.order("bye", asked))
    put(site, "a")
    assert came(site, "bye")
    assert site.given("hello") == []
    assert len(site.cloud1.left()["notifications"]) == 1


def test_foreign_bucket_notifications_are_preserved(site: Cloud1Site) -> None:
    client = site.cloud1.client("s3")
    client.create_bucket(Bucket=uploads(site))
    site.up(site.order("other"))
    foreign = {"Id": "theirs", "Events": ["s3:ObjectRemoved:*"]}
    arn = f"{site.live('other').resource_id.rpartition(':')[0]}:live"
    site.cloud1.client("lambda").add_permission(
        FunctionName=arn,
        StatementId="theirs",
        Action="lambda:InvokeFunction",
        Principal="s3.amazonaws.com",
    )
    client.put_bucket_notification_configuration(
        Bucket=uploads(site),
        NotificationConfiguration={
            "LambdaFunctionConfigurations": [{**foreign, "LambdaFunctionArn": arn}]
        },
    )
    asked = trigger("storage", bucket=uploads(site), events=[_CREATED], existingBucket=True)
    site.up(site.order("other"), site.order("hello", asked))
    assert len(site.cloud1.left()["notifications"]) == 2
    site.up(site.order("other"), site.order("hello"))
    assert site.cloud1.left()["notifications"] == [f"{uploads(site)}/theirs"]


def test_queues_and_buckets_stay_and_are_named(site: Cloud1Site) -> None:
    make_queue(site.cloud1)
    wanted = (
        trigger("queue", queue="work"),
        trigger("storage", bucket=uploads(site), events=[_CREATED]),
    )
    site.up(site.order("hello", *wanted))
    site.dissolve()
    assert site.cloud1.left() == {}
    assert site.cloud1.client("s3").list_buckets()["Buckets"]
    told = [line for line in site.talk if "are kept" in line]
    assert told == [
        "hello: its event sources and their content are kept: "
        f"bucket `{uploads(site)}`, queue `work`"
    ]


def test_a_queue_whose_name_is_a_secret_is_named_once_after_a_removal(site: Cloud1Site) -> None:
    make_queue(site.cloud1)
    site.up(site.order("hello", trigger("queue", queue="work")))
    assert site.record
    rows = [
        replace(one, triggers=(trigger("queue", queue=REDACTED),)) for one in site.record.functions
    ]
    site.record = replace(site.record, functions=tuple(rows))
    site.dissolve()
    [told] = [line for line in site.talk if "are kept" in line]
    assert told.endswith("are kept: queue `work`")
    assert site.cloud1.left() == {}


def test_missing_event_sources_are_all_reported_before_any_change(site: Cloud1Site) -> None:
    problems = refused(
        site,
        trigger("queue", queue="none"),
        trigger("eventbus", pattern={"source": ["a"]}, bus="none"),
        trigger("storage", bucket="none-of-this-name", events=[_CREATED], existingBucket=True),
    )
    assert [one.message.partition("the ")[2] for one in problems] == [
        "queue `none`, which does not exist",
        "bus `none`, which does not exist",
        "bucket `none-of-this-name`, which does not exist",
    ]
    assert all("`hello`" in one.message for one in problems)


def test_a_queue_that_forgets_a_message_before_the_function_ends_is_refused(
    site: Cloud1Site,
) -> None:
    make_queue(site.cloud1, visibility=5)
    (problem,) = refused(site, trigger("queue", queue="work"), timeout=6)
    assert problem.code == "deploy/queue-timeout"


def test_a_bucket_of_another_region_is_refused(site: Cloud1Site) -> None:
    elsewhere = {"LocationConstraint": "eu-west-1"}
    client = site.cloud1.client("s3")
    client.create_bucket(Bucket=uploads(site), CreateBucketConfiguration=elsewhere)
    (problem,) = refused(site, trigger("storage", bucket=uploads(site), events=[_CREATED]))
    assert problem.code == "deploy/other-region"


def test_two_triggers_of_one_queue_are_refused(site: Cloud1Site) -> None:
    asked = [trigger("queue", queue="work", batchSize=size) for size in (1, 2)]
    (problem,) = refused(site, *asked)
    assert problem.code == "config/unfit"


def test_a_schedule_that_cloud1_cannot_say_is_refused(site: Cloud1Site) -> None:
    (problem,) = refused(site, trigger("cron", schedule="0 12 1 * 1"))
    assert problem.code == "config/unfit"


def test_trigger_changes_of_one_function_do_not_touch_others(site: Cloud1Site) -> None:
    make_queue(site.cloud1)
    hello = [trigger("cron", schedule="rate(1 hour)"), trigger("queue", queue="work")]
    site.up(site.order("hello", *hello), site.order("bye"))
    site.cloud1.reset()
    site.up(site.order("hello", *hello), site.order("bye", trigger("cron", schedule="rate(1 day)")))
    asked = {name: count for name, count in changing(site.cloud1).items() if "Function" not in name}
    assert asked == {
        "events.PutRule": 1,
        "events.PutTargets": 1,
        "lambda.AddPermission": 1,
        "lambda.PublishVersion": 1,
        "lambda.UpdateAlias": 1,
    }


def test_events_of_a_bucket_come_by_the_event_bus(site: Cloud1Site) -> None:
    asked = {"bucket": uploads(site), "events": [_CREATED], "viaEventBus": True}
    site.up(site.order("hello", trigger("storage", prefix="in-", **asked)))
    assert "notifications" not in site.cloud1.left()
    for key in ("out-a", "in-a"):
        put(site, key)
    [event] = came(site)
    assert (event["source"], event["detail-type"]) == ("aws.s3", "Object Created")
    assert event["detail"]["object"]["key"] == "in-a"
    site.up(site.order("hello"))
    assert site.cloud1.left().keys() == {"functions"}


def test_the_event_bus_leaves_other_notifications_of_a_bucket(site: Cloud1Site) -> None:
    removed = "objstore1:ObjectRemoved:*"
    direct = trigger("storage", bucket=uploads(site), events=[removed])
    site.up(site.order("hello", direct))
    bus = trigger("storage", bucket=uploads(site), events=[_CREATED], viaEventBus=True)
    site.up(site.order("hello", direct, bus))
    document = site.cloud1.client("s3").get_bucket_notification_configuration(Bucket=uploads(site))
    assert document["EventBridgeConfiguration"] == {}
    assert len(document["LambdaFunctionConfigurations"]) == 1
    site.up(site.order("hello", direct))
    put(site, "a")
    site.cloud1.client("s3").delete_object(Bucket=uploads(site), Key="a")
    [event] = came(site)
    assert event["Records"][0]["eventName"].startswith("ObjectRemoved")


def test_a_bucket_can_move_to_the_event_bus(site: Cloud1Site) -> None:
    asked = {"bucket": uploads(site), "events": [_CREATED]}
    site.up(site.order("hello", trigger("storage", **asked)))
    site.up(site.order("hello", trigger("storage", viaEventBus=True, suffix=".txt", **asked)))
    assert "notifications" not in site.cloud1.left()
    put(site, "a.txt")
    assert came(site)[0]["source"] == "aws.s3"


def test_a_bucket_of_two_functions_is_told_when_one_leaves_it(site: Cloud1Site) -> None:
    bucket = trigger("storage", bucket=uploads(site), events=[_CREATED], prefix="a/")
    other = trigger("storage", bucket=uploads(site), events=[_CREATED], prefix="b/")
    rule = trigger("eventbus", pattern={"source": ["shop"]})
    site.up(site.order("hello", bucket, rule), site.order("bye", other, rule))
    site.up(site.order("hello", bucket, rule), site.order("bye", rule))
    rows = site.cloud1.client("s3").get_bucket_notification_configuration(Bucket=uploads(site))
    assert len(rows["LambdaFunctionConfigurations"]) == 1


_SECONDS = 1_767_225_600


def test_a_stream_is_read_from_a_time(site: Cloud1Site) -> None:
    source = {"stream": make_stream(site), "startingPosition": "AT_TIMESTAMP"}
    site.up(site.order("hello", trigger("logstream", **source, startingPositionTimestamp=_SECONDS)))
    lambdas = site.cloud1.client("lambda")
    [mapping] = lambdas.list_event_source_mappings()["EventSourceMappings"]
    assert mapping["StartingPositionTimestamp"].timestamp() == _SECONDS
    later = trigger("logstream", **source, startingPositionTimestamp=_SECONDS + 1, batchSize=7)
    site.up(site.order("hello", later))
    assert f"keeps its `startingPositionTimestamp` {_SECONDS}" in "\n".join(site.talk)
