"""Functions, settings and events as rows, of a config of fabric.

Rows of a config and of a template of CloudFormation (`template_rows.py`) can be compared: a
reference is the name of the resource that it refers to, and values of variables are left out.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from fabric.model.policy_templates import POLICY_TEMPLATES, expand_template

Values: TypeAlias = Mapping[str, Any]


class Row(NamedTuple):
    """One fact about a function. A kind such as `memory` has one row for a function."""

    function: str
    kind: str
    value: str


# Settings with one value that both sides write in the same way.
_PLAIN = (
    *("memory", "timeout", "architecture", "reservedConcurrency", "ephemeralStorage"),
    "provisionedConcurrency",
)
# Messages of a queue for one call, if the size is not set.
DEFAULT_BATCH = 10
# Permissions for logs, traces, event sources and networks, which each tool adds by other names.
_IMPLIED = (
    *("logs:", "xray:", "sqs:receivemessage", "sqs:deletemessage", "sqs:getqueueattributes"),
    *("dynamodb:getrecords", "dynamodb:getsharditerator", "dynamodb:describestream"),
    *("dynamodb:liststreams", "kinesis:getrecords", "kinesis:getsharditerator"),
    *("kinesis:describestream", "kinesis:listshards", "kinesis:subscribetoshard"),
    *("kinesis:liststreams", "kafka:", "kafka-cluster:", "mq:describebroker"),
    *(
        "lambda:getfunctionconfiguration",
        "ec2:",
        "sqs:listqueues",
        "lambda:getdurableexecutionstate",
        "lambda:checkpointdurableexecution",
    ),
)
_IMPLIED_POLICIES = tuple(
    f"managed {name}"
    for name in (
        *(
            "AWSLambdaBasicExecutionRole",
            "AWSLambdaVPCAccessExecutionRole",
            "AWSXRayDaemonWriteAccess",
        ),
        *(
            "AWSLambdaSQSQueueExecutionRole",
            "AWSLambdaKinesisExecutionRole",
            "AWSXrayWriteOnlyAccess",
        ),
        *("AWSLambdaDynamoDBExecutionRole", "AWSLambdaMSKExecutionRole"),
        "AWSLambdaBasicDurableExecutionRolePolicy",
    )
)
_OUTPUT = re.compile(
    r"(?:\$\{|\(known after a deploy: )stack:([A-Za-z0-9]+?)"
    r"(?:Ref|Arn|QueueName|TopicName|TopicArn|StreamArn|LatestStreamArn|ConsumerARN)?[)}]"
)
_FUNCTION = re.compile(r"(?:\$\{|\(known after a deploy: )function:([A-Za-z0-9_-]+)\.\w+[)}]")
_LAST = re.compile(r"[^:/]+$")
_PARAMETER = re.compile(r"\$\{param:([^},]+)[^}]*\}")


def normalize_name(name: str) -> str:
    """Return a name that is equal in all tools: lowercase letters and digits."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def name_source(value: object) -> str:
    """Name a queue, stream, topic, bucket or table, in any form of reference."""
    if isinstance(value, Mapping):
        value = _name_reference(value)
    text = str(value)
    found = _OUTPUT.fullmatch(text) or _FUNCTION.fullmatch(text)
    last = _LAST.search(text)
    name = found[1] if found else last[0] if text.startswith("arn:") and last else text
    # The stream of a table and a separate stream have the same name.
    return normalize_name(name.removesuffix("Stream")) if found or not text else name.lower()


def _name_reference(value: Values) -> str:
    """Name the resource of a function of CloudFormation, in the form of a reference of fabric."""
    for name in ("Ref", "Fn::GetAtt", "Fn::Sub", "Fn::ImportValue"):
        inner = value.get(name)
        if isinstance(inner, list):
            inner = inner[0]
        if isinstance(inner, str) and (name != "Fn::Sub" or inner.startswith("${")):
            return f"${{stack:{inner.strip('${}').partition('.')[0]}}}"
    return json.dumps(value, sort_keys=True)


def name_value(value: object) -> str:
    """Return a value as written, and the name of a parameter for its value."""
    if isinstance(value, Mapping):
        return str(value.get("Ref"))
    return _PARAMETER.sub(lambda found: found[1], str(value))


def list_config_rows(config: Values) -> set[Row]:
    """List the rows of a config, with or without its defaults in each function."""
    defaults = config.get("defaults") or {}
    runtime = (config.get("provider") or {}).get("runtime", "")
    http = _read_http(config)
    shared = {"runtime": runtime, **defaults, "env": config.get("env") or {}, "http": http}
    rows = (row for one in config.get("functions") or () for row in _list_function(one, shared))
    return {row for row in rows if not is_implied(row)}


def is_implied(row: Row) -> bool:
    """Return whether a row is a permission that each tool adds for a function."""
    if row.kind != "permission":
        return False
    action = row.value.removeprefix("allow ")
    return action.startswith(_IMPLIED) or row.value in _IMPLIED_POLICIES


def _read_http(config: Values) -> Values:
    extension = (config.get("extensions") or {}).get("cloud1-lambda") or {}
    found: Values = extension.get("http") or {}
    return found


def _list_function(function: Values, shared: Values) -> Iterator[Row]:
    merged = {**shared, **function}
    merged["env"] = {**shared["env"], **(function.get("env") or {})}
    merged["tags"] = {**(shared.get("tags") or {}), **(function.get("tags") or {})}
    name = normalize_name(function["name"])
    yield Row(name, "function", "")
    yield from (Row(name, kind, value) for kind, value in _list_settings(merged))
    if function.get("role"):
        yield Row(name, "role", str(function["role"]))
    else:
        needed = (*_list_permissions(merged), *_list_needed(merged))
        yield from (Row(name, "permission", value) for value in needed)
    default = shared["http"].get("defaultAuthorizer")
    for trigger in function.get("triggers") or ():
        if default and trigger["type"] == "http" and "authorizer" not in trigger:
            trigger = {**trigger, "authorizer": default}  # noqa: PLW2901 - the same trigger
        yield from (Row(name, kind, value) for kind, value in _list_trigger(trigger))


def _list_settings(function: Values) -> Iterator[tuple[str, str]]:
    for key in (*_PLAIN, "runtime"):
        if function.get(key) not in (None, ""):
            yield key, name_value(function[key])
    yield from (("env", name) for name in function["env"])
    yield from (("tag", name) for name in function["tags"])
    if function.get("tracing") == "active":
        yield "tracing", "active"
    if function.get("snapStart"):
        yield "snapStart", "true"
    if function.get("deadLetter"):
        yield "deadLetter", name_source(function["deadLetter"])
    if function.get("layers"):
        yield "layers", str(len(function["layers"]))
    yield from _list_nested(function)


def _list_nested(function: Values) -> Iterator[tuple[str, str]]:
    vpc, url = function.get("vpc") or {}, function.get("url")
    if vpc:
        counts = [len(vpc.get(key) or ()) for key in ("subnetIds", "securityGroupIds")]
        yield "vpc", "{} subnets, {} groups".format(*counts)
    if url:
        yield "url", str((url if isinstance(url, Mapping) else {}).get("authorizer", "NONE"))
    for key, value in (function.get("async") or {}).items():
        yield "async", f"{key} {name_source(value) if key.startswith('on') else value}"
    if (function.get("fileSystem") or {}).get("path"):
        yield "fileSystem", str(function["fileSystem"]["path"])
    if (function.get("logs") or {}).get("retentionDays"):
        yield "retention", str(function["logs"]["retentionDays"])


def _list_permissions(function: Values) -> Iterator[str]:
    """List effect, action and resource of each statement, and the names of managed policies."""
    for entry in function.get("permissions") or ():
        if isinstance(entry, str):
            yield f"managed {entry.rpartition('/')[2]}"
            continue
        for statement in _list_statements(entry):
            yield from format_statement(statement)


def _list_needed(function: Values) -> Iterator[str]:
    """List the permissions that fabric adds for targets of events and for brokers."""
    triggers = function.get("triggers") or ()
    targets = [function.get("deadLetter")]
    targets += [(function.get("async") or {}).get(key) for key in ("onSuccess", "onFailure")]
    targets += [one.get("onFailure") for one in triggers]
    for target in map(str, filter(None, targets)):
        yield next((f"allow {action}" for word, action in _DELIVERIES if word in target), "")
    for trigger in triggers:
        if any("secret" in one for one in (trigger, *(trigger.get("access") or ()))):
            yield "allow secretsmanager:getsecretvalue"


# Actions by a part of the target: of an ARN, or of the output of a stack for a queue or a topic.
_DELIVERIES = (
    *(
        (":sqs:", "sqs:sendmessage"),
        (":sns:", "sns:publish"),
        ("function:", "lambda:invokefunction"),
    ),
    *((":event-bus/", "events:putevents"), ("Arn", "sqs:sendmessage"), ("Ref", "sns:publish")),
)


def _list_statements(entry: Values) -> Iterator[Values]:
    templates = sorted(entry.keys() & POLICY_TEMPLATES.keys())
    for name in templates:
        values = {key: name_source(value) for key, value in (entry[name] or {}).items()}
        yield from expand_template(name, values, "aws", "region:account")
    if not templates:
        yield {key[:1].upper() + key[1:]: value for key, value in entry.items()}


def format_statement(statement: Values) -> Iterator[str]:
    """Format a statement of IAM, with keys of fabric or of IAM, action by action."""
    actions = statement.get("Actions") or statement.get("Action") or ()
    for action in [actions] if isinstance(actions, str) else actions:
        # IAM compares actions without case.
        yield f"{statement.get('Effect', 'Allow')} {action}".lower()


def _list_trigger(trigger: Values) -> Iterator[tuple[str, str]]:
    off = " (off)" if trigger.get("enabled") is False else ""
    batch = trigger.get("batchSize", "")
    match trigger["type"]:
        case "http":
            route = trigger.get("route") or f"{trigger.get('method', 'GET')}:{trigger['path']}"
            yield "http", route.replace(":", " ", 1)
            yield from _list_access(trigger, route.replace(":", " ", 1))
        case "cron":
            yield "cron", f"{name_value(trigger['schedule'])}{off}"
        case "queue":
            size = batch or DEFAULT_BATCH
            yield "mapping", f"{name_source(trigger['queue'])} {size}{off}"
        case "logstream":
            source = trigger.get("stream") or trigger.get("cluster") or trigger.get("topic")
            yield "mapping", f"{name_source(source)} {batch}{off}"
        case "amqp":
            yield "mapping", f"{name_source(trigger.get('broker'))} {batch}{off}"
        case _:
            yield from _list_messages(trigger)


def _list_access(trigger: Values, route: str) -> Iterator[tuple[str, str]]:
    if trigger.get("authorizer") not in (None, "none", "NONE"):
        yield "authorizer", route
    if trigger.get("apiKey"):
        yield "apiKey", route


def _list_messages(trigger: Values) -> Iterator[tuple[str, str]]:
    match trigger["type"]:
        case "pubsub":
            yield "topic", name_source(trigger["topic"])
        case "storage":
            for event in trigger["events"]:
                yield "bucket", event.replace("objstore1:", "s3:")
        case "eventbus":
            yield "rule", json.dumps(trigger["pattern"], sort_keys=True)
        case _:
            pass
