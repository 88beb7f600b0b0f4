"""Functions, routes and event sources as rows, of a config of fabric and of CloudFormation.

Rows of both can be compared: (function, kind, text). References are the name of what they refer to.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

Row: TypeAlias = tuple[str, str, str]
Values: TypeAlias = Mapping[str, Any]
_SETTINGS = {
    "MemorySize": "memory",
    "Timeout": "timeout",
    "ReservedConcurrentExecutions": "reservedConcurrency",
}
_STACK = re.compile(r"\$\{stack:([A-Za-z0-9]+?)(?:Ref|Arn|QueueName|TopicArn|ConsumerARN)\}")
_LAST = re.compile(r"[^:/]+$")


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _name_parameter(value: object) -> str:
    """A schedule as written; one that is a parameter by the name of that parameter."""
    if isinstance(value, Mapping):
        return str(value.get("Ref"))
    return str(value).removeprefix("${param:").removesuffix("}")


def name_source(value: object) -> str:
    """The name of a queue, stream, topic or bucket, whatever form the reference has."""
    if isinstance(value, Mapping):
        inner = value.get("Ref") or value.get("Fn::GetAtt") or value.get("Fn::Sub") or ""
        value = inner[0] if isinstance(inner, list) else inner
        value = str(value).partition(".")[0]
    text = str(value)
    found = _STACK.fullmatch(text)
    last = _LAST.search(text)
    name = found[1] if found else last[0] if text.startswith("arn:") and last else text
    # The stream of a table and an own stream have the same name then.
    return name.removesuffix("Stream")


def rows_of_config(config: Values) -> set[Row]:
    defaults = config.get("defaults") or {}
    return {
        row
        for one in config.get("functions", ())
        for row in _list_config_rows(one, defaults, config)
    }


def _list_config_rows(function: Values, defaults: Values, config: Values) -> Iterator[Row]:
    name = _plain(function["name"])
    yield name, "function", ""
    for key in _SETTINGS.values():
        value = function.get(key, defaults.get(key))
        if value is not None and "${" not in str(value):
            yield name, key, str(value)
    for variable in {**config.get("env", {}), **function.get("env", {})}:
        yield name, "env", variable
    for trigger in function.get("triggers", ()):
        yield from ((name, kind, text) for kind, text in _list_trigger_rows(trigger))


def _list_trigger_rows(trigger: Values) -> Iterator[tuple[str, str]]:
    match trigger["type"]:
        case "http":
            method, _, path = trigger["route"].partition(":")
            yield "http", f"{method} {path}"
        case "cron":
            yield "cron", _name_parameter(trigger["schedule"])
        case "queue":
            yield "mapping", f"{name_source(trigger['queue'])} {trigger.get('batchSize', '')}"
        case "logstream" if "stream" in trigger:
            batch = trigger.get("batchSize", "")
            yield "mapping", f"{name_source(trigger['stream'])} {batch}"
        case _:
            yield from _list_message_rows(trigger)


def _list_message_rows(trigger: Values) -> Iterator[tuple[str, str]]:
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


class TemplateRows:
    """The rows of a template of CloudFormation."""

    def __init__(self, template: Values, suffix: str, parameters: Mapping[str, str]) -> None:
        # The end of logical ids that the tool adds to names of functions.
        self._suffix = suffix
        self._resources: Values = template["Resources"]
        kind = "AWS::Lambda::Function"
        self._functions = {key: one for key, one in self._resources.items() if one["Type"] == kind}
        # Functions by what refers to them.
        self._names = {key: self._name(key) for key in self._functions}
        for name, text in parameters.items():
            if text.startswith("${function:"):
                self._names[name] = text.removeprefix("${function:").partition(".")[0]

    def list(self) -> set[Row]:
        return set(self._list())

    def _list(self) -> Iterator[Row]:
        for key, one in self._functions.items():
            yield from self._list_function(_plain(self._name(key)), one.get("Properties") or {})
        for one in self._resources.values():
            properties = one.get("Properties") or {}
            yield from self._list_resource(one["Type"], properties)

    def _name(self, key: str) -> str:
        name = key.removesuffix(self._suffix)
        return name.replace("Dash", "").replace("Underscore", "") if self._suffix else name

    def _list_function(self, name: str, said: Values) -> Iterator[Row]:
        yield name, "function", ""
        for key, short in _SETTINGS.items():
            if key in said and not isinstance(said[key], Mapping):
                yield name, short, str(said[key])
        for variable in (said.get("Environment") or {}).get("Variables") or {}:
            yield name, "env", variable

    def _find(self, value: object) -> str:
        """The function that a value leads to: an alias, an ARN or the URI of an integration."""
        text = json.dumps(value)
        for key, name in self._names.items():
            if re.search(rf'["{{]{key}[".}}]', text):
                return _plain(name)
        return ""

    def _list_resource(self, kind: str, said: Values) -> Iterator[Row]:
        match kind:
            case "AWS::ApiGateway::Method" if name := self._find(
                said.get("Integration", {}).get("Uri")
            ):
                yield name, "http", f"{said['HttpMethod']} {self._path(said['ResourceId'])}"
            case "AWS::ApiGatewayV2::Route" if name := self._find_by_integration(said):
                method, _, path = str(said["RouteKey"]).partition(" ")
                yield name, "http", f"{'ANY' if method == '*' else method} {path}"
            case "AWS::ApiGateway::RestApi" | "AWS::ApiGatewayV2::Api" if "Body" in said:
                yield from self._list_routes(said["Body"].get("paths") or {})
            case "AWS::Events::Rule":
                yield from self._list_rule(said)
            case "AWS::Scheduler::Schedule" if name := self._find(said["Target"]["Arn"]):
                yield name, "cron", _name_parameter(said["ScheduleExpression"])
            case "AWS::Lambda::EventSourceMapping" if "EventSourceArn" in said:
                source, batch = name_source(said["EventSourceArn"]), said.get("BatchSize", "")
                yield self._find(said["FunctionName"]), "mapping", f"{source} {batch}"
            case _:
                yield from self._list_notifications(kind, said)

    def _list_notifications(self, kind: str, said: Values) -> Iterator[Row]:
        match kind:
            case "AWS::SNS::Subscription" if said.get("Protocol") == "lambda":
                yield self._find(said["Endpoint"]), "topic", name_source(said["TopicArn"])
            case "AWS::SNS::Topic":
                topic = name_source(said.get("TopicName", ""))
                for one in said.get("Subscription", ()):
                    yield self._find(one["Endpoint"]), "topic", topic
            case "AWS::S3::Bucket":
                told = said.get("NotificationConfiguration") or {}
                for one in told.get("LambdaConfigurations", ()):
                    yield self._find(one["Function"]), "bucket", one["Event"]
            case _:
                pass

    def _path(self, value: object) -> str:
        steps: list[str] = []
        key = name_source(value)
        while key in self._resources and "PathPart" in self._resources[key]["Properties"]:
            said = self._resources[key]["Properties"]
            steps.append(str(said["PathPart"]))
            key = name_source(said["ParentId"])
        return "/" + "/".join(reversed(steps))

    def _find_by_integration(self, said: Values) -> str:
        text = json.dumps(said.get("Target"))
        for key, one in self._resources.items():
            if one["Type"] == "AWS::ApiGatewayV2::Integration" and f'"{key}"' in text:
                return self._find(one["Properties"].get("IntegrationUri"))
        return ""

    def _list_routes(self, paths: Values) -> Iterator[Row]:
        for path, methods in paths.items():
            for method, one in methods.items():
                said = one.get("x-amazon-apigateway-integration") or {}
                name = self._find(said.get("uri"))
                if name and isinstance(one, Mapping):
                    verb = "ANY" if method.startswith("x-") else method.upper()
                    yield name, "http", f"{verb} {path}"

    def _list_rule(self, said: Values) -> Iterator[Row]:
        for target in said.get("Targets", ()):
            name = self._find(target["Arn"])
            if name and "ScheduleExpression" in said:
                yield name, "cron", _name_parameter(said["ScheduleExpression"])
            if name and "EventPattern" in said:
                yield name, "rule", json.dumps(said["EventPattern"], sort_keys=True)


def rows_of_template(
    template: Values, suffix: str = "", parameters: Mapping[str, str] | None = None
) -> set[Row]:
    """The rows of a template. `parameters` are those of a stack of fabric."""
    return {row for row in TemplateRows(template, suffix, parameters or {}).list() if row[0]}
