"""What the role of schedules may do."""

import json

from fabric.providers.cloud1.core.policies import LONGEST_POLICY
from fabric.providers.cloud1.events.scheduler_role import build_schedule_policies
from fabric.providers.cloud1.events.wires import ScheduleWire
from tests.support.orders import address

_ARN = "arn:aws:lambda:eu-central-1:123456789012:function:shop-dev-{}:live"
_QUEUE = "arn:aws:sqs:eu-central-1:123456789012:failed"


def resources_of(count: int, options: str = "") -> list[list[str]]:
    wires = (ScheduleWire("a", options=options), ScheduleWire("b", options=options))
    schedules = {_ARN.format(f"f{number}"): wires for number in range(count)}
    document = build_schedule_policies(address(), schedules).document
    assert len(document) <= LONGEST_POLICY
    return [one["Resource"] for one in json.loads(document)["Statement"]]


def test_only_functions_with_schedules_can_be_invoked() -> None:
    assert resources_of(2) == [[_ARN.format("f0"), _ARN.format("f1")]]


def test_each_queue_of_failed_events_is_named_once() -> None:
    options = json.dumps({"deadLetter": _QUEUE})
    assert resources_of(1, options) == [[_ARN.format("f0")], [_QUEUE]]


def test_a_policy_that_would_be_too_long_names_all_functions_of_the_service() -> None:
    assert resources_of(200) == [[_ARN.format("*")]]
