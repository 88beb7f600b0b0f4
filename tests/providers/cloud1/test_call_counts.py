"""How many calls a service with many functions takes: its first deploy, and one change."""

from pathlib import Path

import pytest

from tests.support.cloud1_shop import EVERY_HOUR, Shop
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
