"""The rights of a config on the role of its functions."""

import json
from typing import Any

import pytest

from fabric.model.problems import FabricError
from tests.support.cloud1_site import Cloud1Site, changing

pytestmark = pytest.mark.slow

_ONE = {"effect": "Allow", "actions": ["sqs:SendMessage"], "resources": ["*"]}
_TWO = {"effect": "Deny", "actions": ["s3:*"], "resources": ["arn:aws:s3:::kept"], "sid": "Kept"}


def say(site: Cloud1Site, *statements: dict[str, Any]) -> None:
    site.extension["iam"] = {"role": {"statements": list(statements)}}


def policy(site: Cloud1Site, role: str = "functions") -> Any:
    asked = {"RoleName": role, "PolicyName": "fabric-shop-dev"}
    found = site.cloud1.client("iam").get_role_policy(**asked)["PolicyDocument"]
    return found["Statement"]


def test_statements_are_a_policy_of_the_role(site: Cloud1Site) -> None:
    say(site, _ONE, _TWO)
    site.up(site.order("hello"))
    assert policy(site) == [
        {"Effect": "Allow", "Action": ["sqs:SendMessage"], "Resource": ["*"]},
        {
            "Effect": "Deny",
            "Action": ["s3:*"],
            "Resource": ["arn:aws:s3:::kept"],
            "Sid": "Kept",
        },
    ]


def test_unchanged_statements_cause_no_call(site: Cloud1Site) -> None:
    say(site, _ONE)
    site.up(site.order("hello"))
    site.cloud1.reset()
    site.up(site.order("hello", word="two"))
    assert "iam.PutRolePolicy" not in changing(site.cloud1)


def test_removed_statements_are_deleted_from_the_role(site: Cloud1Site) -> None:
    say(site, _ONE)
    site.up(site.order("hello"))
    say(site)
    site.up(site.order("hello"))
    assert "role policies" not in site.cloud1.left()


def test_another_role_takes_the_statements_over(site: Cloud1Site) -> None:
    say(site, _ONE)
    site.up(site.order("hello"))
    site.extension["roleArn"] = site.cloud1.role("others")
    site.up(site.order("hello", word="two"))
    assert site.cloud1.left()["role policies"] == ["others/fabric-shop-dev"]


def test_forbidden_role_change_is_reported_with_the_policy(site: Cloud1Site) -> None:
    say(site, _ONE)
    site.cloud1.fault("iam.PutRolePolicy", status=403, code="AccessDenied", message="no")
    site.deploy(site.order("hello"))
    with pytest.raises(FabricError) as found:
        site.release(["hello"])
    (problem,) = found.value.problems
    assert problem.code == "credentials/refused"
    document = json.loads(problem.hint[problem.hint.index("{") :])
    assert document["Statement"] == [
        {"Action": ["sqs:SendMessage"], "Effect": "Allow", "Resource": ["*"]}
    ]
