"""Functions, settings and events as rows, of a template of CloudFormation."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Any

from fabric.importing.row_values import (
    DEFAULT_BATCH,
    Row,
    RowValues,
    Values,
    is_implied,
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
_REFERENCE = re.compile(r"\{([a-z0-9]+)(?:\.[^{}]*)?\}")


class TemplateRows:
    """The rows of one template."""

    def __init__(
        self,
        template: Values,
        suffix: str,
        parameters: Mapping[str, Any],
        outputs: Mapping[str, Any] | None = None,
        others: Iterable[str] = (),
    ) -> None:
        """`suffix` is the end of logical ids that a tool adds to names of functions. `others` are
        names of functions outside of the template."""
        self._suffix = suffix
        self._resources: Values = template.get("Resources") or {}
        self._functions = {
            key: one
            for key, one in self._select("AWS::Lambda::Function").items()
            if not key.startswith(_OF_THE_TOOL)
        }
        self._names = {key: normalize_name(self._name(key)) for key in self._functions}
        self._known = {*self._names.values(), *others}
        declared = {
            key: read_default(key, one) for key, one in (template.get("Parameters") or {}).items()
        }
        self.values = RowValues(
            references=self._list_references(),
            parameters={**declared, **parameters},
            outputs=outputs or {},
        )
        self._keys = {normalize_name(key): key for key in self._resources}

    def _list_references(self) -> dict[str, str]:
        """List the texts of references to functions and of references that are ARNs."""
        found: dict[str, str] = {}
        for key, name in self._names.items():
            found |= {key: f"{{{name}}}", f"{key}.Arn": f"{{{name}.arn}}"}
        for key in self._select("AWS::StepFunctions::StateMachine"):
            name = normalize_name(key.removesuffix("StepFunctionsStateMachine"))
            found |= dict.fromkeys((key, f"{key}.Arn"), f"{{{name}.arn}}")
        functions = RowValues(references=dict(found))
        for kind in ("AWS::Lambda::Alias", "AWS::Lambda::Version"):
            for key, one in self._select(kind).items():
                owner = _REFERENCE.search(functions.format(_read_properties(one)["FunctionName"]))
                if owner and owner[1] in self._known:
                    found[key] = f"{{{owner[1]}.arn}}"
        return found

    def list(self) -> Iterator[Row]:
        for key, one in self._functions.items():
            properties = _read_properties(one)
            name = self._names[key]
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
        return parse_function_name(key, self._suffix)

    def _find(self, value: object) -> str:
        """Find the function that a value refers to: an alias, an ARN or the URI of an integration.

        Returns "" if there is none.
        """
        found = (one[1] for one in _REFERENCE.finditer(self.values.format(value)))
        return next((name for name in found if name in self._known), "")

    def _find_resource(self, value: object) -> str:
        """Find the logical id of the resource that a value refers to."""
        found = (one[1] for one in _REFERENCE.finditer(self.values.format(value)))
        return next((self._keys[name] for name in found if name in self._keys), "")

    def _list_function(self, name: str, properties: Values) -> Iterator[tuple[str, str]]:
        for key, kind in _PLAIN.items():
            if key in properties:
                yield kind, self.values.format(properties[key])
        for one in properties.get("Architectures") or ():
            yield "architecture", self.values.format(one)
        yield from (("env", one) for one in _read(properties, "Environment", "Variables"))
        yield from (("tag", one) for one in _list_tags(properties.get("Tags")))
        if size := _read(properties, "EphemeralStorage", "Size"):
            yield "ephemeralStorage", self.values.format(size)
        if _read(properties, "TracingConfig", "Mode") == "Active":
            yield "tracing", "active"
        if _read(properties, "SnapStart", "ApplyOn") == "PublishedVersions":
            yield "snapStart", "true"
        yield from self._list_places(properties)
        yield from (("permission", text) for text in self._list_permissions(name, properties))

    def _list_places(self, properties: Values) -> Iterator[tuple[str, str]]:
        if target := _read(properties, "DeadLetterConfig", "TargetArn"):
            yield "deadLetter", self.values.name(target)
        if properties.get("Layers"):
            yield "layers", str(len(properties["Layers"]))
        vpc = properties.get("VpcConfig")
        if isinstance(vpc, Mapping):
            counts = [self.values.count(vpc.get(key)) for key in ("SubnetIds", "SecurityGroupIds")]
            yield "vpc", "{} subnets, {} groups".format(*counts)
        for one in properties.get("FileSystemConfigs") or ():
            yield "fileSystem", self.values.format(one.get("LocalMountPath"))

    def _list_permissions(self, function: str, properties: Values) -> Iterator[str]:
        """List the permissions of the role that the tool creates for a function."""
        key = self._find_resource(properties.get("Role"))
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
            yield from self._list_allowed(document)
        for one in inner.get("ManagedPolicyArns") or ():
            yield f"managed {self.values.format(one).rpartition('/')[2]}"

    def _list_allowed(self, document: Values) -> Iterator[str]:
        statements = document.get("Statement") or ()
        for statement in [statements] if isinstance(statements, Mapping) else statements:
            yield from self.values.format_statement(statement)

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
                is_rest = kind == "AWS::ApiGateway::RestApi"
                yield from self._list_document(properties["Body"], is_rest=is_rest)
            case "AWS::Events::Rule":
                yield from self._list_rule(properties)
            case "AWS::Scheduler::Schedule" if name := self._find(
                _read(properties, "Target", "Arn")
            ):
                yield Row(name, "cron", self._format_schedule(properties))
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
                yield Row(name, "provisionedConcurrency", self.values.format(found))
            case "AWS::Logs::LogGroup" if "RetentionInDays" in properties:
                name = normalize_name(key.removesuffix("LogGroup"))
                name = name if name in self._known else self._find(properties.get("LogGroupName"))
                yield Row(name, "retention", self.values.format(properties["RetentionInDays"]))
            case _:
                yield from self._list_notifications(key, kind, properties)

    def _list_async(self, properties: Values) -> Iterator[str]:
        for key, name in (
            ("MaximumRetryAttempts", "maximumRetryAttempts"),
            ("MaximumEventAgeInSeconds", "maximumEventAge"),
        ):
            if key in properties:
                yield f"{name} {self.values.format(properties[key])}"
        for key, name in (("OnSuccess", "onSuccess"), ("OnFailure", "onFailure")):
            target = _read(properties, "DestinationConfig", key, "Destination")
            if target:
                yield f"{name} {self.values.name(target)}"

    def _list_notifications(self, key: str, kind: str, properties: Values) -> Iterator[Row]:
        match kind:
            case "AWS::SNS::Subscription" if properties.get("Protocol") == "lambda":
                topic = self.values.name(properties["TopicArn"])
                yield Row(self._find(properties["Endpoint"]), "topic", topic)
            case "AWS::SNS::Topic":
                topic = self.values.name({"Ref": key})
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
            str(_read_properties(one).get("FunctionName")): self._names[key]
            for key, one in self._functions.items()
        }

    def _read_mapping(self, properties: Values) -> Row:
        name = self._find(properties.get("FunctionName"))
        off = " (off)" if str(properties.get("Enabled", True)).lower() == "false" else ""
        topics = properties.get("Topics") or [""]
        source = properties.get("EventSourceArn") or topics[0]
        is_queue = not any(key in properties for key in ("StartingPosition", "Topics", "Queues"))
        size = properties.get("BatchSize", DEFAULT_BATCH if is_queue else "")
        text = f"{self.values.name(source)} {self.values.format(size)}{off}"
        return Row(name, "mapping", text)

    def _list_method(self, properties: Values) -> Iterator[Row]:
        name = self._find(_read(properties, "Integration", "Uri"))
        route = f"{properties.get('HttpMethod')} {self._read_path(properties.get('ResourceId'))}"
        yield from _list_route(name, route, properties)

    def _read_path(self, value: object) -> str:
        steps: list[str] = []
        key = self._find_resource(value)
        while "PathPart" in _read_properties(self._resources.get(key, {})):
            properties = _read_properties(self._resources[key])
            steps.append(self.values.format(properties["PathPart"]))
            key = self._find_resource(properties["ParentId"])
        return "/" + "/".join(reversed(steps))

    def _find_by_integration(self, properties: Values) -> str:
        key = self._find_resource(properties.get("Target"))
        return self._find(_read_properties(self._resources.get(key)).get("IntegrationUri"))

    def _list_document(self, body: Values, *, is_rest: bool) -> Iterator[Row]:
        """List the routes of a document in the form of OpenAPI."""
        for path, methods in (body.get("paths") or {}).items():
            for method, one in methods.items() if isinstance(methods, Mapping) else ():
                integration = one.get("x-amazon-apigateway-integration") or {}
                verb = "ANY" if method.startswith("x-") else method.upper()
                # AWS ignores a slash at the end of such a path.
                place = "/" + path.strip("/") if is_rest else path
                route = path if path == "$default" else f"{verb} {place}"
                yield from _list_secured(self._find(integration.get("uri")), route, one)

    def _format_schedule(self, properties: Values) -> str:
        off = " (off)" if properties.get("State") == "DISABLED" else ""
        return f"{self.values.format(properties['ScheduleExpression'])}{off}"

    def _list_rule(self, properties: Values) -> Iterator[Row]:
        for target in properties.get("Targets", ()):
            name = self._find(target.get("Arn"))
            if "ScheduleExpression" in properties:
                yield Row(name, "cron", self._format_schedule(properties))
            if "EventPattern" in properties:
                yield Row(name, "rule", self.values.format_all(properties["EventPattern"]))


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


def _read_properties(resource: Any) -> Values:
    found = resource.get("Properties") if isinstance(resource, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _read(properties: Values, *keys: str) -> Any:
    found: Any = properties
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if found is not None else {}


def read_default(name: str, parameter: Values) -> Any:
    """Read the value of a parameter as fabric writes it, or None if it has none."""
    default = parameter.get("Default")
    if str(parameter.get("NoEcho")).lower() == "true":
        return f"${{secret:{name}}}"
    is_name = str(parameter.get("Type")).startswith("AWS::SSM::Parameter::Value")
    return f"${{ssm:{default}}}" if is_name and default else default


def _list_tags(tags: object) -> Iterator[str]:
    for one in tags if isinstance(tags, list) else ():
        name = str(one.get("Key"))
        if name not in _OWN_TAGS:
            yield name


def parse_function_name(key: str, suffix: str) -> str:
    """Return the name in a logical id. A tool with a suffix also writes out signs."""
    name = key.removesuffix(suffix)
    return name.replace("Dash", "").replace("Underscore", "") if suffix else name


def list_template_rows(
    template: Values, suffix: str = "", parameters: Mapping[str, Any] | None = None
) -> set[Row]:
    """List the rows of a template. `parameters` are values other than the defaults."""
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
    own = {_rename(one, names) for one in own}
    given = {one.function for one in own if one.kind == "role"}
    added = {one._replace(kind="permission") for one in own if one.kind == "added permission"}
    own = {one for one in own if one.kind not in ("role", "added permission")}
    return (
        own | (added & other),
        {one for one in other if one.kind != "permission" or one.function not in given},
    )


def _rename(row: Row, names: Mapping[str, str]) -> Row:
    value = _REFERENCE.sub(
        lambda found: found[0].replace(found[1], names.get(found[1], found[1]), 1), row.value
    )
    return row._replace(function=names.get(row.function, row.function), value=value)


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
