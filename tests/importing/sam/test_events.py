"""Each event of AWS SAM becomes a trigger, or is reported."""

from typing import Any

import pytest

from fabric.importing.source import Fate
from tests.support.imports import with_sam_events


def event(kind: str, properties: str) -> str:
    return f"One: {{Type: {kind}, Properties: {{{properties}}}}}"


ROWS: list[tuple[str, str, dict[str, Any]]] = [
    ("Api", "Path: /a, Method: get", {"type": "http", "route": "GET:/a"}),
    (
        "Api",
        "Path: /a, Method: any, Auth: {ApiKeyRequired: true}",
        {"route": "ANY:/a", "apiKey": True},
    ),
    ("Api", "Path: /a, Method: get, Auth: {Authorizer: AWS_IAM}", {"authorizer": "AWS_IAM"}),
    ("Api", "Path: /a, Method: get, Auth: {Authorizer: NONE}", {"authorizer": "none"}),
    (
        "Api",
        "Path: /a, Method: get, RequestParameters: [method.request.header.X, {method.request.querystring.q: {Required: true}}]",
        {"request": {"parameters": {"q": "query"}}},
    ),
    (
        "HttpApi",
        "Path: /a, Method: post, TimeoutInMillis: 2000",
        {"route": "POST:/a", "timeout": 2},
    ),
    (
        "HttpApi",
        "Path: /a, Method: get, Auth: {Authorizer: users, AuthorizationScopes: [a]}",
        {"authorizer": "users", "scopes": ["a"]},
    ),
    (
        "SQS",
        "Queue: 'arn:aws:sqs:x', BatchSize: 5, FunctionResponseTypes: [ReportBatchItemFailures], ScalingConfig: {MaximumConcurrency: 4}, Enabled: false",
        {
            "type": "queue",
            "queue": "arn:aws:sqs:x",
            "batchSize": 5,
            "functionResponseType": "ReportBatchItemFailures",
            "maximumConcurrency": 4,
            "enabled": False,
        },
    ),
    (
        "SQS",
        "Queue: 'arn:aws:sqs:x', FilterCriteria: {Filters: [{Pattern: '{\"a\": [1]}'}]}",
        {"filters": [{"a": [1]}]},
    ),
    (
        "Kinesis",
        "Stream: 'arn:aws:kinesis:x', StartingPosition: LATEST, ParallelizationFactor: 2, BisectBatchOnFunctionError: true, DestinationConfig: {OnFailure: {Type: SQS, Destination: 'arn:aws:sqs:x'}}",
        {
            "type": "logstream",
            "stream": "arn:aws:kinesis:x",
            "parallelizationFactor": 2,
            "bisectOnError": True,
            "onFailure": "arn:aws:sqs:x",
        },
    ),
    (
        "Kinesis",
        "Stream: 'arn:aws:kinesis:x', StartingPosition: AT_TIMESTAMP, StartingPositionTimestamp: 5",
        {"startingPosition": "AT_TIMESTAMP", "startingPositionTimestamp": 5},
    ),
    (
        "DynamoDB",
        "Stream: 'arn:aws:dynamodb:x', StartingPosition: TRIM_HORIZON, TumblingWindowInSeconds: 60, MaximumRecordAgeInSeconds: 100",
        {"tumblingWindowSeconds": 60, "maximumRecordAge": 100},
    ),
    (
        "MSK",
        "Stream: 'arn:aws:kafka:x', Topics: [clicks], StartingPosition: LATEST, ConsumerGroupId: g",
        {"cluster": "arn:aws:kafka:x", "topic": "clicks", "groupId": "g"},
    ),
    (
        "SelfManagedKafka",
        "KafkaBootstrapServers: ['b:9092'], Topics: [clicks], SourceAccessConfigurations: [{Type: VPC_SUBNET, URI: 'subnet:subnet-1'}]",
        {"brokers": ["b:9092"], "access": [{"type": "vpcSubnet", "subnet": "subnet-1"}]},
    ),
    (
        "MQ",
        "Broker: 'arn:aws:mq:x', Queues: [jobs], SourceAccessConfigurations: [{Type: BASIC_AUTH, URI: 'arn:s'}, {Type: VIRTUAL_HOST, URI: /}]",
        {
            "type": "amqp",
            "broker": "arn:aws:mq:x",
            "queue": "jobs",
            "secret": "arn:s",
            "virtualHost": "/",
        },
    ),
    (
        "SNS",
        "Topic: 'arn:aws:sns:x', FilterPolicy: {a: [b]}, FilterPolicyScope: MessageBody",
        {"type": "pubsub", "topic": "arn:aws:sns:x", "filter": {"a": ["b"]}, "filterScope": "body"},
    ),
    (
        "S3",
        "Bucket: photos, Events: ['s3:ObjectCreated:Put'], Filter: {S3Key: {Rules: [{Name: suffix, Value: .png}]}}",
        {
            "type": "storage",
            "events": ["objstore1:ObjectCreated:Put"],
            "suffix": ".png",
            "existingBucket": True,
        },
    ),
    (
        "Schedule",
        "Schedule: rate(1 day), Input: '{\"a\": 1}', RetryPolicy: {MaximumRetryAttempts: 2}, DeadLetterConfig: {Arn: 'arn:q'}, Enabled: false",
        {
            "type": "cron",
            "schedule": "rate(1 day)",
            "input": {"a": 1},
            "retry": {"maximumRetryAttempts": 2},
            "deadLetter": "arn:q",
            "enabled": False,
        },
    ),
    (
        "ScheduleV2",
        "ScheduleExpression: rate(1 day), ScheduleExpressionTimezone: Asia/Tokyo, FlexibleTimeWindow: {Mode: FLEXIBLE, MaximumWindowInMinutes: 5}, GroupName: g",
        {
            "method": "scheduler",
            "timezone": "Asia/Tokyo",
            "flexibleWindowMinutes": 5,
            "group": "g",
        },
    ),
    (
        "EventBridgeRule",
        "Pattern: {source: [a]}, EventBusName: shop, InputPath: $.detail",
        {"type": "eventbus", "bus": "shop", "pattern": {"source": ["a"]}, "inputPath": "$.detail"},
    ),
    ("CloudWatchEvent", "Pattern: {source: [a]}, EventBusName: default", {"bus": None}),
]


@pytest.mark.parametrize(("kind", "properties", "expected"), ROWS)
def test_an_event_becomes_a_trigger(kind: str, properties: str, expected: dict[str, Any]) -> None:
    done = with_sam_events(event(kind, properties))
    [trigger] = done.function["triggers"]
    assert {key: trigger.get(key) for key in expected} == expected
    assert done.reasons() == []


@pytest.mark.parametrize(
    "kind", ["CloudWatchLogs", "Cognito", "IoTRule", "AlexaSkill", "DocumentDB"]
)
def test_an_event_without_an_equivalent_is_reported(kind: str) -> None:
    done = with_sam_events(event(kind, "A: 1"))
    assert "triggers" not in done.function
    [note] = done.settled.select(Fate.NOT_CARRIED)
    assert note.reason == f"events of type `{kind}` are not supported"


def test_a_subscription_through_a_queue_is_reported() -> None:
    done = with_sam_events(event("SNS", "Topic: 'arn:aws:sns:x', SqsSubscription: true"))
    assert "through a queue is not converted" in done.reasons()[0]


def test_a_source_of_the_template_refers_to_an_output() -> None:
    done = with_sam_events(
        "One: {Type: SQS, Properties: {Queue: !GetAtt Jobs.Arn}}",
        "Jobs: {Type: 'AWS::SQS::Queue'}",
    )
    assert done.function["triggers"][0]["queue"] == "${stack:JobsArn}"
    assert done.stacks["before"]["Outputs"]["JobsArn"] == {"Value": {"Fn::GetAtt": "Jobs.Arn"}}


@pytest.mark.parametrize("api", ["abc123", "!Ref Elsewhere", "!ImportValue shop-api"])
@pytest.mark.parametrize(("kind", "key"), [("HttpApi", "ApiId"), ("Api", "RestApiId")])
def test_a_route_of_an_api_outside_of_the_template_is_reported(
    kind: str, key: str, api: str
) -> None:
    own = f"{{Type: {kind}, Properties: {{Path: /a, Method: get}}}}"
    other = own.replace("{Path: /a", f"{{{key}: {api}, Path: /b")
    done = with_sam_events(f"A: {own}\nB: {other}")
    assert [one["route"] for one in done.function["triggers"]] == ["GET:/a"]
    assert any("the API of the route is not in the template" in one for one in done.reasons())


def test_one_route_with_another_payload_version_is_reported() -> None:
    own = "{Type: HttpApi, Properties: {Path: /a, Method: get}}"
    other = own.replace("{Path: /a", "{PayloadFormatVersion: '1.0', Path: /b")
    done = with_sam_events(f"A: {own}\nB: {other}")
    assert "extensions" not in done.config
    assert any("other routes of the API have the payload version" in one for one in done.reasons())


def test_routes_without_a_path_and_of_both_apis_are_changed() -> None:
    done = with_sam_events(
        "A: {Type: HttpApi}\nB: {Type: Api, Properties: {Path: /b, Method: get}}".replace(
            "{Type: HttpApi}", "{Type: HttpApi, Properties: {PayloadFormatVersion: '1.0'}}"
        )
    )
    routes = [one["route"] for one in done.function["triggers"]]
    assert routes == ["$default", "GET:/b"]
    assert done.extension["http"] == {"payload": "1.0"}
    assert any("a service has one API" in one for one in done.reasons(Fate.CHANGED))
