"""The command line over all of it: what a user does in a day, and how often cloud1 is asked."""

from pathlib import Path

import pytest

from tests.support.cloud1_shop import EVERY_HOUR, FROM_QUEUE, Shop
from tests.support.cloud1_site import changing, make_queue
from tests.support.in_process import project
from tests.support.servers.strict_cloud1.client import StrictCloud1

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]


@pytest.fixture
def shop(cloud1: StrictCloud1, tmp_path: Path) -> Shop:
    made = Shop(cloud1, project(tmp_path, sources={}))
    make_queue(cloud1)
    made.has("hello", "one", EVERY_HOUR, FROM_QUEUE)
    made.has("bye", "bye")
    return made


def test_a_day_of_a_service(shop: Shop) -> None:
    shop.ran("deploy")
    assert (shop.said("hello"), shop.said("bye")) == ("one", "bye")
    assert shop.ran("deploy") == {}
    shop.has("hello", "two", EVERY_HOUR, FROM_QUEUE)
    calls = shop.ran("deploy")
    assert (shop.said("hello"), sum(calls.values())) == ("two", 8)
    assert shop.ran("rollback") == {"lambda.GetFunction": 1, "lambda.UpdateAlias": 1}
    assert shop.said("hello") == "one"
    shop.ran("remove", "--yes")
    assert shop.cloud1.left() == {}
    assert shop.run("remove", "--yes").code == 0


def test_settings_of_the_http_api_are_read_by_the_release_only(shop: Shop) -> None:
    shop.ran("deploy")
    users = "{type: jwt, issuer: 'https://login.example', audience: [shop]}"
    http = f"{{authorizers: {{users: {users}}}, defaultAuthorizer: users}}"
    shop.tail = f"extensions: {{cloud1-lambda: {{http: {http}}}}}\n"
    done = shop.run("plan")
    reasons = {one["id"]: one["action"] for one in done.result["tasks"]}
    assert reasons["release:shop@cloud1-lambda"] == "run"
    assert reasons["deploy:shop/hello@cloud1-lambda"] == "skip"
    calls = shop.ran("deploy")
    assert not [one for one in changing(shop.cloud1) if not one.startswith("apigateway")]
    assert calls["apigatewayv2.CreateAuthorizer"] == 1
    assert (shop.said("hello"), shop.ran("deploy")) == ("401", {})
    shop.tail = ""
    shop.ran("deploy")
    assert shop.said("hello") == "one"


def test_a_trigger_and_a_function_that_leave_the_config_leave_the_provider(shop: Shop) -> None:
    shop.has("late", "late", EVERY_HOUR)
    shop.ran("deploy")
    assert len(shop.cloud1.left()["rules"]) == 2
    shop.has("hello", "one", FROM_QUEUE)
    del shop.functions["late"]
    shop.ran("deploy")
    left = {kind: len(names) for kind, names in shop.cloud1.left().items()}
    assert left == {"apis": 1, "functions": 2, "mappings": 1}


def test_rollback_restores_triggers(shop: Shop) -> None:
    shop.ran("deploy")
    before = shop.cloud1.left()
    shop.has("hello", "two", "{type: cron, schedule: rate(1 day)}")
    shop.ran("deploy")
    shop.ran("rollback")
    assert shop.cloud1.left() == before


def test_forced_deploy_recreates_a_deleted_rule(shop: Shop) -> None:
    shop.ran("deploy")
    before = shop.cloud1.left()
    events = shop.cloud1.client("events")
    (name,) = (one.removeprefix("default/") for one in before["rules"])
    events.remove_targets(Rule=name, Ids=["fabric"])
    events.delete_rule(Name=name)
    assert shop.ran("deploy") == {}
    shop.ran("deploy", "--force")
    assert shop.cloud1.left() == before


def test_a_release_that_breaks_off_is_put_right_by_the_next(shop: Shop) -> None:
    shop.has("hello", "one")
    shop.ran("deploy")
    shop.has("hello", "two", EVERY_HOUR, FROM_QUEUE)
    asked = {"status": 400, "code": "InvalidParameterValueException"}
    shop.cloud1.fault("lambda.CreateEventSourceMapping", **asked)
    assert shop.run("deploy").error["code"] == "provider/refused"
    assert shop.said("hello") == "two"
    shop.has("hello", "one")
    shop.ran("deploy")
    assert shop.said("hello") == "one"
    assert not {"rules", "mappings"} & shop.cloud1.left().keys()


def test_failed_release_is_rolled_back(shop: Shop) -> None:
    shop.has("hello", "one")
    shop.ran("deploy")
    shop.has("hello", "two", EVERY_HOUR, FROM_QUEUE)
    asked = {"status": 400, "code": "InvalidParameterValueException"}
    shop.cloud1.fault("lambda.CreateEventSourceMapping", **asked)
    assert shop.run("deploy", "--rollback-on-failure").code != 0
    assert shop.said("hello") == "one"
    assert not {"rules", "mappings"} & shop.cloud1.left().keys()
    shop.ran("deploy")
    assert shop.said("hello") == "two"


def test_failed_function_does_not_block_others_with_keep_going(shop: Shop) -> None:
    asked = {"status": 400, "code": "InvalidParameterValueException"}
    shop.cloud1.fault("lambda.CreateFunction", **asked)
    assert shop.run("deploy", "--keep-going").code == 2
    assert len(shop.cloud1.left()["functions"]) == 1
    shop.ran("deploy")
    assert (shop.said("hello"), shop.said("bye")) == ("one", "bye")
    shop.ran("remove", "--yes")
    assert shop.cloud1.left() == {}


def test_missing_queue_fails_the_release_before_traffic_moves(shop: Shop) -> None:
    shop.has("hello", "one")
    shop.ran("deploy")
    shop.has("hello", "two", "{type: queue, queue: none}")
    shop.cloud1.reset()
    error = shop.run("deploy").error
    assert error["code"] == "deploy/missing-source"
    assert "`hello`" in error["message"]
    assert shop.said("hello") == "one"
    assert "lambda.UpdateAlias" not in changing(shop.cloud1)


def test_rollback_across_a_tag_change_publishes_no_version(shop: Shop) -> None:
    shop.more = ", tags: {team: one}"
    shop.ran("deploy")
    shop.more = ", tags: {team: two}"
    shop.ran("deploy")
    calls = shop.ran("rollback")
    names = {name for name in calls if name.startswith("lambda.")}
    assert names == {"lambda.GetFunction", "lambda.UpdateAlias"}


def test_schedules_brokers_and_scaling_have_a_whole_life(shop: Shop) -> None:
    cluster = "arn:aws:kafka:us-east-1:123456789012:cluster/clicks/1"
    topic = f"{{type: logstream, topic: clicks, cluster: '{cluster}', startingPosition: LATEST}}"
    once = "{type: cron, schedule: 'at(2030-01-31T08:00)', input: {job: a}}"
    shop.more = ", provisionedConcurrency: {min: 1, max: 3}"
    shop.has("hello", "one", topic, once)
    shop.ran("deploy")
    left = shop.cloud1.left()
    assert {"mappings", "schedules", "scaling", "role policies"} <= left.keys()
    assert shop.ran("deploy") == {}
    shop.more = ""
    shop.has("hello", "two")
    shop.ran("deploy")
    assert shop.cloud1.left().keys() == {"apis", "functions"}
    shop.ran("rollback")
    assert {"mappings", "schedules", "scaling", "role policies"} <= shop.cloud1.left().keys()
    assert shop.said("hello") == "one"
    shop.ran("remove", "--yes")
    assert shop.cloud1.left() == {}
