"""Subscriptions of functions to SNS topics."""

import json
from collections.abc import Iterator
from typing import Any

from fabric.providers.cloud1.core.client import GONE, ignore_codes
from fabric.providers.cloud1.core.permissions import (
    build_topic_permission,
    let_in,
    parse_arn_home,
    shut_out,
)
from fabric.providers.cloud1.core.versions import Cloud1Work
from fabric.providers.cloud1.events.wires import TopicWire, read_options
from fabric.system.cloud1_account import read_error_code

_SCOPES = {"attributes": "MessageAttributes", "body": "MessageBody"}
_OTHER_ATTRIBUTES = "InvalidParameter"
_NOT_FOUND = frozenset(("NotFound",))


def set_topic(work: Cloud1Work, wire: TopicWire, alias: str) -> None:
    """Subscribe the alias. The permission comes first, so that no message is rejected."""
    from botocore.exceptions import ClientError

    topic = _build_topic_arn(wire, alias)
    sns = _open_sns(work, topic)
    let_in(work, alias, build_topic_permission(topic))
    wanted = _build_attributes(wire)
    which = {"TopicArn": topic, "Protocol": "lambda", "Endpoint": alias}
    given = {name: text for name, text in wanted.items() if text}
    there = next(_find_subscriptions(work, topic, alias), "")
    if not there:
        sns.subscribe(**which, Attributes=given, ReturnSubscriptionArn=True)
        return
    found = sns.get_subscription_attributes(SubscriptionArn=there)["Attributes"]
    for name, text in wanted.items():
        if _parse(found.get(name, "")) != _parse(text):
            try:
                sns.set_subscription_attributes(
                    SubscriptionArn=there, AttributeName=name, AttributeValue=text
                )
            except ClientError as error:
                # Without a filter there is no scope to reset.
                if text or read_error_code(error) != _OTHER_ATTRIBUTES:
                    raise


def drop_topic(work: Cloud1Work, wire: TopicWire, alias: str) -> None:
    topic = _build_topic_arn(wire, alias)
    with ignore_codes(GONE, _NOT_FOUND):
        for there in list(_find_subscriptions(work, topic, alias)):
            _open_sns(work, topic).unsubscribe(SubscriptionArn=there)
    shut_out(work, alias, build_topic_permission(topic))


def _find_subscriptions(work: Cloud1Work, topic: str, alias: str) -> Iterator[str]:
    pages = _open_sns(work, topic).get_paginator("list_subscriptions_by_topic")
    for page in pages.paginate(TopicArn=topic):
        for one in page["Subscriptions"]:
            if one["Endpoint"] == alias:
                yield one["SubscriptionArn"]


def _open_sns(work: Cloud1Work, topic: str) -> Any:
    """Open the client in the region of the topic."""
    return work.clients.of("sns", region=topic.split(":")[3])


def _build_topic_arn(wire: TopicWire, alias: str) -> str:
    is_arn = wire.topic.startswith("arn:")
    return wire.topic if is_arn else parse_arn_home(alias).of("sns", wire.topic)


def _build_attributes(wire: TopicWire) -> dict[str, str]:
    """Build all attributes. An empty text resets one."""
    options = read_options(wire)
    policy, dead = options.get("filter"), options.get("deadLetter")
    return {
        "FilterPolicyScope": _SCOPES[options.get("filterScope", "attributes")] if policy else "",
        "FilterPolicy": json.dumps(policy, sort_keys=True) if policy else "",
        "RedrivePolicy": json.dumps({"deadLetterTargetArn": dead}) if dead else "",
    }


def _parse(text: str) -> Any:
    """Parse JSON, whose spaces AWS can change."""
    return json.loads(text) if text.startswith("{") else text
