"""Settings of functions that a release sets: they belong to no version."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from fabric.model.concurrency import encode_concurrency
from fabric.model.problems import FabricError
from fabric.providers.core.contract import FunctionOrder
from tests.support.cloud1_site import Cloud1Site
from tests.support.orders import HTTP
from tests.support.servers.strict_cloud1.client import StrictCloud1

pytestmark = pytest.mark.slow

_LIVE = {"FunctionName": "shop-dev-hello", "Qualifier": "live"}
_QUEUE = "arn:aws:sqs:us-east-1:123456789012:failed"


def order_with(site: Cloud1Site, mark: str, /, **settings: object) -> FunctionOrder:
    order = site.order("hello", HTTP)
    said = {
        name: one if isinstance(one, str) else json.dumps(one) for name, one in settings.items()
    }
    return replace(order, settings=(*order.settings, *said.items()), mark=mark)


def instances_of(cloud1: StrictCloud1, version: str) -> int:
    lambdas = cloud1.client("lambda")
    which = {"FunctionName": "shop-dev-hello", "Qualifier": version}
    try:
        found = lambdas.get_provisioned_concurrency_config(**which)
    except (
        lambdas.exceptions.ProvisionedConcurrencyConfigNotFoundException,
        lambdas.exceptions.ResourceNotFoundException,
    ):
        return 0
    return int(found["RequestedProvisionedConcurrentExecutions"])


def test_retries_and_destinations_of_asynchronous_calls_follow_the_config(
    site: Cloud1Site,
) -> None:
    lambdas = site.cloud1.client("lambda")
    site.up(order_with(site, "1", **{"async": {"maximumRetryAttempts": 0, "onFailure": _QUEUE}}))
    found = lambdas.get_function_event_invoke_config(**_LIVE)
    assert (found["MaximumRetryAttempts"], found["MaximumEventAgeInSeconds"]) == (0, 21_600)
    assert found["DestinationConfig"] == {"OnFailure": {"Destination": _QUEUE}}
    site.up(order_with(site, "2"))
    with pytest.raises(lambdas.exceptions.ResourceNotFoundException):
        lambdas.get_function_event_invoke_config(**_LIVE)


def test_a_url_is_an_output_and_open_to_everybody(site: Cloud1Site) -> None:
    order = replace(order_with(site, "1", url=True), triggers=())
    outputs = dict(site.up(order).outputs)
    assert outputs["url_hello"].startswith("https://shop-dev-hello-live.lambda-url.")
    policy = json.loads(site.cloud1.client("lambda").get_policy(**_LIVE)["Policy"])
    assert {one["Action"] for one in policy["Statement"] if one["Principal"] == "*"} == {
        "lambda:InvokeFunctionUrl",
        "lambda:InvokeFunction",
    }


def test_a_signed_url_is_open_to_nobody_else(site: Cloud1Site) -> None:
    lambdas = site.cloud1.client("lambda")
    site.up(order_with(site, "1", url=True))
    changed: dict[str, Any] = {"authorizer": "AWS_IAM", "stream": True, "cors": "https://a.test"}
    site.up(order_with(site, "2", url=changed))
    found = lambdas.get_function_url_config(**_LIVE)
    assert (found["AuthType"], found["InvokeMode"]) == ("AWS_IAM", "RESPONSE_STREAM")
    assert found["Cors"]["AllowOrigins"] == ["https://a.test"]
    policy = json.loads(lambdas.get_policy(**_LIVE)["Policy"])
    assert not [one for one in policy["Statement"] if one["Principal"] == "*"]
    site.up(order_with(site, "3"))
    with pytest.raises(lambdas.exceptions.ResourceNotFoundException):
        lambdas.get_function_url_config(**_LIVE)


def test_logs_are_kept_for_the_configured_days(site: Cloud1Site) -> None:
    logs = site.cloud1.client("logs")

    def retention() -> object:
        prefix = "/aws/lambda/shop-dev-hello"
        [group] = logs.describe_log_groups(logGroupNamePrefix=prefix)["logGroups"]
        return group.get("retentionInDays")

    site.up(order_with(site, "1", logs={"retentionDays": 14}))
    assert retention() == 14
    site.up(order_with(site, "2"))
    assert retention() is None


def test_provisioned_instances_move_with_the_version(site: Cloud1Site) -> None:
    two = encode_concurrency(None, 2)
    site.up(order_with(site, "1", concurrency=two))
    assert instances_of(site.cloud1, "1") == 2
    other = replace(site.order("hello", HTTP, word="other"), mark="2")
    site.up(replace(other, settings=(*other.settings, ("concurrency", two))))
    assert (instances_of(site.cloud1, "1"), instances_of(site.cloud1, "2")) == (0, 2)
    site.up(replace(other, mark="3"))
    assert instances_of(site.cloud1, "2") == 0


def test_instances_stay_until_the_new_version_has_the_traffic(site: Cloud1Site) -> None:
    site.up(order_with(site, "1", concurrency=encode_concurrency(None, 2)))
    other = replace(site.order("hello", HTTP, word="other"), mark="2")
    site.deploy_all([other])
    refused = {"status": 400, "code": "InvalidParameterValueException"}
    site.cloud1.fault("lambda.UpdateAlias", **refused)
    with pytest.raises(FabricError):
        site.release(["hello"])
    assert instances_of(site.cloud1, "1") == 2
    site.up(other)
    assert instances_of(site.cloud1, "1") == 0


def test_instances_of_a_failed_release_are_stopped_later(site: Cloud1Site) -> None:
    site.up(site.order("hello", HTTP))
    refused = {"status": 400, "code": "InvalidParameterValueException"}
    site.cloud1.fault("lambda.GetProvisionedConcurrencyConfig", **refused)
    with pytest.raises(FabricError):
        site.up(order_with(site, "2", concurrency=encode_concurrency(None, 2)))
    [live] = site.known().functions
    version = live.resource_id.rpartition(":")[2]
    assert instances_of(site.cloud1, version) == 2
    site.up(site.order("hello", HTTP), force=True)
    assert instances_of(site.cloud1, version) == 0


def test_unchanged_settings_need_no_call(site: Cloud1Site) -> None:
    settings: dict[str, object] = {
        "async": {"maximumRetryAttempts": 0},
        "url": True,
        "logs": {"retentionDays": 14},
        "concurrency": encode_concurrency(None, 2),
    }
    site.up(order_with(site, "1", **settings))
    site.cloud1.reset()
    site.up(order_with(site, "1", **settings))
    words = ("EventInvoke", "UrlConfig", "Provisioned", "logs.")
    assert not [one for one in site.cloud1.calls() if any(word in one for word in words)]
