"""The evaluator of identity policies, against sets of all requests that there can be."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.servers.strict_cloud1.iam_policies import IamRequest, allows

Pair = tuple[str, str]
TABLE = "arn:aws:dynamodb:eu-central-1:1:table/"
# What each pattern stands for in this world.
ACTIONS = {
    "*": {"sqs:SendMessage", "dynamodb:GetItem", "dynamodb:PutItem"},
    "DYNAMODB:*": {"dynamodb:GetItem", "dynamodb:PutItem"},
    "dynamodb:?etItem": {"dynamodb:GetItem"},
    "sqs:Send*": {"sqs:SendMessage"},
}
RESOURCES = {
    "*": {TABLE + "a", TABLE + "b", "arn:aws:sqs:us-east-1:1:a"},
    TABLE + "*": {TABLE + "a", TABLE + "b"},
    TABLE + "a": {TABLE + "a"},
    "arn:aws:*:*:1:a": {"arn:aws:sqs:us-east-1:1:a"},
    # A wildcard stays in its part.
    "arn:aws:*/a": set[str](),
}
WORLD: set[Pair] = set(product(ACTIONS["*"], RESOURCES["*"]))


def covered(statement: dict[str, Any], key: str, patterns: dict[str, set[str]]) -> set[str]:
    is_negated = key not in statement
    said = statement[f"Not{key}" if is_negated else key]
    found = {one for pattern in said for one in patterns[pattern]}
    return patterns["*"] - found if is_negated else found


def pairs(statements: list[dict[str, Any]], effect: str) -> set[Pair]:
    return {
        pair
        for one in statements
        if one["Effect"] == effect
        for pair in product(covered(one, "Action", ACTIONS), covered(one, "Resource", RESOURCES))
    }


def element(key: str, patterns: dict[str, set[str]]) -> st.SearchStrategy[dict[str, list[str]]]:
    names = st.lists(st.sampled_from(sorted(patterns)), min_size=1, max_size=2)
    return st.tuples(st.sampled_from([key, f"Not{key}"]), names).map(lambda one: dict([one]))


def merge(effect: str, action: dict[str, Any], resource: dict[str, Any]) -> dict[str, Any]:
    return {"Effect": effect, **action, **resource}


STATEMENTS = st.lists(
    st.builds(
        merge,
        st.sampled_from(["Allow", "Deny"]),
        element("Action", ACTIONS),
        element("Resource", RESOURCES),
    ),
    max_size=4,
)


@given(STATEMENTS, st.none() | STATEMENTS)
def test_a_request_needs_an_allow_no_deny_and_its_boundary(
    statements: list[dict[str, Any]], bounds: list[dict[str, Any]] | None
) -> None:
    boundary = None if bounds is None else {"Statement": bounds}
    policies = [{"Statement": [one]} for one in statements]
    allowed = pairs(statements, "Allow") & (WORLD if bounds is None else pairs(bounds, "Allow"))
    allowed -= pairs([*statements, *(bounds or [])], "Deny")
    assert allowed == {pair for pair in WORLD if allows(policies, IamRequest(*pair), boundary)}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"StringEquals": {"AWS:requestedregion": ["us-east-1", "eu-central-1"]}}, True),
        ({"StringEquals": {"aws:RequestedRegion": "eu-*"}}, False),
        ({"StringLike": {"aws:RequestedRegion": "eu-*"}}, True),
        ({"StringNotLike": {"aws:RequestedRegion": "eu-*"}}, False),
        ({"ArnLike": {"aws:SourceArn": "arn:aws:iam::*:role/*"}}, True),
        ({"ArnLike": {"aws:SourceArn": "arn:aws:iam::2:role/*"}}, False),
        ({"Bool": {"aws:SecureTransport": True}}, True),
        ({"Bool": {"aws:none": True}}, False),
        ({"BoolIfExists": {"aws:none": True}}, True),
        ({"StringNotEquals": {"aws:none": "x"}}, True),
        ({"StringLike": {"aws:RequestedRegion": "*"}, "Bool": {"aws:none": True}}, False),
    ],
)
def test_all_conditions_must_hold(condition: dict[str, Any], expected: bool) -> None:  # noqa: FBT001
    statement = {"Effect": "Allow", "Action": "a:B", "Resource": "*", "Condition": condition}
    context = {
        "aws:RequestedRegion": "eu-central-1",
        "aws:SourceArn": "arn:aws:iam::1:role/x",
        "aws:SecureTransport": "true",
    }
    assert allows([{"Statement": statement}], IamRequest("a:B", "x", context)) is expected


def test_an_operator_that_is_not_known_is_an_error() -> None:
    condition = {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}
    statement = {"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": condition}
    with pytest.raises(KeyError):
        allows([{"Statement": statement}], IamRequest("a:B"))
