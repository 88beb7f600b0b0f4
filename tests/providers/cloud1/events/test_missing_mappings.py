"""Mappings that were disabled or deleted manually, in `state reconcile`."""

from pathlib import Path

import pytest

from tests.support.cloud1_shop import FROM_QUEUE, Shop
from tests.support.cloud1_site import make_queue
from tests.support.in_process import project
from tests.support.servers.strict_cloud1.client import StrictCloud1

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]


@pytest.fixture
def shop(cloud1: StrictCloud1, tmp_path: Path) -> Shop:
    made = Shop(cloud1, project(tmp_path, sources={}))
    made.has("hello", "one", FROM_QUEUE)
    make_queue(cloud1, "work")
    made.ran("deploy")
    return made


def settle(shop: Shop) -> None:
    """Read the mapping until its change ends. The server counts the reads."""
    functions = shop.cloud1.client("lambda")
    for _ in range(20):
        [found] = functions.list_event_source_mappings()["EventSourceMappings"]
        if found["State"] == "Disabled":
            return
    pytest.fail("the mapping is not disabled")


def reconcile(shop: Shop) -> tuple[str, str]:
    [row] = shop.run("state", "reconcile").result["entries"]
    return row["status"], row.get("detail", "")


def test_changed_mappings_are_reported_until_a_forced_deploy(shop: Shop) -> None:
    functions = shop.cloud1.client("lambda")
    assert reconcile(shop)[0] == "in-sync"

    [mapping] = functions.list_event_source_mappings()["EventSourceMappings"]
    functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    settle(shop)
    status, detail = reconcile(shop)
    assert status != "in-sync"
    assert "an enabled event source mapping of the queue `work` for `hello`" in detail

    functions.delete_event_source_mapping(UUID=mapping["UUID"])
    assert "the event source mapping of the queue `work` for `hello`" in reconcile(shop)[1]

    shop.ran("deploy", "--force")
    assert reconcile(shop)[0] == "in-sync"
