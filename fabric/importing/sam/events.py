"""Events of AWS SAM to triggers."""

import json
import re
from collections.abc import Callable

from fabric.config.schema.triggers import BROKER_ACCESS
from fabric.importing.context import Context
from fabric.importing.draft import Fields
from fabric.importing.event_rules import (
    AFTER,
    DELIVERY_RULES,
    MAPPING_RULES,
    SCHEDULE_RULES,
    TOPIC_RULES,
    ConvertEvent,
    build_source_event,
)
from fabric.importing.event_target import DEFAULT_ROUTES, ApiRoute, EventTarget, put_seconds
from fabric.importing.rules import (
    Rules,
    apply_rules,
    capitalize_keys,
    carry,
    copy_as,
    drop_because,
    flag_as,
    is_function,
    is_true,
    lose_because,
    number_as,
    pass_over,
    put_enabled,
    share,
    texts_as,
)
from fabric.importing.sam.documents import HTTP, REST
from fabric.importing.serverless.events import ACCESS_TYPES, convert_storage_event
from fabric.importing.source import At
from fabric.model.outcomes.json_struct import Json


def convert_sam_events(
    context: Context, events: At, target: EventTarget, kinds: frozenset[str] | None = None
) -> None:
    """Convert the events of a function, or those of other targets that may have these types. Each
    has a type and properties."""
    if is_function(events):
        reason = "the events depend on a condition without a known value"
        context.ledger.lose(events, reason, "use `functions` of a stage in `stages`")
        return
    for at in events.list_entries():
        kind = at.get("Type")
        is_possible = kinds is None or kind.text in kinds
        convert = _EVENTS.get(kind.text) if is_possible else None
        if at.get("Fn::If").node is not None:
            reason = "the event exists only under a condition"
            context.ledger.lose(at, reason, "use `functions` of a stage in `stages`")
            continue
        if convert is None:
            hint = AFTER if kinds is None else AFTER.replace("function", "workflow")
            context.ledger.lose(at, f"events of type `{kind.text}` are not supported", hint)
            continue
        context.ledger.carry(kind)
        convert(context, at.get("Properties"), target)


def _is_in_document(context: Context, at: At, reference: At, target: EventTarget) -> bool:
    """Convert a route of an API with its own document. Only the permission is missing there."""
    api = reference.get("Ref").text or reference.text
    if api not in target.documents:
        return False
    target.permissions.add((at.path[1], api))
    reason = "the route belongs to the document of its API"
    context.ledger.change(at, reason, "AWS::Lambda::Permission")
    return True


def _is_elsewhere(context: Context, at: At, api: At) -> bool:
    """Report a route of an API that is not in the template."""
    known = {*context.names.generated, *context.names.resources, *_IMPLICIT_APIS}
    if api.is_missing or api.get("Ref").text in known:
        return False
    hint = "add the route in the project of this API"
    context.ledger.lose(at, "the API of the route is not in the template", hint)
    return True


def _convert_api(context: Context, at: At, target: EventTarget) -> None:
    api = at.get("RestApiId")
    if not _is_in_document(context, at, api, target) and not _is_elsewhere(context, at, api):
        target.is_rest = True
        _convert_route(context, at, target, REST)


def _convert_http_api(context: Context, at: At, target: EventTarget) -> None:
    api = at.get("ApiId")
    if not _is_in_document(context, at, api, target) and not _is_elsewhere(context, at, api):
        target.is_http = True
        _convert_route(context, at, target, HTTP)


def _convert_route(context: Context, at: At, target: EventTarget, kind: str) -> None:
    """Convert a route. An HTTP API without a path has a default route."""
    method, path = context.read_text(at.get("Method")), context.read_text(at.get("Path"))
    is_default = path in DEFAULT_ROUTES
    trigger = (
        target.add_default_route(context, at)
        if is_default
        else target.add_route(context, at, method, path)
    )
    if trigger is None:
        return
    api = at.get("RestApiId" if kind == REST else "ApiId")
    target.routes.append(ApiRoute(trigger, kind, api.get("Ref").text or api.text))
    if kind == HTTP:
        target.payloads.append(at.get("PayloadFormatVersion"))
    apply_rules(context, at, _ROUTE_RULES, trigger)


def _put_authorizer(context: Context, at: At, trigger: Fields) -> None:
    text = context.read_text(at)
    known = {"NONE": "none", "AWS_IAM": "AWS_IAM"}
    context.put(at, trigger, "authorizer", known.get(text, normalize_name(text)))


def normalize_name(text: str) -> str:
    """Return a name of an authorizer with characters that fabric accepts."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", text)


def _put_parameters(context: Context, at: At, trigger: Fields) -> None:
    """Put the parameters that a request must have."""
    for item in at.list_items():
        for one in item.list_entries() or (item,):
            name = one.key if item.is_map else one.text
            group, _, parameter = name.removeprefix("method.request.").partition(".")
            place = {"querystring": "query", "header": "header"}.get(group, "")
            if place and is_true(one.get("Required")):
                request = trigger.child("request", at)
                request.child("parameters").put(parameter, place, one)
            elif place:
                context.ledger.drop(one, "only required parameters are checked")
            context.ledger.carry(one)


def put_throttle(context: Context, at: At, fields: Fields) -> None:
    """Put the limits of requests, if both are set."""
    rate, burst = at.get("ThrottlingRateLimit"), at.get("ThrottlingBurstLimit")
    if not rate.is_missing and not burst.is_missing:
        throttle = fields.child("throttle", at)
        context.copy(rate, throttle, "rate")
        context.copy(burst, throttle, "burst")


_IMPLICIT_APIS = ("ServerlessRestApi", "ServerlessHttpApi")
_OTHER_AUTHORIZATION = lose_because("fabric has no such setting of authorizations")
_ROUTE_RULES: Rules = {
    **share(("Method", "Path", "RestApiId", "ApiId"), carry),
    "PayloadFormatVersion": pass_over,
    "Auth": lambda context, at, trigger: apply_rules(context, at, _AUTHORIZATION_RULES, trigger),
    "RequestParameters": _put_parameters,
    "RequestModel": lose_because(
        "models of an API are not supported", "write the JSON Schema into `request.schema`"
    ),
    "RouteSettings": put_throttle,
    "TimeoutInMillis": put_seconds,
}
_AUTHORIZATION_RULES: Rules = {
    "Authorizer": _put_authorizer,
    "AuthorizationScopes": texts_as("scopes"),
    "ApiKeyRequired": flag_as("apiKey"),
    **share(("InvokeRole", "ResourcePolicy", "OverrideApiAuth"), _OTHER_AUTHORIZATION),
}


def _put_response_type(context: Context, at: At, fields: Fields) -> None:
    context.put(at, fields, "functionResponseType", next(iter(context.read_texts(at)), ""))


def _put_filters(context: Context, at: At, fields: Fields) -> None:
    found = [_read_json(context, one.get("Pattern")) for one in at.get("Filters").list_items()]
    context.put(at, fields, "filters", [one for one in found if one is not None])


def _read_json(context: Context, at: At) -> Json:
    """Read JSON that is written as text or as a map."""
    if at.is_map:
        return context.read_plain(at)
    try:
        value: Json = json.loads(context.read_text(at))
    except ValueError:
        context.ledger.lose(at, "the text is not JSON")
        return None
    return value


def _put_on_failure(context: Context, at: At, fields: Fields) -> None:
    context.copy(at.get("OnFailure", "Destination"), fields, "onFailure")
    context.ledger.carry(at.get("OnFailure", "Type"))


def _put_concurrency(context: Context, at: At, fields: Fields) -> None:
    context.copy_number(at.get("MaximumConcurrency"), fields, "maximumConcurrency")


def _put_first(key: str) -> Callable[[Context, At, Fields], None]:
    """Put the first of a list, which AWS limits to one."""
    return lambda context, at, fields: context.put(
        at, fields, key, next(iter(context.read_texts(at)), "")
    )


def _put_access(context: Context, at: At, trigger: Fields) -> None:
    for one in at.list_items():
        kind, uri = context.read_text(one.get("Type")), context.read_text(one.get("URI"))
        access = Fields(one)
        access.put("type", ACCESS_TYPES.get(kind, kind))
        key = BROKER_ACCESS.get(ACCESS_TYPES.get(kind, kind), "secret")
        is_prefixed = key != "secret" and ":" in uri and not uri.startswith("$")
        access.put(key, uri.partition(":")[2] if is_prefixed else uri)
        trigger.add("access", access)
        context.ledger.carry(one)


def _put_broker_access(context: Context, at: At, trigger: Fields) -> None:
    keys = {"BASIC_AUTH": "secret", "VIRTUAL_HOST": "virtualHost"}
    for one in at.list_items():
        key = keys.get(context.read_text(one.get("Type")))
        if key:
            context.copy(one.get("URI"), trigger, key)
            context.ledger.carry(one.get("Type"))


_MAPPING_RULES: Rules = {
    **capitalize_keys(MAPPING_RULES),
    "MaximumBatchingWindowInSeconds": number_as("maximumBatchingWindowSeconds"),
    "FunctionResponseTypes": _put_response_type,
    "FilterCriteria": _put_filters,
    "StartingPositionTimestamp": number_as("startingPositionTimestamp"),
    "DestinationConfig": _put_on_failure,
    "MetricsConfig": lose_because("metrics of event source mappings are not supported"),
    "SourceAccessConfigurations": _put_access,
}


def _put_input(context: Context, at: At, fields: Fields) -> None:
    """Put the input. Text with JSON becomes a value."""
    text = context.read_text(at)
    try:
        value: Json = json.loads(text)
    except ValueError:
        value = text
    context.put(at, fields, "input", value)


def _put_dead_letter(context: Context, at: At, fields: Fields) -> None:
    context.copy(at.get("Arn"), fields, "deadLetter")
    if at.get("Arn").is_missing:
        hint = "write the queue into the stack, and set `deadLetter`"
        context.ledger.lose(at, "a queue that SAM creates itself", hint)


_DELIVERY_RULES: Rules = {
    **capitalize_keys(DELIVERY_RULES),
    "Input": _put_input,
    "State": put_enabled,
    "DeadLetterConfig": _put_dead_letter,
    **share(("RuleName", "OmitName", "Target"), drop_because("fabric names its rules itself")),
}


def _put_window(context: Context, at: At, fields: Fields) -> None:
    if at.get("Mode").text == "FLEXIBLE":
        context.copy_number(at.get("MaximumWindowInMinutes"), fields, "flexibleWindowMinutes")
    context.ledger.carry(at)


_SCHEDULE_RULES: Rules = {**_DELIVERY_RULES, **capitalize_keys(SCHEDULE_RULES)}
_SCHEDULER_RULES: Rules = {
    **_SCHEDULE_RULES,
    "ScheduleExpression": copy_as("schedule"),
    "ScheduleExpressionTimezone": copy_as("timezone"),
    "FlexibleTimeWindow": _put_window,
    "StartDate": copy_as("start"),
    "EndDate": copy_as("end"),
    "GroupName": copy_as("group"),
    "RoleArn": drop_because("fabric creates the role of its schedules"),
    "PermissionsBoundary": lose_because("fabric uses `iam.boundary` of the service"),
    "KmsKeyArn": lose_because("keys of schedules are not supported"),
}


def _convert_scheduler(context: Context, at: At, target: EventTarget) -> None:
    trigger = target.add(at, "cron")
    trigger.put("method", "scheduler")
    apply_rules(context, at, _SCHEDULER_RULES, trigger)
    target.remove_without(trigger, "schedule")


def _put_bus(context: Context, at: At, fields: Fields) -> None:
    bus = context.read_text(at)
    if bus != "default":
        fields.put("bus", bus, at)
    context.ledger.carry(at)


def _convert_topic(context: Context, at: At, target: EventTarget) -> None:
    subscription = at.get("SqsSubscription")
    if not subscription.is_missing and subscription.text.lower() != "false":
        hint = "write the queue and its subscription into the stack, and use a queue trigger"
        context.ledger.lose(at, "a subscription through a queue is not converted", hint)
        return
    _convert_plain_topic(context, at, target)


def _put_redrive(context: Context, at: At, trigger: Fields) -> None:
    context.copy(at.get("deadLetterTargetArn"), trigger, "deadLetter")


_convert_plain_topic = build_source_event(
    "pubsub",
    "topic",
    {
        "Topic": copy_as("topic"),
        **capitalize_keys(TOPIC_RULES),
        "RedrivePolicy": _put_redrive,
        "Region": drop_because("the ARN of the topic contains its region"),
        "SqsSubscription": carry,
    },
)


def _put_key_rules(context: Context, at: At, trigger: Fields) -> None:
    for rule in at.get("S3Key", "Rules").list_items():
        name = rule.get("Name").text.lower()
        if name in ("prefix", "suffix"):
            context.copy(rule.get("Value"), trigger, name)
            context.ledger.carry(rule.get("Name"))


def _convert_bucket(context: Context, at: At, target: EventTarget) -> None:
    trigger = target.add(at, "storage")
    context.copy(at.get("Bucket"), trigger, "bucket")
    events = [convert_storage_event(one) for one in context.read_texts(at.get("Events"))]
    context.put(at.get("Events"), trigger, "events", events)
    _put_key_rules(context, at.get("Filter"), trigger)
    trigger.put_flag("existingBucket", value=True)
    target.remove_without(trigger, "bucket")


_KAFKA_RULES: Rules = {
    **_MAPPING_RULES,
    "Stream": copy_as("cluster"),
    "KafkaBootstrapServers": texts_as("brokers"),
    "Topics": _put_first("topic"),
    "ConsumerGroupId": copy_as("groupId"),
}
_STREAM_RULES: Rules = {**_MAPPING_RULES, "Stream": copy_as("stream")}
_BROKER_RULES: Rules = {
    **{key: rule for key, rule in _MAPPING_RULES.items() if key != "StartingPosition"},
    "Broker": copy_as("broker"),
    "Queues": _put_first("queue"),
    "SourceAccessConfigurations": _put_broker_access,
}
_RULE_RULES: Rules = {
    **_DELIVERY_RULES,
    "Pattern": copy_as("pattern"),
    "EventBusName": _put_bus,
}
WORKFLOW_EVENTS = frozenset(("Schedule", "ScheduleV2", "EventBridgeRule", "CloudWatchEvent"))
_EVENTS: dict[str, ConvertEvent] = {
    "Api": _convert_api,
    "HttpApi": _convert_http_api,
    "SQS": build_source_event(
        "queue",
        "queue",
        {**_MAPPING_RULES, "Queue": copy_as("queue"), "ScalingConfig": _put_concurrency},
    ),
    **share(("Kinesis", "DynamoDB"), build_source_event("logstream", "stream", _STREAM_RULES)),
    **share(("MSK", "SelfManagedKafka"), build_source_event("logstream", "topic", _KAFKA_RULES)),
    "MQ": build_source_event("amqp", "broker", _BROKER_RULES),
    "SNS": _convert_topic,
    "S3": _convert_bucket,
    "Schedule": build_source_event(
        "cron", "schedule", {**_SCHEDULE_RULES, "Schedule": copy_as("schedule")}
    ),
    "ScheduleV2": _convert_scheduler,
    **share(
        ("EventBridgeRule", "CloudWatchEvent"),
        build_source_event("eventbus", "pattern", _RULE_RULES),
    ),
}


def put_async(context: Context, at: At, function: Fields, target: EventTarget) -> None:
    """Convert `EventInvokeConfig`. Destinations that SAM creates become resources."""
    if at.is_missing:
        return
    inner = function.child("async", at)
    context.copy_number(at.get("MaximumRetryAttempts"), inner, "maximumRetryAttempts")
    context.copy_number(at.get("MaximumEventAgeInSeconds"), inner, "maximumEventAge")
    for key, name in (("OnSuccess", "onSuccess"), ("OnFailure", "onFailure")):
        one = at.get("DestinationConfig", key)
        kind, place = one.get("Type"), one.get("Destination")
        context.ledger.carry(kind)
        if place.is_missing and kind.text in ("SQS", "SNS"):
            what = "Queue" if kind.text == "SQS" else "Topic"
            logical = f"{at.path[1]}EventInvokeConfig{key}{what}"
            target.add_resource(context, logical, {"Type": f"AWS::{kind.text}::{what}"})
            attribute = "Arn" if kind.text == "SQS" else ""
            inner.put(name, context.intrinsics.refer(logical, attribute), one)
        else:
            context.copy(place, inner, name)
