"""What of a config cloud1 would refuse, or fabric cannot do there: told without a call."""

import json

import pytest
from msgspec.structs import replace

from fabric.model.calls.concurrency import encode_concurrency
from fabric.model.catalog import find_provider_facts
from fabric.model.records.record import FunctionRecord
from fabric.providers.cloud1.core.versions import OwnSettings
from fabric.providers.cloud1.limits import find_unsupported
from fabric.providers.core.contract import FunctionDraft
from tests.support.orders import address, trigger
from tests.support.records import record

ROLE = OwnSettings(role_arn="arn:aws:iam::123456789012:role/run")
AWS = find_provider_facts("cloud1-lambda")
GOOD = FunctionDraft("hello", (("runtime", "nodejs"),), variables=("MODE",))
LAYER = "arn:aws:lambda:us-east-1:123456789012:layer:tools:3"
BERLIN = json.dumps({"type": "cron", "schedule": "0 9 * * *", "timezone": "Europe/Berlin"})


def told(*drafts: FunctionDraft, own: OwnSettings = ROLE, region: str = "us-east-1") -> list[str]:
    found = find_unsupported(own, address(region=region), drafts)
    assert all(one.problem.code == "config/unfit" for one in found)
    return [one.problem.message for one in find_unsupported(own, address(region=region), drafts)]


def http(path: str, **more: object) -> str:
    return json.dumps({"type": "http", "method": "GET", "path": path, **more})


def test_an_ordinary_function_fits() -> None:
    full = replace(GOOD, triggers=(http("/"), http("/own", authorizer="AWS_IAM")), layers=(LAYER,))
    assert told(full) == []


@pytest.mark.parametrize("runtime", ["python3.27", "nodejs23.x", "ruby2.7", ""])
def test_a_runtime_that_cloud1_does_not_have_is_named(runtime: str) -> None:
    (message,) = told(replace(GOOD, settings=(("runtime", runtime),)))
    assert f"`{runtime}`" in message


@pytest.mark.parametrize(
    "runtime",
    [
        *("nodejs", "python", "nodejs20.x", "python3.12"),
        *(AWS.platform.command_runtimes if AWS else ()),
    ],
)
def test_runtimes_that_are_there_fit(runtime: str) -> None:
    assert told(replace(GOOD, settings=(("runtime", runtime),))) == []


@pytest.mark.parametrize("name", ["AWS_REGION", "_HANDLER", "AWS_SESSION_TOKEN", "_X", "A"])
def test_a_variable_that_cloud1_does_not_take_is_named(name: str) -> None:
    (message,) = told(replace(GOOD, variables=("MODE", name)))
    assert f"`{name}`" in message


def test_a_queue_or_a_bus_has_to_be_in_the_region_of_its_function() -> None:
    queue = trigger("queue", queue="arn:aws:sqs:eu-west-1:123456789012:work")
    bus = trigger("eventbus", bus="arn:aws:events:eu-west-1:123456789012:event-bus/own")
    for one in (queue, bus):
        (message,) = told(replace(GOOD, triggers=(one,)))
        assert "eu-west-1" in message
        assert told(replace(GOOD, triggers=(one,)), region="eu-west-1") == []


def test_a_queue_that_keeps_an_order_waits_for_no_batch() -> None:
    one = trigger("queue", queue="work.fifo", maximumBatchingWindowSeconds=5)
    (message,) = told(replace(GOOD, triggers=(one,)))
    assert "`work.fifo`" in message


@pytest.mark.parametrize(
    ("one", "other", "meets"),
    [
        ({"prefix": "in/"}, {"prefix": "in/new/"}, True),
        ({"prefix": "in/"}, {"prefix": "out/"}, False),
        ({"suffix": ".png"}, {"suffix": ".jpg"}, False),
        ({"suffix": ".gz"}, {"prefix": "in/", "suffix": ".tar.gz"}, True),
        ({"events": ["s3:ObjectCreated:Put"]}, {}, True),
        ({"events": ["s3:ObjectRemoved:*"]}, {}, False),
        ({"bucket": "other"}, {}, False),
    ],
)
def test_overlapping_bucket_triggers_are_reported(
    one: dict[str, object], other: dict[str, object], *, meets: bool
) -> None:
    usual = {"bucket": "files", "events": ["s3:ObjectCreated:*"]}
    first, second = (trigger("storage", **{**usual, **given}) for given in (one, other))
    beside = replace(GOOD, name="other", triggers=(second,))
    assert len(told(replace(GOOD, triggers=(first,)), beside)) == meets
    assert len(told(replace(GOOD, triggers=(first, second)))) == meets


def test_credentials_and_pages_of_all_origins_do_not_go_together() -> None:
    named = {"origins": ["https://a.example"], "credentials": True}
    one = replace(GOOD, triggers=(http("/a", cors=named),))
    other = replace(GOOD, name="other", triggers=(http("/b"), http("/c", cors=True)))
    (message,) = told(one, other)
    assert "function `other`" in message
    assert told(one, replace(other, triggers=(http("/b"),))) == []
    (message,) = told(replace(GOOD, triggers=(http("/a", cors={**named, "origins": ["*"]}),)))


def test_a_layer_has_to_be_a_version_in_the_region_of_its_function() -> None:
    (elsewhere,) = told(replace(GOOD, layers=(LAYER,)), region="eu-west-1")
    assert "eu-west-1" in elsewhere
    (no_version,) = told(replace(GOOD, layers=(LAYER.rpartition(":")[0],)))
    assert "not the ARN of a layer version" in no_version
    assert told(replace(GOOD, layers=(LAYER,)), region="") == []


def test_a_function_has_at_most_five_layers_with_those_of_the_project() -> None:
    layers = (LAYER,) * 3
    assert told(replace(GOOD, layers=layers, own_layers=("a", "b"))) == []
    (message,) = told(replace(GOOD, layers=layers, own_layers=("a", "b", "c")))
    assert "has 6 layers; the maximum of AWS Lambda is 5" in message


def test_an_authorizer_of_ones_own_is_named_with_its_trigger() -> None:
    draft = replace(GOOD, triggers=(http("/"), http("/x", authorizer={"jwt": "…"})))
    (found,) = find_unsupported(ROLE, address(), (draft,))
    assert (found.function, found.trigger) == ("hello", 1)


def test_a_schedule_in_a_time_zone_needs_no_role_of_the_config() -> None:
    assert told(replace(GOOD, triggers=(BERLIN,))) == []


_CLUSTER = "arn:aws:kafka:eu-central-1:123456789012:cluster/clicks/1"
_TOPIC = {"type": "logstream", "topic": "clicks", "startingPosition": "LATEST"}
_LOGIN = {"type": "saslScram512Auth", "secret": "arn:aws:secretsmanager:r:1:secret:s"}
_QUEUE = {"type": "amqp", "queue": "jobs", "secret": "s"}
_HOURLY = {"type": "cron", "schedule": "rate(1 hour)"}
_STORED = {"type": "storage", "bucket": "uploads", "viaEventBus": True}


@pytest.mark.parametrize(
    ("trigger", "words"),
    [
        ({**_TOPIC, "cluster": _CLUSTER, "brokers": ["a:9092"]}, "both `cluster` and `brokers`"),
        ({**_TOPIC, "cluster": _CLUSTER, "topic": "a b"}, "has the topic `a b`"),
        ({**_TOPIC, "cluster": _CLUSTER, "bisectOnError": True}, "sets `bisectOnError`"),
        ({**_TOPIC, "cluster": _CLUSTER, "startingPosition": "FIRST"}, "position `FIRST`"),
        ({**_TOPIC, "cluster": _CLUSTER, "pollers": {"min": 9, "max": 2}}, "`pollers`"),
        (
            {**_TOPIC, "cluster": _CLUSTER, "access": [{"type": "vpcSubnet", "secret": "s"}]},
            "`access` of type `vpcSubnet`",
        ),
        ({**_TOPIC, "brokers": ["a.example"], "access": [_LOGIN]}, "`a.example:9092`"),
        (
            {**_TOPIC, "cluster": _CLUSTER, "access": [{"type": "saslPlainAuth", "secret": "s"}]},
            "the secret `s`, which is not an ARN",
        ),
        ({**_STORED, "events": ["objstore1:ObjectCreated:Put"]}, "does not distinguish"),
        ({**_HOURLY, "deadLetter": "failed"}, "deadLetter `failed`, which is not an ARN"),
        ({**_TOPIC, "cluster": _CLUSTER, "onFailure": "failed"}, "onFailure `failed`, which is"),
        (
            {"type": "cron", "schedule": "at(2030-01-31T08:00:00)", "method": "rule"},
            "a rule does not support",
        ),
        (
            {
                **_HOURLY,
                "start": "2030-01-02T00:00:00Z",
                "end": "2030-01-01T00:00:00Z",
            },
            "ends before it starts",
        ),
    ],
)
def test_event_sources_that_aws_rejects_are_named(trigger: dict[str, object], words: str) -> None:
    draft = replace(GOOD, triggers=(json.dumps(trigger),))
    (found,) = find_unsupported(ROLE, address(), (draft,))
    assert words in f"{found.problem.message} {found.problem.hint}"
    assert found.trigger == 0


def told_of(runtime: str = "nodejs22.x", **settings: object) -> list[str]:
    said = [
        (key, one if isinstance(one, str) else json.dumps(one)) for key, one in settings.items()
    ]
    return told(replace(GOOD, settings=(("runtime", runtime), *said)))


_SCALING = {"min": 2, "max": 10}


@pytest.mark.parametrize(
    ("scaling", "words"),
    [
        ({"min": 5, "max": 2}, "`min: 5` over `max: 2`"),
        ({**_SCALING, "schedules": [{"cron": "0 8 * * *"}]}, "without a number"),
        ({**_SCALING, "schedules": [{"cron": "0 8 * * *", "min": 11}]}, "over `max: 10`"),
        ({**_SCALING, "schedules": [{"cron": "0 8 * * *", "max": 1}]}, "`min: 2` over `max: 1`"),
        (
            {**_SCALING, "schedules": [{"cron": "0 8 * * *", "min": 3, "timezone": "Mars/X"}]},
            "unknown time zone `Mars/X`",
        ),
        ({**_SCALING, "schedules": [{"cron": "0 8 *", "min": 3}]}, "cron requires 5 fields"),
        ({**_SCALING, "schedules": [{"at": "soon", "min": 3}]}, "expected `at("),
    ],
)
def test_scaling_that_aws_rejects_is_named(scaling: dict[str, object], words: str) -> None:
    (message,) = told_of(provisionedConcurrency=scaling)
    assert words in message


def test_a_schedule_can_rely_on_the_limit_of_another_one() -> None:
    schedules = [{"cron": "0 7 * * *", "max": 50}, {"cron": "0 8 * * *", "min": 20}]
    assert told_of(provisionedConcurrency={**_SCALING, "schedules": schedules}) == []


def test_scaling_stays_within_the_reserved_concurrency() -> None:
    for reserved, fits in ((5, False), (10, True)):
        concurrency = encode_concurrency(reserved, 2)
        found = told_of(provisionedConcurrency=_SCALING, concurrency=concurrency)
        assert (found == []) == fits


@pytest.mark.parametrize(
    ("runtime", "fits"),
    [("nodejs", True), ("nodejs20.x", False), ("python3.13", True), ("python", False)],
)
def test_durable_executions_need_a_runtime_that_has_them(runtime: str, fits: bool) -> None:  # noqa: FBT001
    assert (told_of(runtime, durable={"executionTimeout": 60}) == []) == fits


def test_durable_executions_are_for_new_functions_only() -> None:
    durable = ("durable", '{"executionTimeout":60}')
    arn = "arn:aws:lambda:eu-central-1:123456789012:function:shop-dev-hello:1"
    for old, new in (((), (durable,)), ((durable,), ())):
        live = replace(FunctionRecord(GOOD.name, "", ""), resource_id=arn, settings=old)
        known = address(previous=record(functions=(live,)))
        draft = replace(GOOD, settings=(("runtime", "nodejs22.x"), *new))
        assert [one.problem.code for one in find_unsupported(ROLE, known, (draft,))] == [
            "config/unfit"
        ]


def test_brokers_that_can_be_reached_are_accepted() -> None:
    login = [{"type": "saslScram512Auth", "secret": "arn:aws:secretsmanager:r:1:secret:s"}]
    own = {**_TOPIC, "brokers": ["a:9092"], "access": login, "pollers": {"min": 1}}
    queue = {**_QUEUE, "broker": "arn:aws:mq:eu-central-1:123456789012:broker:jobs:b-1"}
    triggers = tuple(map(json.dumps, ({**_TOPIC, "cluster": _CLUSTER}, own, queue)))
    assert told(replace(GOOD, triggers=triggers)) == []


@pytest.mark.parametrize(
    ("schedule", "zone"), [("rate(5 minutes)", "Europe/Berlin"), ("0 9 * * *", "Etc/UTC")]
)
def test_time_zone_is_allowed_if_it_does_not_affect_the_schedule(schedule: str, zone: str) -> None:
    cron = json.dumps({"type": "cron", "schedule": schedule, "timezone": zone})
    assert told(replace(GOOD, triggers=(cron,))) == []


def test_a_schedule_that_cloud1_cannot_keep_is_named_with_its_trigger() -> None:
    cron = json.dumps({"type": "cron", "schedule": "0 9 1 * mon"})
    (found,) = find_unsupported(ROLE, address(), (replace(GOOD, triggers=(http("/"), cron)),))
    assert ("`0 9 1 * mon`" in found.problem.message, found.trigger) == (True, 1)


def test_a_second_trigger_of_one_queue_is_named() -> None:
    queues = [json.dumps({"type": "queue", "queue": "work", "batchSize": n}) for n in (1, 2)]
    (found,) = find_unsupported(ROLE, address(), (replace(GOOD, triggers=tuple(queues)),))
    assert ("`work`" in found.problem.message, found.trigger) == (True, 1)


def test_no_more_instances_than_reserved_are_provisioned() -> None:
    for reserved, fits in ((1, False), (2, True), (None, True)):
        settings = (("runtime", "nodejs"), ("concurrency", encode_concurrency(reserved, 2)))
        found = told(replace(GOOD, settings=settings, provisioned_concurrency=2))
        assert (found == []) == fits


def test_the_first_route_too_many_is_named() -> None:
    routes = tuple(http(f"/{number}") for number in range(200))
    assert told(replace(GOOD, triggers=routes)) == []
    twice = replace(GOOD, name="other", triggers=routes)
    (found,) = find_unsupported(ROLE, address(), (replace(GOOD, triggers=routes), twice))
    assert (found.function, found.trigger) == ("other", 100)


_VPC = json.dumps({"subnetIds": ["subnet-a"], "securityGroupIds": ["sg-1"]})
_FILES = json.dumps({"arn": "arn:aws:efs:x", "path": "/mnt/data"})


def found_in(**settings: str) -> list[tuple[str, ...]]:
    given = {"runtime": "nodejs", **settings}
    found = find_unsupported(ROLE, address(), [FunctionDraft("api", tuple(given.items()))])
    return [one.keys for one in found if one.keys]


@pytest.mark.parametrize(
    ("settings", "keys"),
    [
        ({"logs": '{"level": "WARN"}'}, [("logs",)]),
        ({"logs": '{"level": "WARN", "format": "json"}'}, []),
        ({"permissions": "[]", "role": "arn:aws:iam::1:role/a"}, [("role",)]),
        ({"permissions": '[{"actions": ["a:B"]}]'}, [("permissions",)]),
        ({"permissions": json.dumps(["x" * 9] * 9)}, []),
        ({"logs": '{"retentionDays": 13}'}, [("logs",)]),
        ({"logs": '{"retentionDays": 14}'}, []),
        ({"fileSystem": _FILES}, [("fileSystem",)]),
        ({"fileSystem": _FILES, "vpc": _VPC}, []),
        ({"snapStart": "true", "runtime": "python3.12"}, []),
        ({"snapStart": "true", "runtime": "java21"}, []),
        ({"snapStart": "true", "runtime": "nodejs22.x"}, [("snapStart",)]),
        ({"snapStart": "true", "runtime": "python3.11"}, [("snapStart",)]),
        (
            {"snapStart": "true", "runtime": "python3.13", "ephemeralStorage": "1024"},
            [("snapStart",)],
        ),
    ],
)
def test_settings_that_aws_rejects_together_are_found(
    settings: dict[str, str], keys: list[tuple[str, ...]]
) -> None:
    assert found_in(**settings) == keys


def _statement(**more: object) -> str:
    return json.dumps([{"actions": ["s3:GetObject"], "resources": ["*"], **more}])


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("permissions", _statement(actions=["s3"]), "`s3`, which is not an action"),
        ("permissions", _statement(resources=["orders"]), "`orders`, which is not an ARN"),
        ("permissions", '["DynamoDBCrudPolicyy"]', "did you mean `DynamoDBCrudPolicy`?"),
        ("role", "arn:aws:iam::123456789012:policy/run", "not the ARN of an IAM role"),
        (
            "vpc",
            '{"subnetIds": ["vpc-1"], "securityGroupIds": ["sg-1"]}',
            "`vpc-1`, which is not the ID of a subnet",
        ),
        (
            "vpc",
            '{"subnetIds": ["subnet-1"], "securityGroupIds": ["default"]}',
            "`default`, which is not the ID of a security group",
        ),
        ("url", '{"cors": {"maxAge": 86401}}', "the maximum is 86400"),
    ],
)
def test_settings_that_aws_rejects_are_named(name: str, text: str, words: str) -> None:
    (message,) = told(replace(GOOD, settings=(*GOOD.settings, (name, text))))
    assert words in message


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("permissions", _statement(actions="*", resources=["arn:aws:s3:::b/*", "${aws:x}"])),
        ("permissions", '["AWSXRayDaemonWriteAccess"]'),
        ("role", "arn:aws-cn:iam::123456789012:role/own/run"),
        ("vpc", '{"subnetIds": ["subnet-1", "${ssm:/a}"], "securityGroupIds": ["sg-1"]}'),
        ("vpc", "false"),
        ("url", '{"cors": {"maxAge": 86400}}'),
    ],
)
def test_settings_of_the_right_form_fit(name: str, text: str) -> None:
    assert told(replace(GOOD, settings=(*GOOD.settings, (name, text)))) == []


@pytest.mark.parametrize(
    "one",
    [
        trigger("pubsub", topic="arn:aws:sqs:us-east-1:123456789012:work"),
        trigger("queue", queue="arn:aws:sns:us-east-1:123456789012:work"),
        trigger("queue", queue="work", filters=[{"body": {"kind": "order"}}]),
        trigger("queue", queue="work", filters=["order"]),
    ],
)
def test_sources_and_filters_of_another_form_are_named(one: str) -> None:
    assert len(told(replace(GOOD, triggers=(one,)))) == 1


def test_a_boundary_is_an_arn() -> None:
    (message,) = told(GOOD, own=replace(ROLE, iam=replace(ROLE.iam, boundary="edge")))
    assert "`edge`, which is not an ARN" in message
