"""Problems of a plan in a config that loads."""

import pytest

from fabric.config.rules.deployable import plan_problems
from fabric.model.problems import Problem
from tests.support.config_texts import HEAD, ONE, loaded, with_trigger


def refused(text: str) -> tuple[Problem, ...]:
    return plan_problems(loaded(text))


def test_a_complete_config_can_be_planned() -> None:
    assert refused(HEAD + ONE) == ()


@pytest.mark.parametrize(
    ("backend", "key"),
    [
        ("objstore1", "objstore1Bucket"),
        ("objstore2", "objstore2Bucket"),
        ("objstore3", "objstore3Container"),
    ],
)
def test_a_shared_backend_needs_its_bucket(backend: str, key: str) -> None:
    (problem,) = refused(f"{HEAD}backend: {{kind: {backend}}}\n{ONE}")
    assert problem.message == f"`backend.{key}` is required for backend `{backend}`"
    assert problem.where
    assert (problem.where.file, problem.where.line) == ("fabric.yml", 3)
    assert refused(f"{HEAD}backend: {{kind: {backend}, {key}: b}}\n{ONE}") == ()


_CLUSTER = "'arn:aws:kafka:eu-central-1:123456789012:cluster/a/1'"
_BROKER = "'arn:aws:mq:eu-central-1:123456789012:broker:a:b-1'"
_LOGIN = "access: [{type: saslPlainAuth, secret: s}]"
_POSITION = ["startingPosition"]


@pytest.mark.parametrize(
    ("trigger", "provider", "keys"),
    [
        ("{type: eventbus}", "cloud1-lambda", ["pattern"]),
        ("{type: eventbus, pattern: {}}", "cloud1-lambda", ["pattern"]),
        ("{type: eventbus, pattern: {source: [a]}}", "cloud1-lambda", []),
        ("{type: pubsub}", "cloud2-functions", ["topic"]),
        ("{type: pubsub, topic: t}", "cloud2-functions", []),
        ("{type: logstream, topic: t}", "cloud1-lambda", ["brokers"]),
        ("{type: logstream}", "cloud1-lambda", ["topic", "brokers"]),
        ("{type: amqp}", "cloud1-lambda", ["queue"]),
        (f"{{type: logstream, topic: t, cluster: {_CLUSTER}}}", "cloud1-lambda", _POSITION),
        (f"{{type: logstream, topic: t, brokers: [b], {_LOGIN}}}", "cloud1-lambda", _POSITION),
        (f"{{type: amqp, queue: q, broker: {_BROKER}}}", "cloud1-lambda", ["secret"]),
    ],
)
def test_required_fields_of_a_trigger_are_named(
    trigger: str, provider: str, keys: list[str]
) -> None:
    missing = [
        one for one in refused(with_trigger(trigger, provider)) if "is required" in one.message
    ]
    assert [one.message.split("`")[1] for one in missing] == keys
    assert all(one.where and one.where.line == 3 for one in missing)


@pytest.mark.parametrize(
    ("kind", "fields"), [("logstream", "topic: t, brokers: [b]"), ("amqp", "queue: q")]
)
def test_triggers_that_no_provider_supports_are_only_for_local_runs(kind: str, fields: str) -> None:
    found = refused(with_trigger(f"{{type: {kind}, {fields}}}"))
    assert [one.code for one in found] == ["config/trigger-unsupported"]
    assert f"type `{kind}`, which AWS Lambda (`cloud1-lambda`)" in found[0].message


@pytest.mark.parametrize(
    "trigger",
    [
        f"{{type: logstream, topic: t, cluster: {_CLUSTER}, startingPosition: LATEST}}",
        f"{{type: logstream, topic: t, brokers: [b], {_LOGIN}, startingPosition: LATEST}}",
        f"{{type: amqp, queue: q, broker: {_BROKER}, secret: s}}",
    ],
)
def test_brokers_that_aws_can_reach_are_supported_there_only(trigger: str) -> None:
    assert refused(with_trigger(trigger)) == ()
    found = refused(with_trigger(trigger, "cloud2-functions"))
    assert [one.code for one in found] == ["config/trigger-unsupported"]
