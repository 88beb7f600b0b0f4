"""Topics of Kafka and queues of Amazon MQ: their mappings follow the config."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.cloud1_site import Cloud1Site
from tests.support.orders import trigger

pytestmark = pytest.mark.slow

_SECRET = "arn:aws:secretsmanager:us-east-1:123456789012:secret:broker"  # noqa: S105
_CLUSTER = "arn:aws:kafka:us-east-1:123456789012:cluster/clicks/1a2b"
_BROKER = "arn:aws:mq:us-east-1:123456789012:broker:jobs:b-1a2b"
_FAILED = "arn:aws:sqs:us-east-1:123456789012:failed"
_NETWORK = [
    {"type": "vpcSubnet", "subnet": "subnet-0a1b"},
    {"type": "vpcSecurityGroup", "securityGroup": "sg-0a1b"},
]


def mappings(site: Cloud1Site) -> list[Mapping[str, Any]]:
    client = site.cloud1.client("lambda")
    client.list_event_source_mappings()
    found: list[Mapping[str, Any]] = client.list_event_source_mappings()["EventSourceMappings"]
    return found


def topic(**more: object) -> str:
    return trigger("logstream", topic="clicks", startingPosition="TRIM_HORIZON", **more)


def test_a_topic_of_a_cluster_is_mapped(site: Cloud1Site) -> None:
    more = {"groupId": "shop", "onFailure": _FAILED, "pollers": {"min": 1, "max": 5}}
    site.up(site.order("hello", topic(cluster=_CLUSTER, batchSize=50, **more)))
    [found] = mappings(site)
    assert (found["EventSourceArn"], found["Topics"]) == (_CLUSTER, ["clicks"])
    assert (found["StartingPosition"], found["BatchSize"]) == ("TRIM_HORIZON", 50)
    assert found["AmazonManagedKafkaEventSourceConfig"] == {"ConsumerGroupId": "shop"}
    assert found["ProvisionedPollerConfig"] == {"MinimumPollers": 1, "MaximumPollers": 5}
    assert found["DestinationConfig"] == {"OnFailure": {"Destination": _FAILED}}
    site.up(site.order("hello", topic(cluster=_CLUSTER, groupId="other")))
    [found] = mappings(site)
    assert found["BatchSize"] == 100
    assert not {"ProvisionedPollerConfig", "DestinationConfig"} & found.keys()
    assert "keeps its `groupId` shop" in "\n".join(site.talk)


def test_a_topic_of_own_brokers_is_mapped_by_their_addresses(site: Cloud1Site) -> None:
    login = {"type": "saslScram512Auth", "secret": _SECRET}
    brokers = ["b:9092", "a:9092"]
    site.up(site.order("hello", topic(brokers=brokers, access=[login, *_NETWORK])))
    [found] = mappings(site)
    endpoints = {"KAFKA_BOOTSTRAP_SERVERS": ["a:9092", "b:9092"]}
    assert found["SelfManagedEventSource"] == {"Endpoints": endpoints}
    assert {one["Type"]: one["URI"] for one in found["SourceAccessConfigurations"]} == {
        "SASL_SCRAM_512_AUTH": _SECRET,
        "VPC_SUBNET": "subnet:subnet-0a1b",
        "VPC_SECURITY_GROUP": "security_group:sg-0a1b",
    }
    site.up(site.order("hello", topic(brokers=brokers, access=_NETWORK)))
    [found] = mappings(site)
    assert len(found["SourceAccessConfigurations"]) == 2


def test_a_queue_of_a_broker_is_mapped(site: Cloud1Site) -> None:
    asked = {"broker": _BROKER, "queue": "jobs", "secret": _SECRET}
    site.up(site.order("hello", trigger("amqp", virtualHost="/shop", **asked)))
    [found] = mappings(site)
    assert (found["EventSourceArn"], found["Queues"]) == (_BROKER, ["jobs"])
    assert {one["Type"]: one["URI"] for one in found["SourceAccessConfigurations"]} == {
        "BASIC_AUTH": _SECRET,
        "VIRTUAL_HOST": "/shop",
    }
    site.up(site.order("hello", trigger("amqp", **asked)))
    [found] = mappings(site)
    assert [one["Type"] for one in found["SourceAccessConfigurations"]] == ["BASIC_AUTH"]


def test_a_removed_source_is_disconnected_and_others_stay(site: Cloud1Site) -> None:
    both = topic(cluster=_CLUSTER), topic(brokers=["a:9092"], access=_NETWORK)
    site.up(site.order("hello", *both))
    site.up(site.order("hello", both[0]))
    assert [one["State"] for one in mappings(site) if "EventSourceArn" not in one] == []
    site.cloud1.reset()
    site.up(site.order("hello", both[0]), force=True)
    assert "lambda.CreateEventSourceMapping" not in site.cloud1.calls()
    site.dissolve()
    assert site.cloud1.left() == {}
