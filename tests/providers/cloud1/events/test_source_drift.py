"""Event sources that were disabled, deleted or changed manually, in `state reconcile`."""

from pathlib import Path

import pytest

from tests.support.cloud1_shop import EVERY_HOUR, FROM_QUEUE, Shop
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
    """Read the mappings until their changes end. The server counts the reads."""
    functions = shop.cloud1.client("lambda")
    for _ in range(20):
        found = functions.list_event_source_mappings()["EventSourceMappings"]
        if all(one["State"] == "Disabled" for one in found):
            return
    pytest.fail("a mapping is not disabled")


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


def test_only_the_triggers_that_the_config_disables_can_be_disabled(shop: Shop) -> None:
    make_queue(shop.cloud1, "idle")
    shop.has("hello", "one", FROM_QUEUE, "{type: queue, queue: idle, enabled: false}")
    shop.ran("deploy")
    assert reconcile(shop) == ("in-sync", "")
    functions = shop.cloud1.client("lambda")
    for one in functions.list_event_source_mappings()["EventSourceMappings"]:
        functions.update_event_source_mapping(UUID=one["UUID"], Enabled=False)
    settle(shop)
    detail = reconcile(shop)[1]
    assert "an enabled event source mapping of the queue `work` for `hello`" in detail
    assert "idle" not in detail


def test_settings_with_secrets_are_not_compared(shop: Shop) -> None:
    pattern = "{body: {key: ['${env:SHOP_PASSWORD}']}}"
    shop.project.write({".env": "SHOP_PASSWORD=hunter-of-secrets\n"})
    shop.has("hello", "one", f"{{type: queue, queue: work, filters: [{pattern}]}}")
    shop.ran("deploy")
    assert reconcile(shop) == ("in-sync", "")
    functions = shop.cloud1.client("lambda")
    [mapping] = functions.list_event_source_mappings()["EventSourceMappings"]
    functions.update_event_source_mapping(
        UUID=mapping["UUID"], BatchSize=3, FilterCriteria={"Filters": []}
    )
    assert "manually: batchSize (run" in reconcile(shop)[1]


def change_sources(shop: Shop) -> None:
    functions, events = (shop.cloud1.client(name) for name in ("lambda", "events"))
    [mapping] = functions.list_event_source_mappings()["EventSourceMappings"]
    functions.update_event_source_mapping(UUID=mapping["UUID"], BatchSize=3)
    for rule in events.list_rules()["Rules"]:
        if "EventPattern" in rule:
            events.put_rule(Name=rule["Name"], EventPattern='{"source": ["other"]}')
            [target] = events.list_targets_by_rule(Rule=rule["Name"])["Targets"]
            events.remove_targets(Rule=rule["Name"], Ids=[target["Id"]])
        else:
            events.put_rule(Name=rule["Name"], ScheduleExpression="rate(5 hours)", State="DISABLED")
    scheduler = shop.cloud1.client("scheduler")
    [row] = scheduler.list_schedules()["Schedules"]
    found = scheduler.get_schedule(Name=row["Name"])
    kept = ("Name", "ScheduleExpression", "FlexibleTimeWindow", "Target")
    scheduler.update_schedule(**{name: found[name] for name in kept}, State="DISABLED")


def test_changed_settings_of_event_sources_are_reported_until_a_forced_deploy(shop: Shop) -> None:
    event = "{type: eventbus, pattern: {source: [orders]}}"
    zoned = "{type: cron, schedule: cron(0 3 * * ? *), timezone: Europe/Berlin}"
    shop.has("tick", "one", EVERY_HOUR, event, zoned)
    shop.ran("deploy")
    assert reconcile(shop) == ("in-sync", "")

    change_sources(shop)
    status, detail = reconcile(shop)
    assert status == "drifted"
    force = "(run fabric deploy --force)"
    assert f"the queue `work` for `hello` was changed manually: batchSize {force}" in detail
    assert f"for `tick` was changed manually: schedule, enabled {force}" in detail
    assert f"for `tick` was changed manually: timezone, enabled {force}" in detail
    assert f"for `tick` was changed manually: pattern, target {force}" in detail

    shop.ran("deploy", "--force")
    assert reconcile(shop) == ("in-sync", "")
