"""Each event of the Serverless Framework becomes triggers, or is reported."""

from typing import Any

import pytest

from fabric.importing.source import Fate
from tests.support.imports import SOURCE, from_serverless, service, with_events

ARN = "arn:aws:sqs:eu-west-1:123456789012:orders"
ROWS: list[tuple[str, dict[str, Any]]] = [
    ("- http: GET /users/{id}", {"type": "http", "route": "GET:/users/{id}"}),
    ("- http: {path: users/, method: post}", {"type": "http", "route": "POST:/users"}),
    ("- http: {path: /, method: any}", {"type": "http", "route": "ANY:/"}),
    ("- http: {path: a, method: get, cors: true}", {"cors": True}),
    ("- http: {path: a, method: get, private: true}", {"apiKey": True}),
    (
        "- http: {path: a, method: get, cors: {origin: 'https://x', headers: [A, B], maxAge: 60}}",
        {"cors": {"allowOrigins": ["https://x"], "allowHeaders": ["A", "B"], "maxAge": 60}},
    ),
    (
        "- http: {path: a, method: get, request: {parameters: {querystrings: {q: true}}}}",
        {"request": {"parameters": {"q": "query"}}},
    ),
    (
        "- http: {path: a, method: get, request: {paths: {q: true}}}",
        {},
    ),
    (
        "- http: {path: a, method: post, request: {schemas: {application/json: {type: object}}}}",
        {"request": {"schema": {"application/json": {"type": "object"}}}},
    ),
    ("- http: {path: a, method: get, authorizer: aws_iam}", {"authorizer": "AWS_IAM"}),
    ("- http: {path: a, method: get, timeoutInMillis: 1500}", {"timeout": 1.5}),
    ("- httpApi: 'GET /a'", {"type": "http", "route": "GET:/a"}),
    ("- httpApi: {path: /a, method: '*'}", {"route": "ANY:/a"}),
    (
        "- httpApi: {path: /a, method: get, authorizer: {name: users, scopes: [a]}}",
        {"authorizer": "users", "scopes": ["a"]},
    ),
    ("- httpApi: {path: /a, method: get, authorizer: {type: aws_iam}}", {"authorizer": "AWS_IAM"}),
    ("- schedule: rate(5 minutes)", {"type": "cron", "schedule": "rate(5 minutes)"}),
    (
        "- schedule: {rate: cron(0 12 * * ? *), enabled: false, input: {a: 1}, timezone: Asia/Tokyo}",
        {"enabled": False, "input": {"a": 1}, "timezone": "Asia/Tokyo"},
    ),
    ("- schedule: {rate: rate(1 day), method: scheduler}", {"method": "scheduler"}),
    (f"- sqs: {ARN}", {"type": "queue", "queue": ARN}),
    (
        f"- sqs: {{arn: '{ARN}', batchSize: 5, maximumBatchingWindow: 10, maximumConcurrency: 3}}",
        {"batchSize": 5, "maximumBatchingWindowSeconds": 10, "maximumConcurrency": 3},
    ),
    (
        f"- sqs: {{arn: '{ARN}', functionResponseType: ReportBatchItemFailures, filterPatterns: [{{a: [1]}}]}}",
        {"functionResponseType": "ReportBatchItemFailures", "filters": [{"a": [1]}]},
    ),
    (
        "- stream: {arn: 'arn:aws:kinesis:eu-west-1:1:stream/a', type: kinesis, batchWindow: 2}",
        {
            "type": "logstream",
            "maximumBatchingWindowSeconds": 2,
            "startingPosition": "TRIM_HORIZON",
        },
    ),
    (
        "- stream: {arn: 'arn:aws:dynamodb:x', startingPosition: LATEST, bisectBatchOnFunctionError: true, maximumRetryAttempts: 2, destinations: {onFailure: 'arn:aws:sqs:x'}}",
        {
            "startingPosition": "LATEST",
            "bisectOnError": True,
            "maximumRetryAttempts": 2,
            "onFailure": "arn:aws:sqs:x",
        },
    ),
    ("- sns: 'arn:aws:sns:eu-west-1:1:orders'", {"type": "pubsub"}),
    (
        "- sns: {arn: 'arn:aws:sns:x', filterPolicy: {kind: [a]}, filterPolicyScope: MessageBody, redrivePolicy: {deadLetterTargetArn: 'arn:aws:sqs:x'}}",
        {"filter": {"kind": ["a"]}, "filterScope": "body", "deadLetter": "arn:aws:sqs:x"},
    ),
    (
        "- s3: photos",
        {"type": "storage", "bucket": "photos", "events": ["objstore1:ObjectCreated:*"]},
    ),
    (
        "- s3: {bucket: photos, event: 's3:ObjectRemoved:*', existing: true, rules: [{prefix: a/}, {suffix: .png}]}",
        {
            "events": ["objstore1:ObjectRemoved:*"],
            "prefix": "a/",
            "suffix": ".png",
            "existingBucket": True,
        },
    ),
    (
        "- eventBridge: {pattern: {source: [a]}, inputPath: $.detail, retryPolicy: {maximumRetryAttempts: 3}, deadLetterQueueArn: 'arn:aws:sqs:x'}",
        {
            "type": "eventbus",
            "pattern": {"source": ["a"]},
            "inputPath": "$.detail",
            "retry": {"maximumRetryAttempts": 3},
            "deadLetter": "arn:aws:sqs:x",
        },
    ),
    ("- eventBridge: {schedule: rate(1 hour)}", {"type": "cron", "schedule": "rate(1 hour)"}),
    (
        "- cloudwatchEvent: {event: {source: [aws.ec2]}}",
        {"type": "eventbus", "pattern": {"source": ["aws.ec2"]}},
    ),
    (
        "- msk: {arn: 'arn:aws:kafka:x', topic: clicks, consumerGroupId: g}",
        {"type": "logstream", "cluster": "arn:aws:kafka:x", "topic": "clicks", "groupId": "g"},
    ),
    (
        "- kafka: {topic: clicks, bootstrapServers: ['b:9092'], accessConfigurations: {saslPlainAuth: 'arn:aws:secretsmanager:x', vpcSubnet: subnet-1}}",
        {
            "brokers": ["b:9092"],
            "access": [
                {"type": "saslPlainAuth", "secret": "arn:aws:secretsmanager:x"},
                {"type": "vpcSubnet", "subnet": "subnet-1"},
            ],
        },
    ),
    (
        "- rabbitmq: {arn: 'arn:aws:mq:x', queue: jobs, basicAuthArn: 'arn:aws:secretsmanager:x', virtualHost: /}",
        {
            "type": "amqp",
            "broker": "arn:aws:mq:x",
            "queue": "jobs",
            "secret": "arn:aws:secretsmanager:x",
            "virtualHost": "/",
        },
    ),
]


@pytest.mark.parametrize(("events", "expected"), ROWS)
def test_an_event_becomes_a_trigger(events: str, expected: dict[str, Any]) -> None:
    done = with_events(events)
    [trigger] = done.function["triggers"]
    assert {key: trigger.get(key) for key in expected} == expected
    assert done.reasons() == []


def test_each_rate_of_a_schedule_is_a_trigger() -> None:
    done = with_events("- schedule: {rate: [rate(1 day), rate(2 days)], name: nightly}")
    assert [one["schedule"] for one in done.function["triggers"]] == ["rate(1 day)", "rate(2 days)"]
    assert any("name: fabric names its rules itself" in one for one in done.reasons(Fate.DROPPED))


@pytest.mark.parametrize(
    ("events", "key", "stack"),
    [
        (
            "- sns: {topicName: orders, displayName: Orders}",
            ("topic", "${stack:SNSTopicOrdersRef}"),
            {
                "Type": "AWS::SNS::Topic",
                "Properties": {"TopicName": "orders", "DisplayName": "Orders"},
            },
        ),
        ("- sns: orders", ("topic", "${stack:SNSTopicOrdersRef}"), None),
        (
            "- eventBridge: {eventBus: shop, pattern: {source: [a]}}",
            ("bus", "${stack:EventBusShopRef}"),
            {"Type": "AWS::Events::EventBus", "Properties": {"Name": "shop"}},
        ),
    ],
)
def test_a_source_that_the_framework_creates_becomes_a_resource(
    events: str, key: tuple[str, str], stack: dict[str, Any] | None
) -> None:
    done = with_events(events)
    [trigger] = done.function["triggers"]
    assert trigger[key[0]] == key[1]
    [made] = done.stacks["before"]["Resources"].values()
    assert stack is None or made == stack


def test_the_default_route_stays_one() -> None:
    done = with_events("- httpApi: '*'")
    assert [one["route"] for one in done.function["triggers"]] == ["$default"]
    assert done.reasons() == []


@pytest.mark.parametrize(
    ("authorizer", "expected"),
    [
        ("check", {"check": {"type": "token", "function": "check"}}),
        (
            "{name: check, type: request, resultTtlInSeconds: 0}",
            {"check": {"type": "request", "function": "check", "ttl": 0}},
        ),
        (
            "{name: pool, arn: 'arn:aws:cognito-idp:eu-west-1:1:userpool/a', scopes: [x]}",
            {
                "pool": {
                    "type": "cognito",
                    "userPoolArn": "arn:aws:cognito-idp:eu-west-1:1:userpool/a",
                }
            },
        ),
        (
            "{name: other, arn: 'arn:aws:lambda:x:1:function:auth', identitySource: method.request.header.X-Key}",
            {
                "other": {
                    "type": "token",
                    "arn": "arn:aws:lambda:x:1:function:auth",
                    "identitySource": "$request.header.X-Key",
                }
            },
        ),
    ],
)
def test_an_authorizer_of_a_route_is_declared_at_the_api(
    authorizer: str, expected: dict[str, Any]
) -> None:
    done = with_events(f"- http: {{path: a, method: get, authorizer: {authorizer}}}")
    assert done.extension["http"]["authorizers"] == expected
    assert done.function["triggers"][0]["authorizer"] == next(iter(expected))


@pytest.mark.parametrize(
    "event",
    ["websocket: $connect", "alb: {priority: 1}", "cloudFront: {origin: a}", "nope: 1"],
)
def test_an_event_without_an_equivalent_is_reported(event: str) -> None:
    done = with_events(f"- {event}")
    assert "triggers" not in done.function
    [note] = done.settled.select(Fate.NOT_CARRIED)
    assert note.path == ("functions", "api", "events", "0", event.partition(":")[0])
    assert note.line == 9


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ("alexaSkill", ""),
        ("alexaSkill: amzn1.ask.skill.one", ""),
        ("iot: {sql: \"SELECT * FROM 'a'\", name: all, sqlVersion: beta}", "AWS::IoT::TopicRule"),
        ("cloudwatchLog: /aws/lambda/other", "AWS::Logs::SubscriptionFilter"),
        ("cloudwatchLog: {logGroup: other, filter: ERROR}", "AWS::Logs::SubscriptionFilter"),
    ],
)
def test_an_event_becomes_resources_of_the_stack_after_the_functions(event: str, kind: str) -> None:
    done = with_events(f"- {event}")
    assert done.reasons() == []
    [stack] = done.stacks.values()
    kinds = {one["Type"] for one in stack["Resources"].values()}
    assert kinds == {"AWS::Lambda::Permission", *([kind] if kind else [])}
    after = done.extension["stack"]["after"]
    assert after["parameters"] == {"ApiLambdaFunctionArn": "${function:api.arn}"}


def test_a_bucket_that_resources_name_is_part_of_the_stack() -> None:
    policy = (
        "resources:\n  Resources:\n    Policy:\n      Type: AWS::S3::BucketPolicy\n"
        "      Properties: {Bucket: !Ref S3BucketPictures, PolicyDocument: {Statement: []}}\n"
    )
    done = with_events("- s3: pictures", rest=policy)
    [stack] = done.stacks.values()
    assert stack["Resources"]["S3BucketPictures"]["Properties"] == {"BucketName": "pictures"}
    assert done.function["triggers"][0]["bucket"] == "${stack:S3BucketPicturesRef}"


@pytest.mark.parametrize(
    "event",
    [
        "sqs: {arn: 'arn:aws:sqs:eu-central-1:111122223333:a', visibilityTimeout: 30}",
        "http: {path: a, method: get, authorizor: aws_iam}",
        "schedule: {rate: rate(1 day), nmae: a}",
        "s3: {bucket: a, rulez: []}",
        "eventBridge: {pattern: {source: [a]}, retries: 3}",
    ],
)
def test_an_unknown_key_of_an_event_is_reported(event: str) -> None:
    [reason] = with_events(f"- {event}").reasons()
    assert reason.endswith("unknown key")


def test_a_disabled_skill_is_reported() -> None:
    done = with_events("- alexaSkill: {appId: amzn1.ask.skill.one, enabled: false}")
    assert "the event is disabled" in done.reasons()[0]
    assert not done.stacks


def test_a_custom_integration_is_reported() -> None:
    done = with_events("- http: {path: a, method: get, integration: http}")
    assert "`http` does not call a function" in done.reasons()[0]
    assert "triggers" not in done.function


def test_a_source_of_a_resource_refers_to_an_output_of_the_stack() -> None:
    rest = "resources:\n  Resources:\n    Jobs: {Type: 'AWS::SQS::Queue'}\n"
    done = with_events("- sqs: {arn: {Fn::GetAtt: [Jobs, Arn]}}", rest=rest)
    assert done.function["triggers"][0]["queue"] == "${stack:JobsArn}"
    assert done.stacks["before"]["Outputs"] == {"JobsArn": {"Value": {"Fn::GetAtt": "Jobs.Arn"}}}


def test_an_authorizer_of_cognito_without_an_arn_is_lost() -> None:
    authorizer = "{name: users, type: COGNITO_USER_POOLS, authorizerId: !Ref Auth}"
    done = with_events(f"- http: {{path: a, method: get, authorizer: {authorizer}}}")
    assert "authorizer" not in done.function["triggers"][0]
    assert ["the authorizer `users` has no ARN" in one for one in done.reasons()] == [True]


def test_unknown_keys_of_cors_and_of_urls_are_reported() -> None:
    done = from_serverless(
        service("api: {handler: src/api.handler, url: {cors: {cacheControl: a}, other: b}}"), SOURCE
    )
    assert len(done.reasons()) == 2
    done = with_events("- http: {path: a, method: get, cors: {origin: '*', cacheControl: a}}")
    assert ["the key `cacheControl` of CORS" in one for one in done.reasons()] == [True]
