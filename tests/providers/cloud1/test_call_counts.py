"""How many calls a service with many functions takes: its first deploy, and one change."""

from pathlib import Path

import pytest

from tests.support.cloud1_shop import EVERY_HOUR, Shop
from tests.support.cloud1_site import make_queue
from tests.support.in_process import project
from tests.support.servers.strict_cloud1.client import StrictCloud1

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

_COUNT = 8
# With a role, a log group, tracing and retries, and three for a route.
_MOST_OF_A_FUNCTION = 12 + 3
_MOST_OF_A_SERVICE = 6
_MOST_OF_A_CHANGE = 6
_SETTINGS = (
    "permissions: [{actions: ['s3:GetObject'], resources: ['*']}]",
    "logs: {retentionDays: 14}",
    "tracing: active",
    "async: {maximumRetryAttempts: 1}",
)
_CREATED = "['objstore1:ObjectCreated:*']"
_CHANGES = {
    "permission": "permissions: [{actions: ['s3:PutObject'], resources: ['*']}]",
    "tag": "tags: {team: shop}",
}


@pytest.fixture
def shop(cloud1: StrictCloud1, tmp_path: Path) -> Shop:
    made = Shop(cloud1, project(tmp_path, sources={}))
    made.tail = f"defaults: {{{', '.join(_SETTINGS)}}}\n"
    for number in range(_COUNT):
        made.has(f"f{number}", "one")
    return made


def test_calls_grow_with_what_changes(shop: Shop) -> None:
    first = sum(shop.ran("deploy").values())
    assert first <= _MOST_OF_A_FUNCTION * _COUNT + _MOST_OF_A_SERVICE
    shop.functions["f0"].append(EVERY_HOUR)
    calls = {"trigger": shop.ran("deploy")}
    tail = shop.tail
    keys: list[str] = []
    for kind, change in _CHANGES.items():
        keys.append(change)
        shop.tail = f"{tail}stages: {{dev: {{functions: {{f0: {{{', '.join(keys)}}}}}}}}}\n"
        calls[kind] = shop.ran("deploy")
    for one in calls.values():
        assert "lambda.PublishVersion" not in one
        assert sum(one.values()) <= _MOST_OF_A_CHANGE, one


def test_a_changed_trigger_takes_few_calls_beside_unchanged_ones(
    cloud1: StrictCloud1, tmp_path: Path
) -> None:
    shop = Shop(cloud1, project(tmp_path, sources={}))
    make_queue(cloud1)
    cloud1.client("kinesis").create_stream(StreamName="clicks", ShardCount=1)
    stream = f"arn:aws:kinesis:us-east-1:{cloud1.account}:stream/clicks"
    topic = cloud1.client("sns").create_topic(Name="orders")["TopicArn"]
    queue = "{type: queue, queue: work}"
    shop.has(
        "f",
        "one",
        queue,
        f"{{type: logstream, stream: '{stream}', startingPosition: LATEST}}",
        f"{{type: storage, bucket: uploads-{cloud1.account}, events: {_CREATED}}}",
        f"{{type: pubsub, topic: '{topic}'}}",
        EVERY_HOUR,
    )
    shop.ran("deploy")
    for number, other in enumerate(shop.functions["f"]):
        if queue in str(other):
            shop.functions["f"][number] = str(other).replace("work}", "work, batchSize: 5}")
    calls = shop.ran("deploy")
    assert calls["lambda.UpdateEventSourceMapping"] == 1
    assert sum(calls.values()) <= _MOST_OF_A_CHANGE, calls
