"""The desired routing of a hostname: weights, health paths and its hash."""

import pytest
from msgspec.structs import replace

from fabric.model.routing.routing import (
    DesiredRouting,
    EndpointShare,
    RouterAction,
    RouterResource,
    RouterVerb,
)

LEFT = EndpointShare("left", "https://left.example/api", 30)
RIGHT = EndpointShare("right", "https://right.example", 70)
DESIRED = DesiredRouting("shop.example", "shop (dev)", (LEFT, RIGHT), 60)


def test_the_heaviest_endpoint_is_for_backends_that_support_only_one() -> None:
    assert DESIRED.heaviest is RIGHT
    assert DESIRED.weights == (("left", 30), ("right", 70))


def test_of_equal_weights_the_first_endpoint_is_the_heaviest() -> None:
    even = replace(DESIRED, shares=(replace(LEFT, weight=50), replace(RIGHT, weight=50)))
    assert even.heaviest.label == "left"


@pytest.mark.parametrize(
    ("check_path", "left", "right"),
    [("", "", ""), ("/", "/api", "/"), ("/health", "/api/health", "/health")],
)
def test_a_health_path_is_below_the_path_of_the_endpoint(
    check_path: str, left: str, right: str
) -> None:
    desired = replace(DESIRED, check_path=check_path)
    assert desired.join_health_path(LEFT) == left
    assert desired.join_health_path(RIGHT) == right


@pytest.mark.parametrize(
    "changed",
    [
        replace(DESIRED, hostname="other.example"),
        replace(DESIRED, owner="shop (prod)"),
        replace(DESIRED, ttl=61),
        replace(DESIRED, strategy="geo"),
        replace(DESIRED, check_path="/health"),
        replace(DESIRED, shares=(RIGHT, LEFT)),
        replace(DESIRED, shares=(replace(LEFT, weight=31), RIGHT)),
        replace(DESIRED, shares=(replace(LEFT, url="https://new.example"), RIGHT)),
    ],
)
def test_every_setting_changes_the_hash(changed: DesiredRouting) -> None:
    assert changed.digest != DESIRED.digest


@pytest.mark.parametrize(
    ("verb", "changes"),
    [
        (RouterVerb.CREATE, True),
        (RouterVerb.UPDATE, True),
        (RouterVerb.NO_OP, False),
        (RouterVerb.DELETE_CANDIDATE, False),
    ],
)
def test_deletion_candidates_are_not_changed(verb: RouterVerb, *, changes: bool) -> None:
    assert RouterAction(RouterResource.POOL, verb, "pool", "").changes == changes


def test_a_host_is_the_one_of_the_url() -> None:
    assert LEFT.host == "left.example"
