"""Roles that fabric creates for functions with permissions."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.providers.core.contract import FunctionOrder
from tests.support.cloud1_site import Cloud1Site
from tests.support.orders import HTTP

pytestmark = pytest.mark.slow

_NAME = "shop-dev-hello-role"


def order_with(site: Cloud1Site, *actions: str, mark: str = "") -> FunctionOrder:
    permissions = [{"actions": [one], "resources": ["*"]} for one in actions]
    order = site.order("hello", HTTP)
    return replace(
        order,
        settings=(*order.settings, ("permissions", json.dumps(permissions))),
        mark=mark or "-".join(actions),
    )


def role_of(site: Cloud1Site) -> Mapping[str, Any]:
    found: Mapping[str, Any] = site.cloud1.client("iam").get_role(RoleName=_NAME)["Role"]
    return found


def actions_of(site: Cloud1Site) -> list[str]:
    iam = site.cloud1.client("iam")
    document = iam.get_role_policy(RoleName=_NAME, PolicyName="fabric")["PolicyDocument"]
    return [action for one in document["Statement"] for action in one["Action"]]


def managed_of(site: Cloud1Site) -> list[str]:
    found = site.cloud1.client("iam").list_attached_role_policies(RoleName=_NAME)
    return sorted(one["PolicyName"] for one in found["AttachedPolicies"])


def test_a_function_with_permissions_gets_a_role(site: Cloud1Site) -> None:
    site.up(order_with(site, "s3:GetObject"))
    found = site.cloud1.client("lambda").get_function(FunctionName="shop-dev-hello")
    assert found["Configuration"]["Role"] == role_of(site)["Arn"]
    assert actions_of(site) == ["s3:GetObject"]
    assert managed_of(site) == ["AWSLambdaBasicExecutionRole"]
    tags = {one["Key"]: one["Value"] for one in role_of(site)["Tags"]}
    assert tags == {
        "fabric:service": "shop",
        "fabric:stage": "dev",
        "fabric:function": "hello",
    }


def test_permissions_grow_in_the_deploy_and_shrink_in_the_release(site: Cloud1Site) -> None:
    site.up(order_with(site, "s3:GetObject"))
    site.deploy_all([order_with(site, "s3:PutObject")])
    assert actions_of(site) == ["s3:GetObject", "s3:PutObject"]
    site.release(["hello"])
    assert actions_of(site) == ["s3:PutObject"]


def test_a_deploy_without_a_release_loses_no_permission_of_the_live_version(
    site: Cloud1Site,
) -> None:
    site.up(order_with(site, "s3:GetObject"))
    site.deploy_all([order_with(site, "s3:PutObject")])
    site.deploy_all([order_with(site, "s3:DeleteObject")])
    assert actions_of(site) == ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"]
    site.release(["hello"])
    assert actions_of(site) == ["s3:DeleteObject"]


def test_a_changed_permission_publishes_no_version(site: Cloud1Site) -> None:
    site.up(order_with(site, "s3:GetObject"))
    [first] = site.known().functions
    site.cloud1.reset()
    site.up(replace(order_with(site, "s3:PutObject"), version=first.resource_id))
    [second] = site.known().functions
    assert second.resource_id == first.resource_id
    assert sum(site.cloud1.calls().values()) <= 6, site.cloud1.calls()


def test_unchanged_permissions_need_no_call(site: Cloud1Site) -> None:
    site.up(order_with(site, "s3:GetObject"))
    site.cloud1.reset()
    site.up(order_with(site, "s3:GetObject", mark="other"))
    assert not [one for one in site.cloud1.calls() if one.startswith("iam.")]


def test_a_role_of_somebody_else_is_refused(site: Cloud1Site) -> None:
    iam = site.cloud1.client("iam")
    iam.create_role(RoleName=_NAME, AssumeRolePolicyDocument="{}")
    with pytest.raises(FabricError, match="does not belong to the function") as raised:
        site.up(order_with(site, "s3:GetObject"))
    assert raised.value.first.code == "deploy/foreign"


def test_the_role_is_deleted_with_its_function(site: Cloud1Site) -> None:
    iam = site.cloud1.client("iam")
    site.up(order_with(site, "s3:GetObject"))
    site.up(site.order("bye"))
    assert _NAME not in {one["RoleName"] for one in iam.list_roles()["Roles"]}


def test_a_boundary_follows_the_config(site: Cloud1Site) -> None:
    boundary = f"arn:aws:iam::{site.cloud1.account}:policy/edge"
    site.extension["iam"] = {"boundary": boundary}
    site.up(order_with(site, "s3:GetObject"))
    assert role_of(site)["PermissionsBoundary"]["PermissionsBoundaryArn"] == boundary
    del site.extension["iam"]
    site.up(order_with(site, "s3:GetObject", mark="free"))
    assert "PermissionsBoundary" not in role_of(site)


def test_a_role_of_a_run_without_a_release_is_made_exact_by_the_next_release(
    site: Cloud1Site,
) -> None:
    site.deploy_all([order_with(site, "s3:GetObject")])
    site.deploy_all([order_with(site, "s3:PutObject")])
    assert actions_of(site) == ["s3:GetObject", "s3:PutObject"]
    site.release(["hello"])
    assert actions_of(site) == ["s3:PutObject"]


def test_without_state_the_live_version_keeps_its_permissions_until_the_release(
    site: Cloud1Site,
) -> None:
    site.up(order_with(site, "s3:GetObject"))
    site.record = None
    site.deploy_all([order_with(site, "s3:PutObject")])
    assert actions_of(site) == ["s3:GetObject", "s3:PutObject"]
    site.release(["hello"])
    assert actions_of(site) == ["s3:PutObject"]
