"""A way back to values that nobody kept but cloud1, in the versions of its functions."""

from pathlib import Path

import pytest

from tests.support.cloud1_shop import Shop
from tests.support.in_process import project
from tests.support.servers.strict_cloud1.client import StrictCloud1

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]

_SAYING = """import os
def handler(event, context):
    return {"statusCode": 200, "body": os.environ["MOOD"]}
"""


@pytest.fixture
def shop(cloud1: StrictCloud1, tmp_path: Path) -> Shop:
    """Whose `hello` was glad once, and is sad now."""
    made = Shop(cloud1, project(tmp_path, sources={}))
    made.has("hello", "")
    made.project.write({"hello.py": _SAYING})
    for mood in ("glad", "sad"):
        made.more = f", env: {{MOOD: {mood}}}"
        made.ran("deploy")
    return made


def test_rollback_restores_values_unknown_locally(shop: Shop) -> None:
    assert shop.said("hello") == "sad"
    calls = shop.ran("rollback")
    assert shop.said("hello") == "glad"
    assert not {"lambda.UpdateFunctionConfiguration", "lambda.PublishVersion"} & calls.keys()
    assert shop.ran("deploy")
    assert shop.said("hello") == "sad"


def test_a_function_that_left_the_config_comes_back_as_well(shop: Shop) -> None:
    shop.has("other", "other")
    shop.more = ""
    shop.ran("deploy")
    del shop.functions["other"]
    shop.ran("deploy")
    shop.ran("rollback")
    assert shop.said("other") == "other"


def test_deleted_version_blocks_the_rollback(shop: Shop) -> None:
    client = shop.cloud1.client("lambda")
    client.delete_function(FunctionName="shop-dev-hello", Qualifier="1")
    shop.cloud1.reset()
    error = shop.run("rollback").error
    assert error["code"] == "rollback/environment"
    assert (
        error["message"]
        == "`shop/hello`: the old deployment had other values for MOOD; values were not stored"
    )
    assert shop.said("hello") == "sad"


def test_failed_release_is_rolled_back_without_stored_values(shop: Shop) -> None:
    shop.more = ", env: {MOOD: angry}"
    asked = {"status": 400, "code": "InvalidParameterValueException"}
    shop.functions["hello"] = ["{type: http, path: /hello}", "{type: cron, schedule: rate(1 hour)}"]
    shop.cloud1.fault("events.PutRule", **asked)
    assert shop.run("deploy", "--rollback-on-failure").code != 0
    assert shop.said("hello") == "sad"


def test_a_function_that_would_go_with_its_versions_forbids_the_deploy(shop: Shop) -> None:
    shop.has("other", "other")
    shop.more = ""
    del shop.functions["hello"]
    shop.cloud1.reset()
    error = shop.run("deploy", "--rollback-on-failure").error
    assert error["code"] == "rollback/no-way-back"
    assert "a rollback of `shop/hello` is not possible" in error["message"]
    assert shop.cloud1.calls() == {}
    shop.ran("deploy")


def test_a_plan_warns_about_roles_that_do_not_move(shop: Shop) -> None:
    shop.tail = "defaults: {permissions: [{actions: ['s3:GetObject'], resources: ['*']}]}\n"
    shop.ran("deploy")
    moved = "extensions: {cloud1-lambda: {iam: {path: /shop/}}}\n"
    shop.tail += moved
    warnings = shop.run("plan").result["warnings"]
    [found] = [one for one in warnings if one["code"] == "deploy/kept-setting"]
    assert found["message"] == "`iam.path` is `/shop/`, but the roles of `hello` stay at `/`"
    shop.tail = shop.tail.removesuffix(moved)
    kept = shop.run("plan").result.get("warnings", ())
    assert "deploy/kept-setting" not in {one["code"] for one in kept}
