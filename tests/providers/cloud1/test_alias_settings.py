"""Settings of functions that a release sets: they belong to no version."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from fabric.model.calls.concurrency import encode_concurrency
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


def test_log_groups_have_the_configured_class_and_key(site: Cloud1Site) -> None:
    logs = site.cloud1.client("logs")
    key = "arn:aws:kms:us-east-1:123456789012:key/1a2b"

    def group() -> dict[str, Any]:
        prefix = "/aws/lambda/shop-dev-hello"
        [found] = logs.describe_log_groups(logGroupNamePrefix=prefix)["logGroups"]
        return dict(found)

    said = {"class": "infrequentAccess", "kmsKey": key, "retentionDays": 7}
    site.up(order_with(site, "1", logs=said))
    found = group()
    assert found["logGroupClass"] == "INFREQUENT_ACCESS"
    assert (found["kmsKeyId"], found["retentionInDays"]) == (key, 7)
    site.up(order_with(site, "2", logs={"class": "infrequentAccess"}))
    assert not {"kmsKeyId", "retentionInDays"} & group().keys()
    with pytest.raises(FabricError, match="has the class INFREQUENT_ACCESS"):
        site.up(order_with(site, "3", logs={"class": "standard"}))


def test_recursion_follows_the_config(site: Cloud1Site) -> None:
    lambdas = site.cloud1.client("lambda")

    def recursion() -> str:
        found = lambdas.get_function_recursion_config(FunctionName="shop-dev-hello")
        return str(found["RecursiveLoop"])

    site.up(order_with(site, "1", recursiveLoop="allow"))
    assert recursion() == "Allow"
    site.up(order_with(site, "2"))
    assert recursion() == "Terminate"


_SCALED = {
    "min": 2,
    "max": 10,
    "target": 0.5,
    "schedules": [{"cron": "0 8 * * 1-5", "min": 4, "timezone": "Europe/Berlin"}],
}


def scaled(site: Cloud1Site, mark: str, scaling: dict[str, Any], word: str = "") -> FunctionOrder:
    two = encode_concurrency(None, scaling["min"])
    settings = {"concurrency": two, "provisionedConcurrency": scaling}
    order = order_with(site, mark, **settings)
    return replace(order, artifact=site.order("hello", HTTP, word=word or "hello").artifact)


def targets(site: Cloud1Site) -> dict[str, tuple[int, int]]:
    client = site.cloud1.client("application-autoscaling")
    found = client.describe_scalable_targets(ServiceNamespace="lambda")["ScalableTargets"]
    return {one["ResourceId"]: (one["MinCapacity"], one["MaxCapacity"]) for one in found}


def test_scaling_moves_with_the_version_and_ends_with_it(site: Cloud1Site) -> None:
    client = site.cloud1.client("application-autoscaling")
    site.up(scaled(site, "1", _SCALED))
    assert targets(site) == {"function:shop-dev-hello:1": (2, 10)}
    [policy] = client.describe_scaling_policies(ServiceNamespace="lambda")["ScalingPolicies"]
    assert policy["TargetTrackingScalingPolicyConfiguration"]["TargetValue"] == 0.5
    [action] = client.describe_scheduled_actions(ServiceNamespace="lambda")["ScheduledActions"]
    assert action["Schedule"] == "cron(0 8 ? * MON,TUE,WED,THU,FRI *)"
    assert action["ScalableTargetAction"] == {"MinCapacity": 4}
    site.up(scaled(site, "2", {"min": 3, "max": 5}, word="other"))
    assert targets(site) == {"function:shop-dev-hello:2": (3, 5)}
    assert not client.describe_scheduled_actions(ServiceNamespace="lambda")["ScheduledActions"]
    assert (instances_of(site.cloud1, "1"), instances_of(site.cloud1, "2")) == (0, 3)
    site.up(order_with(site, "3", concurrency=encode_concurrency(None, 1)))
    assert targets(site) == {}


def test_a_removed_schedule_of_the_scaling_is_deleted(site: Cloud1Site) -> None:
    client = site.cloud1.client("application-autoscaling")
    site.up(scaled(site, "1", _SCALED))
    first = site.live("hello").resource_id
    later = {**_SCALED, "schedules": [{"at": "2030-01-31T08:00:00", "max": 20}]}
    site.up(replace(scaled(site, "2", later), version=first))
    [action] = client.describe_scheduled_actions(ServiceNamespace="lambda")["ScheduledActions"]
    assert action["Schedule"] == "at(2030-01-31T08:00:00)"
    assert targets(site) == {"function:shop-dev-hello:1": (2, 10)}


def test_a_forced_deploy_keeps_the_number_that_the_scaling_chose(site: Cloud1Site) -> None:
    lambdas = site.cloud1.client("lambda")
    order = scaled(site, "1", _SCALED)
    site.up(order)
    which = {"FunctionName": "shop-dev-hello", "Qualifier": "1"}
    lambdas.put_provisioned_concurrency_config(**which, ProvisionedConcurrentExecutions=7)
    site.up(order, force=True)
    assert instances_of(site.cloud1, "1") == 7


def test_the_scaling_of_a_failed_release_ends(site: Cloud1Site) -> None:
    site.up(site.order("hello", HTTP))
    refused = {"status": 400, "code": "ValidationException"}
    site.cloud1.fault("application-autoscaling.PutScalingPolicy", **refused)
    with pytest.raises(FabricError):
        site.up(scaled(site, "2", _SCALED))
    assert len(targets(site)) == 1
    site.up(site.order("hello", HTTP), force=True)
    assert targets(site) == {}


def test_the_scaling_of_a_deleted_function_ends(site: Cloud1Site) -> None:
    site.up(scaled(site, "1", _SCALED))
    site.up(site.order("bye"))
    assert targets(site) == {}
    site.up(scaled(site, "1", _SCALED))
    site.dissolve()
    assert site.cloud1.left() == {}


def test_unchanged_settings_need_no_call(site: Cloud1Site) -> None:
    settings: dict[str, object] = {
        "async": {"maximumRetryAttempts": 0},
        "url": True,
        "logs": {"retentionDays": 14},
        "concurrency": encode_concurrency(None, 2),
        "provisionedConcurrency": _SCALED,
        "recursiveLoop": "allow",
    }
    site.up(order_with(site, "1", **settings))
    site.cloud1.reset()
    site.up(order_with(site, "1", **settings))
    words = ("EventInvoke", "UrlConfig", "Provisioned", "logs.", "autoscaling", "Recursion")
    assert not [one for one in site.cloud1.calls() if any(word in one for word in words)]
