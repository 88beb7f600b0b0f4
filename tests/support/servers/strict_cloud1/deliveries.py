"""Events of buckets, buses and schedules, delivered to functions in the place of moto.

moto finds out what fits what; to call a function it would start a container, so the two places
where it does are taken over here, once, when the server starts.
"""

import json
import uuid
from datetime import UTC, datetime
from typing import Any

from moto.events.models import Rule, events_backends
from moto.events.utils import EventTemplateParser
from moto.s3 import notifications
from moto.scheduler.models import scheduler_backends
from moto.sns.models import Subscription

from tests.support.servers.strict_cloud1.accounts import Region
from tests.support.servers.strict_cloud1.cloud import Cloud
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.role_access import is_allowed


def take_over(cloud: Cloud) -> None:
    _take_over_topics(cloud)
    by_moto = Rule.send_to_targets

    def send(rule: Rule, event: Any, transform_input: bool = True) -> None:  # noqa: FBT001, FBT002
        if rule.state == "ENABLED" and _fits(rule, event):
            _send_by_rule(cloud, rule, event)
        everything = rule.targets
        rule.targets = [one for one in everything if not _is_own(one["Arn"])]
        try:
            by_moto(rule, event, transform_input)
        finally:
            rule.targets = everything

    def invoke(account_id: str, event_body: Any, fn_arn: str, region_name: str) -> None:
        region = cloud.region_of(account_id, fn_arn)
        if region:
            bucket = event_body["Records"][0]["s3"]["bucket"]["arn"]
            cloud.send(region, fn_arn, "s3.amazonaws.com", bucket, event_body)

    Rule.send_to_targets = send  # type: ignore[method-assign, assignment]
    notifications._invoke_awslambda = invoke  # noqa: SLF001


def _take_over_topics(cloud: Cloud) -> None:
    by_sns = Subscription.publish

    def publish(subscription: Subscription, message: str, message_id: str, **more: Any) -> None:
        if subscription.protocol != "lambda":
            by_sns(subscription, message, message_id, **more)
            return
        attributes, matcher = more.get("message_attributes"), subscription._filter_policy_matcher  # noqa: SLF001
        region = cloud.region_of(subscription.account_id, subscription.endpoint)
        if region and (matcher is None or matcher.matches(attributes, message)):
            event = _notification(subscription, message, message_id, more)
            source = subscription.topic.arn
            cloud.send(region, subscription.endpoint, "sns.amazonaws.com", source, event)

    Subscription.publish = publish  # type: ignore[method-assign, assignment]


def _notification(
    subscription: Subscription, message: str, message_id: str, more: Fields
) -> Fields:
    said = more.get("message_attributes") or {}
    notification = {
        "Type": "Notification",
        "MessageId": message_id,
        "TopicArn": subscription.topic.arn,
        "Subject": more.get("subject"),
        "Message": message,
        "Timestamp": _now(),
        "MessageAttributes": {
            name: {"Type": one["type"], "Value": one["value"]} for name, one in said.items()
        },
    }
    row = {"EventSource": "aws:sns", "EventVersion": "1.0"}
    return {"Records": [{**row, "EventSubscriptionArn": subscription.arn, "Sns": notification}]}


def _fits(rule: Rule, event: Fields) -> bool:
    """A rule that only has a schedule is of no event of others."""
    return bool(rule.event_pattern.get_pattern()) and rule.event_pattern.matches_event(event)  # type: ignore[arg-type]


def _send_by_rule(cloud: Cloud, rule: Rule, event: Fields) -> None:
    for target in rule.targets:
        region = cloud.region_of(rule.account_id, target["Arn"])
        if region and ":states:" in target["Arn"]:
            _start(cloud, region, target, _shaped(target, {**event, "time": _now()}))
        elif region and ":lambda:" in target["Arn"]:
            shaped = _shaped(target, {**event, "time": _now()})
            cloud.send(region, target["Arn"], "events.amazonaws.com", rule.arn, shaped)


def _is_own(arn: str) -> bool:
    return ":lambda:" in arn or ":states:" in arn


def _start(cloud: Cloud, region: Region, target: Fields, event: Any) -> None:
    """Start a state machine, if the role of the target allows it."""
    arn = target["Arn"]
    if is_allowed(region, target["RoleArn"], "states:StartExecution", arn):
        asked = {"stateMachineArn": arn, "input": json.dumps(event)}
        cloud.later.submit(cloud.execute, region, asked)


def _shaped(target: Fields, event: Fields) -> Any:
    if "Input" in target:
        return json.loads(target["Input"])
    transformer = target.get("InputTransformer")
    if not transformer:
        return event
    return EventTemplateParser.parse(
        transformer.get("InputTemplate"),
        transformer.get("InputPathsMap", {}),
        event,  # type: ignore[arg-type]
    )


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")  # noqa: TID251 - shown only


def fire_rule(cloud: Cloud, region: Region, name: str) -> bool:
    """The time of a rule of the default bus has come; False where there is none that is on."""
    bus = events_backends[region.account.number][region.name].event_buses["default"]
    rule = bus.rules.get(name)
    if rule is None or not rule.scheduled_expression or rule.state != "ENABLED":
        return False
    _send_by_rule(cloud, rule, _scheduled(region, "aws.events", rule.arn))
    return True


def fire_schedule(cloud: Cloud, region: Region, name: str) -> bool:
    backend = scheduler_backends[region.account.number][region.name]
    found = [
        one.schedules[name] for one in backend.schedule_groups.values() if name in one.schedules
    ]
    if not found or found[0].state != "ENABLED":
        return False
    target = found[0].target
    event = _scheduled(region, "aws.scheduler", found[0].arn)
    given = json.loads(target["Input"]) if target.get("Input") else event
    if ":states:" in target["Arn"]:
        _start(cloud, region, target, given)
    else:
        cloud.later.submit(cloud.call_by_role, region, target["Arn"], given)
    return True


def _scheduled(region: Region, source: str, arn: str) -> Fields:
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Scheduled Event",
        "source": source,
        "account": region.account.number,
        "time": _now(),
        "region": region.name,
        "resources": [arn],
        "detail": {},
    }
