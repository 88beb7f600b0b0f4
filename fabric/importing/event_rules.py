"""Rules for keys of events that the Serverless Framework and AWS SAM write in another case."""

from collections.abc import Callable

from fabric.importing.context import Context
from fabric.importing.draft import Fields
from fabric.importing.event_target import EventTarget
from fabric.importing.rules import (
    Rules,
    apply_rules,
    copy_as,
    drop_because,
    in_both_cases,
    inside,
    is_function,
    lose_because,
    map_as,
    number_as,
    put_enabled,
    share,
)
from fabric.importing.source import At

AFTER = "write the resource into a stack `after` the release, with ${function:NAME.arn}"
ConvertEvent = Callable[[Context, At, EventTarget], None]


def is_plain(at: At) -> bool:
    """Return whether an event is one value instead of settings."""
    return not at.is_map or is_function(at)


def build_source_event(kind: str, key: str, rules: Rules) -> ConvertEvent:
    """Build the conversion of an event with one source."""

    def convert(context: Context, at: At, target: EventTarget) -> None:
        trigger = target.add(at, kind)
        if is_plain(at):
            context.copy(at, trigger, key)
        else:
            apply_rules(context, at, rules, trigger)
        target.remove_without(trigger, key)

    return convert


def put_scope(context: Context, at: At, trigger: Fields) -> None:
    scope = {"MessageBody": "body", "MessageAttributes": "attributes"}.get(at.text, "")
    context.put(at, trigger, "filterScope", scope)


_TRANSFORMER = {"inputPathsMap": map_as("paths"), "inputTemplate": copy_as("template")}
_RETRIES = {
    "maximumRetryAttempts": number_as("maximumRetryAttempts"),
    **share(("maximumEventAge", "maximumEventAgeInSeconds"), number_as("maximumEventAge")),
}
DELIVERY_RULES: Rules = {
    "enabled": put_enabled,
    "inputPath": copy_as("inputPath"),
    "inputTransformer": inside("inputTransformer", in_both_cases(_TRANSFORMER)),
    "retryPolicy": inside("retry", in_both_cases(_RETRIES)),
    **share(("name", "description"), drop_because("fabric names its rules itself")),
}
# A schedule has no event of which a part could be sent.
SCHEDULE_RULES: Rules = {
    **DELIVERY_RULES,
    **share(
        ("inputPath", "inputTransformer"),
        lose_because("schedules of fabric send a fixed input", "set `input` of the trigger"),
    ),
}
MAPPING_RULES: Rules = {
    "batchSize": number_as("batchSize"),
    "enabled": put_enabled,
    "startingPosition": copy_as("startingPosition"),
    "parallelizationFactor": number_as("parallelizationFactor"),
    "bisectBatchOnFunctionError": copy_as("bisectOnError"),
    "maximumRetryAttempts": copy_as("maximumRetryAttempts"),
    "maximumRecordAgeInSeconds": copy_as("maximumRecordAge"),
    "tumblingWindowInSeconds": number_as("tumblingWindowSeconds"),
}
TOPIC_RULES: Rules = {"filterPolicy": copy_as("filter"), "filterPolicyScope": put_scope}
