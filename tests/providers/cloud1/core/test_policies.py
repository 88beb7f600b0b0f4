"""What `permissions` become in IAM."""

import json

import pytest

from fabric.providers.cloud1.core.permissions import Arn
from fabric.providers.cloud1.core.policies import (
    RolePolicies,
    build_policies,
    list_statement_faults,
)
from tests.support.orders import trigger

_HERE = Arn("aws", "eu-central-1", "123456789012")


def built(*permissions: object, triggers: tuple[str, ...] = (), **settings: str) -> RolePolicies:
    return build_policies({"permissions": json.dumps(permissions), **settings}, triggers, _HERE)


def statements(policies: RolePolicies) -> list[dict[str, object]]:
    return [json.loads(one) for one in policies.statements]


def test_statements_allow_by_default_and_may_have_the_keys_of_iam() -> None:
    own = {"actions": ["ses:SendEmail"], "resources": ["*"]}
    pasted = {"Effect": "Deny", "Action": "s3:*", "Resource": "*", "Condition": {"Bool": {}}}
    assert statements(built(own, pasted)) == [
        {"Effect": "Allow", "Action": ["ses:SendEmail"], "Resource": ["*"]},
        pasted,
    ]


def test_a_template_of_sam_becomes_its_statement() -> None:
    [statement] = statements(built({"SQSSendMessagePolicy": {"QueueName": "work"}}))
    assert statement["Resource"] == ["arn:aws:sqs:eu-central-1:123456789012:work"]


def test_logs_are_always_allowed_and_settings_bring_what_they_need() -> None:
    assert built().managed == ("arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole",)
    more = built(
        "AmazonS3ReadOnlyAccess",
        triggers=(trigger("queue", queue="q"),),
        vpc="{}",
        tracing="active",
    ).managed
    assert [one.rpartition("/")[2] for one in more] == [
        "AWSLambdaBasicExecutionRole",
        "AWSLambdaVPCAccessExecutionRole",
        "AWSXRayDaemonWriteAccess",
        "AWSLambdaSQSQueueExecutionRole",
        "AmazonS3ReadOnlyAccess",
    ]


def test_destinations_of_events_are_allowed() -> None:
    queue, topic = "arn:aws:sqs:eu:1:failed", "arn:aws:sns:eu:1:done"
    stream = trigger("logstream", stream="s", onFailure=queue)
    settings = {"deadLetter": queue, "async": json.dumps({"onSuccess": topic})}
    assert statements(built(triggers=(stream,), **settings)) == [
        {"Effect": "Allow", "Action": ["sqs:SendMessage"], "Resource": [queue]},
        {"Effect": "Allow", "Action": ["sns:Publish"], "Resource": [topic]},
    ]


def test_both_versions_keep_their_permissions_until_the_release() -> None:
    old = built({"actions": ["a:Old"], "resources": ["*"]}, "OldPolicy")
    deny = {"effect": "Deny", "actions": ["a:Old"], "resources": ["*"]}
    new = built({"actions": ["a:New"], "resources": ["*"]}, deny, "NewPolicy")
    joined = new.join(old)
    assert [one["Action"] for one in statements(joined)] == [["a:Old"], ["a:New"]]
    assert set(joined.managed) == {*old.managed, *new.managed}


def test_the_order_of_managed_policies_does_not_matter() -> None:
    assert built("A", "B").digest == built("B", "A").digest
    assert built("A").digest != built("B").digest


@pytest.mark.parametrize(
    ("entry", "faults"),
    [
        ({"actions": ["a:B"], "resources": ["*"]}, []),
        ({"notActions": ["a:B"], "notResources": ["arn:x"]}, []),
        ({"actions": ["a:B"]}, ["requires exactly one of `resources` and `notResources`"]),
        ({"Resource": "*"}, ["requires exactly one of `actions` and `notActions`"]),
        (
            {"actions": ["a:B"], "Action": "a:C", "resources": ["*"]},
            ["has a key in two spellings"],
        ),
        (
            {"actions": ["a:B"], "resources": ["*"], "sid": "a b"},
            ["has a `sid` with other characters than letters and digits"],
        ),
        (
            {"S3ReadPolicy": {"BucketName": "b"}, "actions": ["a:B"]},
            ["mixes a policy template with other keys"],
        ),
        ("S3ReadPolicy", ["is a policy template and needs its parameters"]),
        ({"S3ReadPolicy": {"BucketName": "b"}}, []),
        ("AmazonS3ReadOnlyAccess", []),
    ],
)
def test_incomplete_statements_are_found(entry: object, faults: list[str]) -> None:
    found = list(list_statement_faults(json.dumps([entry])))
    assert found == [f"`permissions[0]` {one}" for one in faults]


def test_a_repeated_name_of_a_statement_is_found() -> None:
    one = {"actions": ["a:B"], "resources": ["*"], "sid": "Read"}
    assert list(list_statement_faults(json.dumps([one, one]))) == [
        "`permissions[1]` repeats the `sid` Read"
    ]


def test_a_changed_statement_keeps_its_name_only_once() -> None:
    old, new = (
        built({"sid": "Read", "actions": [action], "resources": ["*"]}) for action in ("a:B", "a:C")
    )
    assert [one.get("Sid") for one in statements(new.join(old))] == ["Read", None]


_SECRET = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:a"  # noqa: S105
_CLUSTER = "arn:aws:kafka:eu-central-1:123456789012:cluster/clicks/1"
_BROKER = "arn:aws:mq:eu-central-1:123456789012:broker:jobs:b-1"
_LOGIN = {"type": "saslPlainAuth", "secret": _SECRET}
_SUBNET = {"type": "vpcSubnet", "subnet": "subnet-a"}


@pytest.mark.parametrize(
    ("source", "actions", "managed"),
    [
        (
            trigger("logstream", topic="clicks", cluster=_CLUSTER, groupId="shop"),
            {"kafka-cluster:ReadData"},
            {"AWSLambdaMSKExecutionRole"},
        ),
        (
            trigger("logstream", topic="clicks", cluster=_CLUSTER, access=[_LOGIN]),
            {"secretsmanager:GetSecretValue"},
            {"AWSLambdaMSKExecutionRole"},
        ),
        (
            trigger("logstream", topic="clicks", brokers=["a:9092"], access=[_LOGIN, _SUBNET]),
            {"secretsmanager:GetSecretValue", "ec2:CreateNetworkInterface"},
            set(),
        ),
        (
            trigger("amqp", queue="jobs", broker=_BROKER, secret=_SECRET),
            {"secretsmanager:GetSecretValue", "ec2:CreateNetworkInterface", "mq:DescribeBroker"},
            set(),
        ),
    ],
    ids=["cluster", "cluster with a login", "own brokers", "Amazon MQ"],
)
def test_brokers_need_permissions(source: str, actions: set[str], managed: set[str]) -> None:
    found = built(triggers=(source,))
    rows = [json.loads(one) for one in found.statements]
    allowed = {action for one in rows for action in one["Action"]}
    known = {"kafka-cluster:ReadData", "secretsmanager:GetSecretValue", "mq:DescribeBroker"}
    assert allowed & (known | {"ec2:CreateNetworkInterface"}) == actions
    names = {one.rpartition("/")[2] for one in found.managed}
    assert names == managed | {"AWSLambdaBasicExecutionRole"}


def test_a_cluster_without_a_login_is_limited_to_its_topic_and_group() -> None:
    source = trigger("logstream", topic="clicks", cluster=_CLUSTER, groupId="shop")
    [text] = built(triggers=(source,)).statements
    ends = [one.partition("123456789012:")[2] for one in json.loads(text)["Resource"]]
    assert ends == ["cluster/clicks/1", "topic/clicks/1/clicks", "group/clicks/1/shop"]
