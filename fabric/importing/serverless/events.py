"""Events of the Serverless Framework to triggers."""

import re
from functools import partial

from fabric.config.schema.triggers import BROKER_ACCESS
from fabric.config.yaml.nodes import Scalar
from fabric.importing.aws_settings import put_cors
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
    is_plain,
)
from fabric.importing.event_target import DEFAULT_ROUTES, EventTarget, join_words, put_seconds
from fabric.importing.intrinsics import list_names
from fabric.importing.rules import (
    Rule,
    Rules,
    apply_rules,
    carry,
    copy_as,
    drop_because,
    inside,
    is_true,
    lose_because,
    number_as,
    share,
    texts_as,
    true_as,
)
from fabric.importing.serverless.event_resources import (
    convert_alexa_skill,
    convert_log_subscription,
    convert_topic_rule,
)
from fabric.importing.source import At
from fabric.model.outcomes.json_struct import Json


def convert_events(context: Context, events: At, target: EventTarget) -> None:
    for item in events.list_items():
        if item.text == "alexaSkill":
            convert_alexa_skill(context, item, target)
        elif not item.is_map:
            context.ledger.lose(item, f"unknown event `{item.text}`")
        for at in item.list_entries():
            convert = _EVENTS.get(at.key)
            if convert is None:
                context.ledger.lose(at, f"unknown event `{at.key}`")
            else:
                convert(context, at, target)


def convert_workflow_events(context: Context, events: At, target: EventTarget) -> None:
    """Convert the events of a state machine, which are schedules and events of buses."""
    for at in (one for item in events.list_items() for one in item.list_entries()):
        if at.key in ("schedule", "eventBridge", "cloudwatchEvent"):
            _EVENTS[at.key](context, at, target)
        else:
            hint = "call the workflow from a function with this event"
            context.ledger.lose(at, f"workflows have no events of the type `{at.key}`", hint)


def _read_route(context: Context, at: At) -> tuple[str, str]:
    """Read method and path, of `GET /x`, `*` or a map."""
    if at.is_map:
        context.ledger.carry(at.get("method"), at.get("path"))
        return context.read_text(at.get("method")), context.read_text(at.get("path"))
    context.ledger.carry(at)
    method, _, path = context.read_text(at).strip().partition(" ")
    return (method, path) if path else ("*", method)


def _convert_http(context: Context, at: At, target: EventTarget) -> None:
    """Convert a method of a REST API."""
    integration = at.get("integration")
    if not integration.is_missing and _name_integration(integration) not in _CALLS_FUNCTION:
        reason = f"the integration `{integration.text}` does not call a function"
        context.ledger.lose(at, reason)
        return
    method, path = _read_route(context, at)
    trigger = target.add_route(context, at, method, path)
    if trigger is None:
        return
    target.is_rest = True
    rules: Rules = {**_HTTP_RULES, "authorizer": partial(_put_rest_authorizer, target.http)}
    apply_rules(context, at, rules, trigger)


_PROXY = ("lambda-proxy", "aws-proxy")
_CALLS_FUNCTION = (*_PROXY, "lambda", "aws")


def _name_integration(at: At) -> str:
    return at.text.lower().replace("_", "-")


def _put_integration(context: Context, at: At, trigger: Fields) -> None:
    if _name_integration(at) in _PROXY:
        context.ledger.drop(at, "default of fabric")
    else:
        trigger.put("integration", "lambda", at)
        context.ledger.carry(at)


def _put_parameters(context: Context, at: At, request: Fields) -> None:
    for group in at.list_entries():
        place = {"querystrings": "query", "headers": "header"}.get(group.key, "")
        for one in group.list_entries():
            required = one.get("required") if one.is_map else one
            if place and is_true(required):
                request.child("parameters", at).put(one.key, place, one)
            elif place:
                context.ledger.drop(one, "only required parameters are checked")
            context.ledger.carry(one)


def _put_schemas(context: Context, at: At, request: Fields) -> None:
    for one in at.list_entries():
        inner = one.get("schema") if one.is_map and not one.get("schema").is_missing else one
        context.copy(inner, request.child("schema", at), one.key)
        context.ledger.carry(one)


_MAPPED = "own templates and statuses of an integration are not supported"
_UNREAD = "the Serverless Framework reads only `request.parameters`"
_HTTP_RULES: Rules = {
    "cors": put_cors,
    "private": true_as("apiKey"),
    "integration": _put_integration,
    "request": inside(
        "request",
        {
            "parameters": _put_parameters,
            **share(("schemas", "schema"), _put_schemas),
            **share(("template", "passThrough", "uri", "contentHandling"), lose_because(_MAPPED)),
            # Places of parameters that the tool does not read.
            **share(("paths", "querystrings", "headers", "parameter"), drop_because(_UNREAD)),
        },
    ),
    "timeoutInMillis": put_seconds,
    "operationId": lose_because("fabric has no names of operations"),
    "documentation": drop_because("documentation of a plugin"),
    "response": lose_because(_MAPPED),
    "async": lose_because("asynchronous integrations are not supported"),
    **share(
        ("connectionType", "connectionId"), lose_because("integrations in a VPC are not supported")
    ),
}


def _put_rest_authorizer(http: Fields, context: Context, at: At, trigger: Fields) -> None:
    """Convert the authorizer of a route, and declare it in the settings of the API."""
    kind = (at.get("type").text if at.is_map else at.text).upper()
    context.ledger.carry(at)
    if kind == "AWS_IAM":
        trigger.put("authorizer", "AWS_IAM", at)
        return
    name = context.read_text(at.get("name") if at.is_map else at)
    arn = context.read_text(at.get("arn")) if at.is_map else ""
    if not at.is_map and name.startswith(("arn:", "${")):
        name, arn = "", name
    if kind == "COGNITO_USER_POOLS" and not arn:
        reason = f"the authorizer `{name}` has no ARN of a user pool"
        hint = "set `userPoolArn` of an authorizer, and name it in the trigger"
        context.ledger.lose(at, reason, hint)
        return
    name = name or (arn.rpartition(".")[0] or arn).rpartition(":")[2].strip("}") or "custom"
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", name)
    authorizer = http.child("authorizers").child(name, at)
    if ":userpool/" in arn or kind == "COGNITO_USER_POOLS":
        authorizer.put("type", "cognito")
        authorizer.put("userPoolArn", arn)
    else:
        authorizer.put("type", "request" if kind == "REQUEST" else "token")
        put_authorizer_function(arn or name, authorizer)
        apply_rules(context, at, _AUTHORIZER_RULES, authorizer)
    context.put(at.get("scopes"), trigger, "scopes", context.read_texts(at.get("scopes")))
    trigger.put("authorizer", name, at)


def put_authorizer_function(arn: str, authorizer: Fields) -> None:
    """Put a function of the service by name, and another one by ARN."""
    own = arn.removeprefix("${function:").removesuffix(".arn}")
    authorizer.put("arn" if own.startswith(("arn:", "${")) else "function", own)


def _put_source(context: Context, at: At, authorizer: Fields) -> None:
    """Convert `method.request.header.X` to the form of HTTP APIs."""
    texts = [
        "$" + text.strip().removeprefix("method.")
        for text in context.read_text(at).split(",")
        if text.strip()
    ]
    context.put(at, authorizer, "identitySource", texts[0] if len(texts) == 1 else texts)


_UNSUPPORTED = lose_because("fabric has no such setting of authorizers")
_AUTHORIZER_RULES: Rules = {
    "identitySource": _put_source,
    "resultTtlInSeconds": number_as("ttl"),
    **share(("identityValidationExpression", "claims", "managedExternally"), _UNSUPPORTED),
}


def _convert_http_api(context: Context, at: At, target: EventTarget) -> None:
    target.is_http = True
    method, path = _read_route(context, at)
    is_default = path in DEFAULT_ROUTES and method in DEFAULT_ROUTES
    trigger = (
        target.add_default_route(context, at)
        if is_default
        else target.add_route(context, at, method, path)
    )
    authorizer = at.get("authorizer")
    if trigger is None or authorizer.is_missing:
        return
    if is_plain(authorizer):
        context.copy(authorizer, trigger, "authorizer")
        return
    if authorizer.get("type").text.lower() == "aws_iam":
        trigger.put("authorizer", "AWS_IAM", authorizer)
    apply_rules(context, authorizer, _ROUTE_AUTHORIZER_RULES, trigger)
    if not trigger.has("authorizer"):
        context.ledger.lose(
            authorizer, "the route is public now", "set `authorizer` of the trigger"
        )


_ROUTE_AUTHORIZER_RULES: Rules = {
    "type": carry,
    "name": copy_as("authorizer"),
    "id": lose_because("authorizers of another API cannot be used"),
    "scopes": texts_as("scopes"),
}


def _convert_schedule(context: Context, at: At, target: EventTarget) -> None:
    rate = at if is_plain(at) else at.get("rate")
    for one in rate.list_items():
        trigger = target.add(at, "cron")
        context.copy(one, trigger, "schedule")
        apply_rules(context, at, _SCHEDULE_RULES, trigger)
        target.remove_without(trigger, "schedule")


def _put_method(context: Context, at: At, fields: Fields) -> None:
    if at.text == "scheduler":
        fields.put("method", "scheduler", at)
    context.ledger.carry(at)


_DELIVERY_RULES: Rules = {
    **DELIVERY_RULES,
    "input": copy_as("input"),
    "timezone": copy_as("timezone"),
    "method": _put_method,
    "groupName": copy_as("group"),
    "deadLetterQueueArn": copy_as("deadLetter"),
    "roleArn": lose_because(
        "fabric creates the role of its schedules", "set schedulerRoleArn of the service"
    ),
}
_SCHEDULE_RULES: Rules = {**_DELIVERY_RULES, **SCHEDULE_RULES}
_BATCH_RULES: Rules = {
    **MAPPING_RULES,
    **share(("maximumBatchingWindow", "batchWindow"), number_as("maximumBatchingWindowSeconds")),
    "filterPatterns": copy_as("filters"),
    "functionResponseType": copy_as("functionResponseType"),
}
_convert_queue = build_source_event(
    "queue",
    "queue",
    {
        **_BATCH_RULES,
        "arn": copy_as("queue"),
        "maximumConcurrency": number_as("maximumConcurrency"),
    },
)


def _put_destination(context: Context, at: At, fields: Fields) -> None:
    inner = at.get("onFailure")
    context.copy(inner if is_plain(inner) else inner.get("arn"), fields, "onFailure")
    context.ledger.carry(inner.get("type"))


_convert_stream_source = build_source_event(
    "logstream",
    "stream",
    {
        **_BATCH_RULES,
        "arn": copy_as("stream"),
        "type": drop_because("the ARN contains the type"),
        "startingPositionTimestamp": copy_as("startingPositionTimestamp"),
        "destinations": _put_destination,
        "consumer": lose_because(
            "stream consumers are not supported",
            "write an AWS::Kinesis::StreamConsumer into the stack and use its ARN",
        ),
    },
)


# Defaults of the Serverless Framework that are not those of AWS.
_STREAM_DEFAULTS: dict[str, Json] = {"startingPosition": "TRIM_HORIZON", "batchSize": 10}


def _convert_stream(context: Context, at: At, target: EventTarget) -> None:
    _convert_stream_source(context, at, target)
    triggers = target.function.get("triggers")
    last = triggers[-1] if isinstance(triggers, list) and triggers else None
    if not isinstance(last, Fields) or last.get("type") != "logstream":
        return
    for key, value in _STREAM_DEFAULTS.items():
        if at.get(key).is_missing:
            last.put(key, value)
            reason = f"{key} is not set (default of the Serverless Framework)"
            context.ledger.change(at, reason, str(value))


def _convert_topic(context: Context, at: At, target: EventTarget) -> None:
    trigger = target.add(at, "pubsub")
    source = at if is_plain(at) else at.get("arn")
    name = at if source.is_missing else source
    text = context.read_text(source) or context.read_text(at.get("topicName"))
    if text and not text.startswith(("arn:", "${")):
        text = _create_topic(context, at, text, target)
    context.put(name, trigger, "topic", text)
    apply_rules(context, at, _TOPIC_RULES, trigger)
    target.remove_without(trigger, "topic")


def _create_topic(context: Context, at: At, name: str, target: EventTarget) -> str:
    """Create the topic in the stack, as the Serverless Framework does."""
    logical = f"SNSTopic{join_words(name.replace('${stage}', ''))}"
    properties = {"TopicName": name}
    shown = context.read_text(at.get("displayName"))
    if shown:
        properties["DisplayName"] = shown
    target.add_resource(context, logical, {"Type": "AWS::SNS::Topic", "Properties": properties})
    return context.intrinsics.refer(logical)


_TOPIC_RULES: Rules = {
    **share(("arn", "topicName", "displayName"), carry),
    **TOPIC_RULES,
    "redrivePolicy": lambda context, at, trigger: apply_rules(
        context,
        at,
        share(
            ("deadLetterTargetArn", "deadLetterTargetRef", "deadLetterTargetImport"),
            copy_as("deadLetter"),
        ),
        trigger,
    ),
}
OBJECT_CREATED = "objstore1:ObjectCreated:*"


def convert_storage_event(text: str) -> str:
    """Convert `s3:ObjectCreated:*` to the name of fabric."""
    return f"objstore1:{text.removeprefix('s3:')}"


def _convert_bucket(context: Context, at: At, target: EventTarget) -> None:
    trigger = target.add(at, "storage")
    if is_plain(at):
        context.copy(at, trigger, "bucket")
    else:
        apply_rules(context, at, _BUCKET_RULES, trigger)
    if not trigger.has("events"):
        trigger.put("events", [OBJECT_CREATED])
    _create_named_bucket(context, trigger, target)
    if "${stack:" in repr(trigger.get("bucket")):
        trigger.put_flag("existingBucket", value=True)
    target.remove_without(trigger, "bucket")


def _create_named_bucket(context: Context, trigger: Fields, target: EventTarget) -> None:
    """Create the bucket in the stack if the config has settings for it or if other resources name
    it, as the Serverless Framework does. Otherwise the deploy creates it."""
    bucket = trigger.get("bucket")
    name = bucket.text if isinstance(bucket, Scalar) else ""
    logical = f"S3Bucket{name[:1].upper()}{_NOT_IN_ID.sub('', name[1:])}"
    if not name or trigger.has("existingBucket"):
        return
    settings = target.buckets.get(name)
    target.used_buckets.add(name)
    if settings is not None:
        context.ledger.carry(settings)
        trigger.put("bucket", context.read(settings.get("name")) or name, settings)
        if [one.key for one in settings.list_entries()] in ([], ["name"]):
            return
    resources = context.names.resources
    is_named = any(logical in list_names(one) for one in resources.values())
    is_own = logical not in resources or logical in target.new_resources
    if (settings is not None or is_named) and is_own:
        if logical not in resources:
            target.add_resource(context, logical, _build_bucket(name, settings))
        trigger.put("bucket", context.intrinsics.refer(logical))


def _build_bucket(name: str, settings: At | None) -> Json:
    rows = settings.list_entries() if settings is not None else ()
    properties = {_raise_first(one.key): _raise_keys(one.value) for one in rows}
    properties["BucketName"] = properties.pop("Name", name)
    return {"Type": "AWS::S3::Bucket", "Properties": properties}


def _raise_keys(value: Json) -> Json:
    """Write keys as CloudFormation does."""
    if isinstance(value, dict):
        return {_raise_first(key): _raise_keys(one) for key, one in value.items()}
    return [_raise_keys(one) for one in value] if isinstance(value, list) else value


def _raise_first(key: str) -> str:
    return key[:1].upper() + key[1:]


_NOT_IN_ID = re.compile(r"[^A-Za-z0-9]")


def _put_event(context: Context, at: At, trigger: Fields) -> None:
    text = context.read_text(at)
    context.put(at, trigger, "events", [convert_storage_event(text)] if text else [])


def _put_key_rules(context: Context, at: At, trigger: Fields) -> None:
    rules = {"prefix": copy_as("prefix"), "suffix": copy_as("suffix")}
    for one in at.list_items():
        apply_rules(context, one, rules, trigger)


_BUCKET_RULES: Rules = {
    "bucket": copy_as("bucket"),
    "event": _put_event,
    "rules": _put_key_rules,
    "existing": true_as("existingBucket"),
    "forceDeploy": drop_because("fabric compares the notifications of the bucket"),
}


def _convert_event_bus(context: Context, at: At, target: EventTarget) -> None:
    if not at.get("schedule").is_missing:
        trigger = target.add(at, "cron")
        apply_rules(context, at, {**_SCHEDULE_RULES, "schedule": copy_as("schedule")}, trigger)
    if at.get("pattern").is_missing:
        return
    trigger = target.add(at, "eventbus")
    rules: dict[str, Rule] = {**_DELIVERY_RULES, "pattern": copy_as("pattern")}
    apply_rules(context, at, rules, trigger)
    bus = context.read_text(at.get("eventBus"))
    context.ledger.carry(at.get("eventBus"))
    if bus and not bus.startswith(("arn:", "${")) and bus != "default":
        bus = _create_bus(context, bus, target)
    if bus and bus != "default":
        trigger.put("bus", bus, at.get("eventBus"))


def _create_bus(context: Context, name: str, target: EventTarget) -> str:
    """Create the bus in the stack, as the Serverless Framework does."""
    logical = f"EventBus{join_words(name)}"
    properties = {"Name": name}
    target.add_resource(
        context, logical, {"Type": "AWS::Events::EventBus", "Properties": properties}
    )
    return context.intrinsics.refer(logical)


_convert_cloudwatch_event = build_source_event(
    "eventbus", "pattern", {**_DELIVERY_RULES, "event": copy_as("pattern")}
)
# Types of access in SAM, by those of the Serverless Framework and fabric.
ACCESS_TYPES = {
    "BASIC_AUTH": "saslPlainAuth",
    "SASL_SCRAM_256_AUTH": "saslScram256Auth",
    "SASL_SCRAM_512_AUTH": "saslScram512Auth",
    "VPC_SUBNET": "vpcSubnet",
    "VPC_SECURITY_GROUP": "vpcSecurityGroup",
    "CLIENT_CERTIFICATE_TLS_AUTH": "clientCertificateTlsAuth",
    "SERVER_ROOT_CA_CERTIFICATE": "serverRootCaCertificate",
}


def _put_access(context: Context, at: At, trigger: Fields) -> None:
    for group in at.list_entries():
        for one in group.list_items():
            access = Fields(one)
            access.put("type", group.key)
            context.copy(one, access, BROKER_ACCESS.get(group.key, "secret"))
            trigger.add("access", access)


_convert_kafka = build_source_event(
    "logstream",
    "topic",
    {
        **_BATCH_RULES,
        "topic": copy_as("topic"),
        "arn": copy_as("cluster"),
        "bootstrapServers": texts_as("brokers"),
        "consumerGroupId": copy_as("groupId"),
        "accessConfigurations": _put_access,
    },
)
_convert_broker = build_source_event(
    "amqp",
    "broker",
    {
        **_BATCH_RULES,
        "arn": copy_as("broker"),
        "basicAuthArn": copy_as("secret"),
        "queue": copy_as("queue"),
        "virtualHost": copy_as("virtualHost"),
    },
)


def _lose_event(what: str, hint: str = AFTER) -> ConvertEvent:
    return lambda context, at, _: context.ledger.lose(at, f"{what} are not supported", hint)


_EVENTS: dict[str, ConvertEvent] = {
    "http": _convert_http,
    "httpApi": _convert_http_api,
    "schedule": _convert_schedule,
    "sqs": _convert_queue,
    "stream": _convert_stream,
    "sns": _convert_topic,
    "s3": _convert_bucket,
    "eventBridge": _convert_event_bus,
    "cloudwatchEvent": _convert_cloudwatch_event,
    "msk": _convert_kafka,
    "kafka": _convert_kafka,
    "rabbitmq": _convert_broker,
    "activemq": _convert_broker,
    "websocket": _lose_event("WebSocket APIs", ""),
    "alb": _lose_event("load balancers"),
    "iot": convert_topic_rule,
    "iotFleetProvisioning": _lose_event("IoT rules"),
    "alexaSkill": convert_alexa_skill,
    "alexaSmartHome": _lose_event("Alexa skills"),
    "cognitoUserPool": _lose_event("triggers of Cognito"),
    "cloudFront": _lose_event("functions at CloudFront", ""),
    "cloudwatchLog": convert_log_subscription,
}
