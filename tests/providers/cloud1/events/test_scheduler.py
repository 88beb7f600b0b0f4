"""Schedules of EventBridge Scheduler, and the role with which it invokes functions."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from tests.support.cloud1_site import Cloud1Site, changing
from tests.support.orders import trigger
from tests.support.servers.strict_cloud1.samples import role_of

pytestmark = pytest.mark.slow

_ROLE = "shop-dev-scheduler"
_DAILY = trigger("cron", schedule="cron(0 12 * * ? *)", timezone="Europe/Berlin")
_HOURLY = trigger("cron", schedule="rate(1 hour)")


def schedule(site: Cloud1Site) -> Mapping[str, Any]:
    """The only one."""
    (name,) = site.cloud1.left()["schedules"]
    group, _, name = name.partition("/")
    found: Mapping[str, Any] = site.cloud1.client("scheduler").get_schedule(
        Name=name, GroupName=group
    )
    return found


def statements(site: Cloud1Site) -> dict[str, list[str]]:
    """The resources by action."""
    iam = site.cloud1.client("iam")
    document = iam.get_role_policy(RoleName=_ROLE, PolicyName="fabric")["PolicyDocument"]
    return {one["Action"][0]: one["Resource"] for one in document["Statement"]}


def has_role(site: Cloud1Site) -> bool:
    found = site.cloud1.client("iam").list_roles()["Roles"]
    return _ROLE in {one["RoleName"] for one in found}


def test_the_first_schedule_creates_the_role_and_the_last_one_deletes_it(site: Cloud1Site) -> None:
    site.up(site.order("hello", _DAILY), site.order("bye"))
    role = site.cloud1.client("iam").get_role(RoleName=_ROLE)["Role"]
    assert schedule(site)["Target"]["RoleArn"] == role["Arn"]
    [alias] = statements(site)["lambda:InvokeFunction"]
    assert alias.endswith(":function:shop-dev-hello:live")
    site.up(site.order("hello", _DAILY), site.order("bye", _DAILY))
    assert len(statements(site)["lambda:InvokeFunction"]) == 2
    site.up(site.order("hello"), site.order("bye", _DAILY))
    [alias] = statements(site)["lambda:InvokeFunction"]
    assert alias.endswith(":function:shop-dev-bye:live")
    site.up(site.order("hello"), site.order("bye", _HOURLY))
    assert not has_role(site)


def test_an_unchanged_schedule_needs_no_call_about_the_role(site: Cloud1Site) -> None:
    site.up(site.order("hello", _DAILY))
    site.cloud1.reset()
    site.up(site.order("hello", _DAILY), site.order("bye"))
    assert not [one for one in site.cloud1.calls() if one.startswith(("iam.", "scheduler."))]


def test_the_role_is_deleted_with_the_service(site: Cloud1Site) -> None:
    site.up(site.order("hello", _DAILY))
    site.dissolve()
    assert (site.cloud1.left(), has_role(site)) == ({}, False)


def test_a_role_of_the_config_replaces_that_of_fabric(site: Cloud1Site) -> None:
    site.up(site.order("hello", _DAILY))
    site.extension["schedulerRoleArn"] = role_of(site.cloud1)
    site.up(site.order("hello", _DAILY))
    assert schedule(site)["Target"]["RoleArn"] == role_of(site.cloud1)
    assert not has_role(site)


def test_a_role_of_somebody_else_is_refused(site: Cloud1Site) -> None:
    site.cloud1.client("iam").create_role(RoleName=_ROLE, AssumeRolePolicyDocument="{}")
    with pytest.raises(FabricError, match="does not belong to the schedules") as raised:
        site.up(site.order("hello", _DAILY))
    assert (raised.value.first.code, "schedulerRoleArn" in raised.value.first.hint) == (
        "deploy/foreign",
        True,
    )


def test_another_path_moves_the_role(site: Cloud1Site) -> None:
    site.up(site.order("hello", _DAILY))
    site.extension["iam"] = {"path": "/shop/"}
    site.up(site.order("hello", _DAILY))
    assert schedule(site)["Target"]["RoleArn"].endswith(f"role/shop/{_ROLE}")


def test_the_role_of_an_interrupted_release_is_found_again(site: Cloud1Site) -> None:
    site.up(site.order("hello"))
    refused = {"status": 400, "code": "ValidationException"}
    site.cloud1.fault("scheduler.CreateSchedule", **refused)
    with pytest.raises(FabricError):
        site.up(site.order("hello", _DAILY))
    assert has_role(site)
    site.up(site.order("hello"), force=True)
    assert not has_role(site)


def test_options_of_a_schedule_follow_the_config(site: Cloud1Site) -> None:
    queue = f"arn:aws:sqs:us-east-1:{site.cloud1.account}:failed"
    site.cloud1.client("scheduler").create_schedule_group(Name="reports")
    asked = {
        "flexibleWindowMinutes": 15,
        "start": "2030-01-01T00:00:00Z",
        "end": "2031-01-01T00:00:00+01:00",
        "group": "reports",
        "retry": {"maximumRetryAttempts": 2},
        "deadLetter": queue,
        "input": {"job": "report"},
    }
    site.up(site.order("hello", trigger("cron", schedule="rate(1 hour)", **asked)))
    found = schedule(site)
    assert found["GroupName"] == "reports"
    window = {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 15}
    assert (found["FlexibleTimeWindow"], found["ScheduleExpressionTimezone"]) == (window, "UTC")
    assert [found[name].year for name in ("StartDate", "EndDate")] == [2030, 2030]
    assert json.loads(found["Target"]["Input"]) == {"job": "report"}
    assert found["Target"]["DeadLetterConfig"] == {"Arn": queue}
    assert statements(site)["sqs:SendMessage"] == [queue]
    site.up(site.order("hello", trigger("cron", schedule="rate(1 hour)", method="scheduler")))
    assert schedule(site)["GroupName"] == "default"
    assert list(statements(site)) == ["lambda:InvokeFunction"]


def test_one_time_is_a_schedule(site: Cloud1Site) -> None:
    site.up(site.order("hello", trigger("cron", schedule="at(2030-01-31T08:00:00)")))
    assert schedule(site)["ScheduleExpression"] == "at(2030-01-31T08:00:00)"


def test_a_missing_group_is_reported_before_any_change(site: Cloud1Site) -> None:
    order = site.order("hello", trigger("cron", schedule="rate(1 hour)", group="none"))
    site.deploy(replace(order, mark="1"))
    site.cloud1.reset()
    with pytest.raises(FabricError, match="schedule group `none`, which does not exist"):
        site.release(["hello"])
    assert changing(site.cloud1) == {}
