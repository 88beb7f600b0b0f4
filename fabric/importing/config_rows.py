"""Functions, settings and events as rows, of a config of fabric.

Rows of a config and of a template of CloudFormation (`template_rows.py`) can be compared: a
reference is the name of the resource that it refers to, and values of variables are left out.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from fabric.importing.row_values import (
    DEFAULT_BATCH,
    Row,
    RowValues,
    Values,
    is_implied,
    normalize_name,
)
from fabric.importing.template_rows import TemplateRows
from fabric.model.policy_templates import POLICY_TEMPLATES, expand_template

# Settings with one value that both sides write in the same way.
_PLAIN = (
    *("memory", "timeout", "architecture", "reservedConcurrency", "ephemeralStorage"),
    "provisionedConcurrency",
)


def list_config_rows(
    config: Values,
    templates: Mapping[str, Values] | None = None,
    known: Mapping[str, str] | None = None,
) -> set[Row]:
    """List the rows of a config, with or without its defaults in each function, and those of the
    templates of its stacks, by phase. `known` are values of names in templates."""
    stacks = _read_extension(config).get("stack") or {}
    early = (templates or {}).get("before") or {}
    outputs = {key: one.get("Value") for key, one in (early.get("Outputs") or {}).items()}
    parameters: dict[str, Any] = dict(known or {})
    resources: dict[str, Any] = {}
    for phase, template in (templates or {}).items():
        parameters |= (stacks.get(phase) or {}).get("parameters") or {}
        resources |= template.get("Resources") or {}
    functions = config.get("functions") or ()
    names = [normalize_name(one["name"]) for one in functions]
    # A resource of one stack can name those of the other.
    found = TemplateRows({"Resources": resources}, "", parameters, outputs, names)
    rows = [*_ConfigRows(config, found.values).list(), *found.list()]
    return {row for row in rows if row.function and not is_implied(row)}


def _read_extension(config: Values) -> Values:
    found: Values = (config.get("extensions") or {}).get("cloud1-lambda") or {}
    return found


class _ConfigRows:
    """The rows of the functions of one config."""

    def __init__(self, config: Values, values: RowValues) -> None:
        self._functions = config.get("functions") or ()
        runtime = (config.get("provider") or {}).get("runtime", "")
        self._shared = {
            "runtime": runtime,
            **(config.get("defaults") or {}),
            "env": config.get("env") or {},
        }
        self._authorizer = (_read_extension(config).get("http") or {}).get("defaultAuthorizer")
        self._values = values

    def list(self) -> Iterator[Row]:
        for one in self._functions:
            name = normalize_name(one["name"])
            yield Row(name, "function", "")
            yield from (Row(name, kind, value) for kind, value in self._list_function(one))

    def _list_function(self, function: Values) -> Iterator[tuple[str, str]]:
        merged = {**self._shared, **function}
        for key in ("env", "tags"):
            merged[key] = {**(self._shared.get(key) or {}), **(function.get(key) or {})}
        yield from self._list_settings(merged)
        if function.get("role"):
            yield "role", str(function["role"])
        else:
            yield from (("permission", value) for value in self._list_permissions(merged))
            yield from (("permission", value) for value in self._list_needed(merged))
            yield from (("added permission", value) for value in self._list_added(merged))
        for trigger in function.get("triggers") or ():
            is_open = trigger["type"] != "http" or "authorizer" in trigger
            default = {} if is_open or not self._authorizer else {"authorizer": self._authorizer}
            yield from self._list_trigger({**trigger, **default})

    def _list_settings(self, function: Values) -> Iterator[tuple[str, str]]:
        for key in (*_PLAIN, "runtime"):
            if function.get(key) not in (None, ""):
                yield key, self._values.format(function[key])
        yield from (("env", name) for name in function["env"])
        yield from (("tag", name) for name in function["tags"])
        if function.get("tracing") == "active":
            yield "tracing", "active"
        if function.get("snapStart"):
            yield "snapStart", "true"
        if function.get("deadLetter"):
            yield "deadLetter", self._values.name(function["deadLetter"])
        if function.get("layers"):
            yield "layers", str(len(function["layers"]))
        yield from self._list_nested(function)

    def _list_nested(self, function: Values) -> Iterator[tuple[str, str]]:
        vpc, url = function.get("vpc") or {}, function.get("url")
        if vpc:
            keys = ("subnetIds", "securityGroupIds")
            yield (
                "vpc",
                "{} subnets, {} groups".format(*map(self._values.count, map(vpc.get, keys))),
            )
        if url:
            yield "url", str((url if isinstance(url, Mapping) else {}).get("authorizer", "NONE"))
        for key, value in (function.get("async") or {}).items():
            yield "async", f"{key} {self._values.name(value)}"
        if (function.get("fileSystem") or {}).get("path"):
            yield "fileSystem", self._values.format(function["fileSystem"]["path"])
        if (function.get("logs") or {}).get("retentionDays"):
            yield "retention", self._values.format(function["logs"]["retentionDays"])

    def _list_permissions(self, function: Values) -> Iterator[str]:
        """List the statements, and the names of managed policies."""
        for entry in function.get("permissions") or ():
            if isinstance(entry, str):
                yield f"managed {entry.rpartition('/')[2]}"
                continue
            for statement in self._list_statements(entry):
                yield from self._values.format_statement(statement)

    def _list_statements(self, entry: Values) -> Iterator[Values]:
        templates = sorted(entry.keys() & POLICY_TEMPLATES.keys())
        for name in templates:
            values = {key: self._values.format(one) for key, one in (entry[name] or {}).items()}
            yield from expand_template(name, values, "aws", "region:account")
        if not templates:
            yield {key[:1].upper() + key[1:]: value for key, value in entry.items()}

    def _list_needed(self, function: Values) -> Iterator[str]:
        """List the permissions that fabric adds for targets of events."""
        triggers = function.get("triggers") or ()
        targets = [function.get("deadLetter")]
        targets += [(function.get("async") or {}).get(key) for key in ("onSuccess", "onFailure")]
        targets += [one.get("onFailure") for one in triggers]
        for target in map(str, filter(None, targets)):
            action = next((action for word, action in _DELIVERIES if word in target), "")
            yield f"allow {action} on {self._values.format(target)}".lower()

    def _list_added(self, function: Values) -> Iterator[str]:
        """List the permissions that fabric adds for brokers, and other tools only sometimes."""
        for trigger in function.get("triggers") or ():
            for one in (trigger, *(trigger.get("access") or ())):
                if "secret" in one:
                    secret = self._values.format(one["secret"])
                    yield f"allow secretsmanager:getsecretvalue on {secret}".lower()

    def _list_trigger(self, trigger: Values) -> Iterator[tuple[str, str]]:
        # A value of a parameter is text.
        off = " (off)" if str(trigger.get("enabled")).lower() == "false" else ""
        batch = trigger.get("batchSize", "")
        name = self._values.name
        match trigger["type"]:
            case "http":
                route = trigger.get("route") or f"{trigger.get('method', 'GET')}:{trigger['path']}"
                yield "http", route.replace(":", " ", 1)
                yield from _list_access(trigger, route.replace(":", " ", 1))
            case "cron":
                yield "cron", f"{self._values.format(trigger['schedule'])}{off}"
            case "queue":
                yield "mapping", f"{name(trigger['queue'])} {batch or DEFAULT_BATCH}{off}"
            case "logstream":
                source = trigger.get("stream") or trigger.get("cluster") or trigger.get("topic")
                yield "mapping", f"{name(source)} {batch}{off}"
            case "amqp":
                yield "mapping", f"{name(trigger.get('broker'))} {batch}{off}"
            case _:
                yield from self._list_messages(trigger)

    def _list_messages(self, trigger: Values) -> Iterator[tuple[str, str]]:
        match trigger["type"]:
            case "pubsub":
                yield "topic", self._values.name(trigger["topic"])
            case "storage":
                for event in trigger["events"]:
                    yield "bucket", event.replace("objstore1:", "s3:")
            case "eventbus":
                yield "rule", self._values.format_all(trigger["pattern"])
            case _:
                pass


# Actions by a part of the target: of an ARN, or of the output of a stack for a queue or a topic.
_DELIVERIES = (
    *(
        (":sqs:", "sqs:sendmessage"),
        (":sns:", "sns:publish"),
        ("function:", "lambda:invokefunction"),
    ),
    *((":event-bus/", "events:putevents"), ("Arn", "sqs:sendmessage"), ("Ref", "sns:publish")),
)


def _list_access(trigger: Values, route: str) -> Iterator[tuple[str, str]]:
    if trigger.get("authorizer") not in (None, "none", "NONE"):
        yield "authorizer", route
    if trigger.get("apiKey"):
        yield "apiKey", route
