"""Functions, settings and events as rows, of a template of CloudFormation."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

from fabric.importing.config_rows import (
    DEFAULT_BATCH,
    Row,
    Values,
    format_statement,
    is_implied,
    name_source,
    name_value,
    normalize_name,
)

_PLAIN = {
    "MemorySize": "memory",
    "Timeout": "timeout",
    "Runtime": "runtime",
    "ReservedConcurrentExecutions": "reservedConcurrency",
}
# Functions and tags that tools add.
_SHARED_ROLE = "IamRoleLambdaExecution"
_OF_THE_TOOL = "CustomDashresource"
_OWN_TAGS = ("lambda:createdBy", "STAGE")


class TemplateRows:
    """The rows of one template."""

    def __init__(self, template: Values, suffix: str, parameters: Mapping[str, str]) -> None:
        # The end of logical ids that a tool adds to names of functions.
        self._suffix = suffix
        self._resources: Values = template.get("Resources") or {}
        self._functions = {
            key: one
            for key, one in self._select("AWS::Lambda::Function").items()
            if not key.startswith(_OF_THE_TOOL)
        }
        # Functions by everything that refers to them.
        self._names = {key: self._name(key) for key in self._functions}
        for name, text in parameters.items():
            if "function:" in text:
                self._names[name] = text.partition("function:")[2].partition(".")[0]

    def list(self) -> Iterator[Row]:
        for key, one in self._functions.items():
            properties = _read_properties(one)
            name = normalize_name(self._names[key])
            yield Row(name, "function", "")
            for kind, value in self._list_function(key, properties):
                yield Row(name, kind, value)
        for key, one in self._resources.items():
            if isinstance(one, Mapping):
                yield from self._list_resource(key, str(one.get("Type")), _read_properties(one))

    def _select(self, kind: str) -> dict[str, Values]:
        return {
            key: one
            for key, one in self._resources.items()
            if isinstance(one, Mapping) and one.get("Type") == kind
        }

    def _name(self, key: str) -> str:
        name = key.removesuffix(self._suffix)
        return name.replace("Dash", "").replace("Underscore", "") if self._suffix else name

    def _find(self, value: object) -> str:
        """Find the function that a value refers to: an alias, an ARN or the URI of an integration.

        Returns "" if there is none.
        """
        text = json.dumps(value, default=str)
        for key, name in self._names.items():
            if re.search(rf'["{{]{key}(?:Alias\w+)?[".}}]', text):
                return normalize_name(name)
        return ""

    def _list_function(self, name: str, properties: Values) -> Iterator[tuple[str, str]]:
        for key, kind in _PLAIN.items():
            if key in properties:
                yield kind, name_value(properties[key])
        for one in properties.get("Architectures") or ():
            yield "architecture", str(one)
        yield from (("env", one) for one in _read(properties, "Environment", "Variables"))
        yield from (("tag", one) for one in _list_tags(properties.get("Tags")))
        if size := _read(properties, "EphemeralStorage", "Size"):
            yield "ephemeralStorage", str(size)
        if _read(properties, "TracingConfig", "Mode") == "Active":
            yield "tracing", "active"
        if _read(properties, "SnapStart", "ApplyOn") == "PublishedVersions":
            yield "snapStart", "true"
        yield from self._list_places(properties)
        yield from (("permission", text) for text in self._list_permissions(name, properties))

    def _list_places(self, properties: Values) -> Iterator[tuple[str, str]]:
        if target := _read(properties, "DeadLetterConfig", "TargetArn"):
            yield "deadLetter", name_source(target)
        if properties.get("Layers"):
            yield "layers", str(len(properties["Layers"]))
        vpc = properties.get("VpcConfig")
        if isinstance(vpc, Mapping):
            counts = [len(vpc.get(key) or ()) for key in ("SubnetIds", "SecurityGroupIds")]
            yield "vpc", "{} subnets, {} groups".format(*counts)
        for one in properties.get("FileSystemConfigs") or ():
            yield "fileSystem", str(one.get("LocalMountPath"))

    def _list_permissions(self, function: str, properties: Values) -> Iterator[str]:
        """List the permissions of the role that the tool creates for a function."""
        key = _read_reference(properties.get("Role"))
        role = self._resources.get(key)
        is_generated = key == f"{function}Role" or key.endswith(_SHARED_ROLE)
        if not is_generated or not isinstance(role, Mapping):
            return
        inner = _read_properties(role)
        policies = [
            one.get("PolicyDocument") or {}
            for one in inner.get("Policies") or ()
            if isinstance(one, Mapping)
        ]
        for document in policies:
            yield from _list_allowed(document)
        for one in inner.get("ManagedPolicyArns") or ():
            yield f"managed {_name_policy(one)}"

    def _list_resource(self, key: str, kind: str, properties: Values) -> Iterator[Row]:
        match kind:
            case "AWS::ApiGateway::Method":
                yield from self._list_method(properties)
            case "AWS::ApiGatewayV2::Route":
                name = self._find_by_integration(properties)
                method, _, path = str(properties.get("RouteKey")).partition(" ")
                route = f"{'ANY' if method == '*' else method} {path}".strip()
                yield from _list_route(name, route, properties)
            case "AWS::ApiGateway::RestApi" | "AWS::ApiGatewayV2::Api" if "Body" in properties:
                yield from self._list_document(properties["Body"])
            case "AWS::Events::Rule":
                yield from self._list_rule(properties)
            case "AWS::Scheduler::Schedule" if name := self._find(
                _read(properties, "Target", "Arn")
            ):
                off = " (off)" if properties.get("State") == "DISABLED" else ""
                yield Row(name, "cron", f"{name_value(properties['ScheduleExpression'])}{off}")
            case "AWS::Lambda::EventSourceMapping":
                yield self._read_mapping(properties)
            case _:
                yield from self._list_settings(key, kind, properties)

    def _list_settings(self, key: str, kind: str, properties: Values) -> Iterator[Row]:
        """List settings of functions that are separate resources."""
        match kind:
            case "AWS::Lambda::Url" if name := self._find(properties.get("TargetFunctionArn")):
                yield Row(name, "url", str(properties.get("AuthType", "NONE")))
            case "AWS::Lambda::EventInvokeConfig":
                name = self._find(properties.get("FunctionName"))
                yield from (Row(name, "async", text) for text in self._list_async(properties))
            case "AWS::Lambda::Alias" if found := _read(
                properties, "ProvisionedConcurrencyConfig", "ProvisionedConcurrentExecutions"
            ):
                name = self._find(properties.get("FunctionName"))
                yield Row(name, "provisionedConcurrency", str(found))
            case "AWS::Logs::LogGroup" if "RetentionInDays" in properties:
                name = normalize_name(key.removesuffix("LogGroup"))
                if name in {normalize_name(one) for one in self._names.values()} or (
                    name := self._find(properties.get("LogGroupName"))
                ):
                    yield Row(name, "retention", name_value(properties["RetentionInDays"]))
            case _:
                yield from self._list_notifications(key, kind, properties)

    def _list_async(self, properties: Values) -> Iterator[str]:
        for key, name in (
            ("MaximumRetryAttempts", "maximumRetryAttempts"),
            ("MaximumEventAgeInSeconds", "maximumEventAge"),
        ):
            if key in properties:
                yield f"{name} {properties[key]}"
        for key, name in (("OnSuccess", "onSuccess"), ("OnFailure", "onFailure")):
            target = _read(properties, "DestinationConfig", key, "Destination")
            if target:
                yield f"{name} {self._find(target) or name_source(target)}"

    def _list_notifications(self, key: str, kind: str, properties: Values) -> Iterator[Row]:
        match kind:
            case "AWS::SNS::Subscription" if properties.get("Protocol") == "lambda":
                topic = name_source(properties["TopicArn"])
                yield Row(self._find(properties["Endpoint"]), "topic", topic)
            case "AWS::SNS::Topic":
                topic = name_source({"Ref": key})
                for one in properties.get("Subscription", ()):
                    yield Row(self._find(one["Endpoint"]), "topic", topic)
            case "AWS::S3::Bucket":
                found = _read(properties, "NotificationConfiguration", "LambdaConfigurations")
                for one in found or ():
                    yield Row(self._find(one["Function"]), "bucket", one["Event"])
            case "Custom::S3":
                name = self._names_by_function_name().get(str(properties.get("FunctionName")), "")
                for one in properties.get("BucketConfigs") or ():
                    yield Row(name, "bucket", one["Event"])
            case _:
                pass

    def _names_by_function_name(self) -> dict[str, str]:
        """The functions by their names at AWS."""
        return {
            str(_read_properties(one).get("FunctionName")): normalize_name(self._names[key])
            for key, one in self._functions.items()
        }

    def _read_mapping(self, properties: Values) -> Row:
        name = self._find(properties.get("FunctionName"))
        off = " (off)" if str(properties.get("Enabled", True)).lower() == "false" else ""
        topics = properties.get("Topics") or [""]
        source = properties.get("EventSourceArn") or topics[0]
        is_queue = not any(key in properties for key in ("StartingPosition", "Topics", "Queues"))
        size = properties.get("BatchSize", DEFAULT_BATCH if is_queue else "")
        text = f"{name_source(source)} {size}{off}"
        return Row(name, "mapping", text)

    def _list_method(self, properties: Values) -> Iterator[Row]:
        name = self._find(_read(properties, "Integration", "Uri"))
        route = f"{properties.get('HttpMethod')} {self._read_path(properties.get('ResourceId'))}"
        yield from _list_route(name, route, properties)

    def _read_path(self, value: object) -> str:
        steps: list[str] = []
        key = _read_reference(value)
        while "PathPart" in _read_properties(self._resources.get(key, {})):
            properties = _read_properties(self._resources[key])
            steps.append(str(properties["PathPart"]))
            key = _read_reference(properties["ParentId"])
        return "/" + "/".join(reversed(steps))

    def _find_by_integration(self, properties: Values) -> str:
        text = json.dumps(properties.get("Target"))
        for key, one in self._select("AWS::ApiGatewayV2::Integration").items():
            if f'"{key}"' in text:
                return self._find(_read_properties(one).get("IntegrationUri"))
        return ""

    def _list_document(self, body: Values) -> Iterator[Row]:
        """List the routes of a document in the form of OpenAPI."""
        for path, methods in (body.get("paths") or {}).items():
            for method, one in methods.items() if isinstance(methods, Mapping) else ():
                integration = one.get("x-amazon-apigateway-integration") or {}
                verb = "ANY" if method.startswith("x-") else method.upper()
                route = path if path == "$default" else f"{verb} {path}"
                yield from _list_secured(self._find(integration.get("uri")), route, one)

    def _list_rule(self, properties: Values) -> Iterator[Row]:
        off = " (off)" if properties.get("State") == "DISABLED" else ""
        for target in properties.get("Targets", ()):
            name = self._find(target.get("Arn"))
            if "ScheduleExpression" in properties:
                yield Row(name, "cron", f"{name_value(properties['ScheduleExpression'])}{off}")
            if "EventPattern" in properties:
                yield Row(name, "rule", json.dumps(properties["EventPattern"], sort_keys=True))


def _list_route(name: str, route: str, properties: Values) -> Iterator[Row]:
    yield Row(name, "http", route)
    if properties.get("AuthorizationType", "NONE") != "NONE":
        yield Row(name, "authorizer", route)
    if properties.get("ApiKeyRequired") is True:
        yield Row(name, "apiKey", route)


def _list_secured(name: str, route: str, operation: Values) -> Iterator[Row]:
    yield Row(name, "http", route)
    schemes = {key for one in operation.get("security") or () for key in one}
    if "api_key" in schemes:
        yield Row(name, "apiKey", route)
    if schemes - {"api_key", "NONE"}:
        yield Row(name, "authorizer", route)


def _list_allowed(document: Values) -> Iterator[str]:
    statements = document.get("Statement") or ()
    for statement in [statements] if isinstance(statements, Mapping) else statements:
        yield from format_statement(statement)


def _name_policy(value: object) -> str:
    text = json.dumps(value) if isinstance(value, Mapping) else str(value)
    return text.rpartition("/")[2].strip('"]} ')


def _read_properties(resource: Any) -> Values:
    found = resource.get("Properties") if isinstance(resource, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _read(properties: Values, *keys: str) -> Any:
    found: Any = properties
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if found is not None else {}


def _read_reference(value: object) -> str:
    found = _read(value, "Ref") or _read(value, "Fn::GetAtt") if isinstance(value, Mapping) else ""
    first = found[0] if isinstance(found, list) else found
    return first.partition(".")[0] if isinstance(first, str) else ""


def _list_tags(tags: object) -> Iterator[str]:
    for one in tags if isinstance(tags, list) else ():
        name = str(one.get("Key"))
        if name not in _OWN_TAGS:
            yield name


def list_template_rows(
    template: Values, suffix: str = "", parameters: Mapping[str, str] | None = None
) -> set[Row]:
    """List the rows of a template. `parameters` are those of a stack of fabric."""
    rows = TemplateRows(template, suffix, parameters or {}).list()
    return {row for row in rows if row.function and not is_implied(row)}


def align(own: set[Row], other: set[Row]) -> tuple[set[Row], set[Row]]:
    """Make the rows of fabric and of the other tool comparable.

    Functions whose names fabric has shortened get those of the other tool. Permissions of a role
    that the source defines are left out, because fabric refers to the role.
    """
    mine, others = ({one.function for one in rows} for rows in (own, other))
    names: dict[str, str] = {}
    for name in mine - others:
        longer = [one for one in others - mine if one.startswith(name)]
        if len(longer) == 1:
            names[name] = longer[0]
    own = {one._replace(function=names.get(one.function, one.function)) for one in own}
    given = {one.function for one in own if one.kind == "role"}
    return (
        {one for one in own if one.kind != "role"},
        {one for one in other if one.kind != "permission" or one.function not in given},
    )


def list_differences(other: set[Row], own: set[Row]) -> Iterator[tuple[Row, Row]]:
    """Pair the rows that only one side has, by function and kind: those of the other tool first."""
    keys = sorted({(one.function, one.kind) for one in other ^ own})
    for function, kind in keys:
        pairs = [
            sorted(one.value for one in side if (one.function, one.kind) == (function, kind))
            for side in (other - own, own - other)
        ]
        for first, second in zip_longest(*pairs, fillvalue=""):
            yield Row(function, kind, first), Row(function, kind, second)
