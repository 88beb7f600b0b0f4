"""Functions of another tool at AWS are adopted while they serve, and released again."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cloud1_shop import EVERY_HOUR, FROM_QUEUE, Shop
from tests.support.cloud1_site import changing
from tests.support.in_process import project
from tests.support.other_tool import OtherTool
from tests.support.servers.strict_cloud1.client import StrictCloud1

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]


@pytest.fixture
def shop(cloud1: StrictCloud1, tmp_path: Path) -> Shop:
    made = Shop(cloud1, project(tmp_path, sources={}))
    made.has("hello", "new")
    return made


@pytest.fixture
def other(shop: Shop) -> OtherTool:
    return OtherTool(shop)


def rows(done: Any, action: str) -> list[tuple[str, str]]:
    return [(one["kind"], one["name"]) for one in done.result["parts"] if one["action"] == action]


def test_an_adopted_function_is_updated_by_the_next_deploy(shop: Shop, other: OtherTool) -> None:
    arn = other.deploys("hello", "old", MemorySize=256)
    other.serves(arn, "/hello")
    other.owns()
    assert shop.run("deploy").error["code"] == "deploy/foreign"

    before = other.describe("hello")["Configuration"]["RevisionId"]
    done = shop.run("adopt")
    assert done.code == 0, done.out + done.err
    assert rows(done, "take") == [("function", "shop-dev-hello")]
    assert ("API", other.resources["HttpApi"]["id"]) in rows(done, "keep")
    assert done.result["stacks"] == ["shop-dev"]
    found = other.describe("hello", "live")
    assert found["Tags"]["fabric:function"] == "hello"
    assert found["Tags"]["STAGE"] == "dev"
    assert found["Configuration"]["Version"] == "1"
    assert other.describe("hello")["Configuration"]["RevisionId"] == before

    [deploy] = [one for one in shop.run("plan").result["tasks"] if one["id"].startswith("deploy:")]
    assert "memory" in str(deploy)
    shop.ran("deploy")
    assert shop.said("hello") == "new"
    assert shop.cloud1.http_get(other.url).text == "new"
    assert shop.ran("deploy") == {}
