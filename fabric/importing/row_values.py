"""Values of rows as texts, in which a reference is the name of its resource.

`{"Fn::GetAtt": ["Table", "Arn"]}` and the output of a stack with this value are both `{table.arn}`.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct, field

from fabric.importing.intrinsics import convert_dynamic

Values: TypeAlias = Mapping[str, Any]


class Row(NamedTuple):
    """One fact about a function. A kind such as `memory` has one row for a function."""

    function: str
    kind: str
    value: str


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
_BINDING = re.compile(r"\$\{([a-z-]+:(?!:)[^{}]*)\}|\(known after a deploy: ([a-z-]+:[^()]*)\)")
_SUBSTITUTED = re.compile(r"\$\{(!?)([A-Za-z0-9:._-]+)\}")
_PSEUDO = {
    "AWS::Partition": "aws",
    "AWS::Region": "region",
    "AWS::AccountId": "account",
    "AWS::URLSuffix": "amazonaws.com",
    "AWS::NoValue": "",
}
_OF_AWS = {"partition": "aws", "region": "region", "accountId": "account"}
_LAST = re.compile(r"[^:/]+$")
# References of references, which a template without cycles does not exceed.
_DEEPEST = 20


def normalize_name(name: str) -> str:
    """Return a name that is equal in all tools: lowercase letters and digits."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


class RowValues(Struct, frozen=True, kw_only=True):
    """What names stand for: functions, parameters, and outputs of the stack before functions."""

    # The text of a reference by logical id, with or without an attribute, such as `Api.Arn`.
    references: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[str, Any] = field(default_factory=dict)

    def format(self, value: Any, depth: int = 0) -> str:
        """Format a text, a number or a function of CloudFormation."""
        if depth > _DEEPEST:
            return ""
        if isinstance(value, Mapping):
            return self._format_function(value, depth + 1)
        if isinstance(value, list):
            return ",".join(self.format(one, depth + 1) for one in value)
        text = self._hide_region(convert_dynamic(str(value)))
        return _BINDING.sub(lambda found: self._format_binding(found[1] or found[2], depth), text)

    def _hide_region(self, text: str) -> str:
        """Write the region of the deploy as tools do that do not know it."""
        region = self.parameters.get("AWS::Region")
        return text.replace(f":{region}:", ":region:") if region and "arn:" in text else text

    def format_all(self, value: Any) -> str:
        """Format a value of any form as JSON."""
        return json.dumps(self._convert(value), sort_keys=True)

    def name(self, value: Any) -> str:
        """Name a queue, stream, topic, bucket or table. Of an ARN, the last part counts."""
        text = self.format(value).lower()
        last = _LAST.search(text)
        return last[0] if text.startswith("arn:") and "{" not in text and last else text

    def count(self, value: Any) -> int:
        """Count the items of a list, which a parameter can contain."""
        if isinstance(value, list):
            return sum(self.count(one) if isinstance(one, Mapping) else 1 for one in value)
        text = self.format(value) if value else ""
        return len(text.split(",")) if text else 0

    def format_statement(self, statement: Values) -> Iterator[str]:
        """Format a statement of IAM, with keys of fabric or of IAM, for each action and resource.

        IAM compares actions without case.
        """
        effect = statement.get("Effect", "Allow")
        denied = statement.get("NotAction") or statement.get("NotActions")
        actions = denied or statement.get("Action") or statement.get("Actions")
        others = statement.get("NotResource") or statement.get("NotResources")
        resources = others or statement.get("Resource") or statement.get("Resources")
        condition = statement.get("Condition")
        end = f" if {self.format_all(condition)}" if condition else ""
        for action in _list(actions):
            for resource in _list(resources):
                what = f"{effect} {'all but ' if denied else ''}{self.format(action)}"
                where = f"{'all but ' if others else ''}{self.format(resource)}"
                yield f"{what} on {where}{end}".lower()

    def _convert(self, value: Any) -> Any:
        if isinstance(value, Mapping) and _get_function(value) is None:
            return {key: self._convert(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self._convert(one) for one in value]
        is_text = isinstance(value, str | Mapping)
        return self.format(value) if is_text else value

    def _format_function(self, value: Values, depth: int) -> str:
        name = _get_function(value)
        inner: Any = value.get(name) if name else None
        if name == "Ref":
            return self._refer(str(inner), "", depth)
        if name == "Fn::GetAtt":
            words = inner if isinstance(inner, list) else str(inner).split(".", 1)
            return self._refer(str(words[0]), ".".join(map(str, words[1:])), depth)
        if name == "Fn::Sub":
            text, own = inner if isinstance(inner, list) else (inner, {})
            return self._substitute(text, own, depth)
        if name == "Fn::Join" and isinstance(inner[1], list):
            return str(inner[0]).join(self.format(one, depth) for one in inner[1])
        if name == "Fn::ImportValue":
            return f"{{export {self.format(inner, depth)}}}"
        return json.dumps({key: self._convert(one) for key, one in value.items()})

    def _refer(self, name: str, attribute: str, depth: int) -> str:
        known = f"{name}.{attribute}" if attribute else name
        if known in self.references:
            return self.references[known]
        if known in self.parameters and known not in _PSEUDO:
            return self.format(self.parameters[known], depth)
        if name in _PSEUDO:
            return _PSEUDO[name]
        return _build_reference(name, attribute)

    def _substitute(self, text: str, own: Values, depth: int) -> str:
        def replace(found: re.Match[str]) -> str:
            if found[1]:
                return f"${{{found[2]}}}"
            if found[2] in own:
                return self.format(own[found[2]], depth)
            name, _, attribute = found[2].partition(".")
            return self._refer(name, attribute, depth)

        return _SUBSTITUTED.sub(replace, self.format(text, depth))

    def _format_binding(self, binding: str, depth: int) -> str:
        kind, _, name = binding.partition(":")
        name = name.partition(",")[0]
        match kind:
            case "stack" if name in self.outputs:
                return self.format(self.outputs[name], depth + 1)
            case "aws":
                return _OF_AWS.get(name, name)
            case "function" | "workflow" | "stack":
                resource, _, attribute = name.partition(".")
                attribute = "" if attribute == "name" else attribute
                return _build_reference(resource, attribute)
            case "cfn-export":
                return f"{{export {name}}}"
            case "param" if name in self.parameters:
                return self.format(self.parameters[name], depth + 1)
            case _:
                return f"{{{kind} {name}}}"


def _build_reference(name: str, attribute: str = "") -> str:
    return f"{{{normalize_name(name)}{f'.{attribute.lower()}' if attribute else ''}}}"


def _get_function(value: Values) -> str | None:
    name = next(iter(value), "")
    return name if len(value) == 1 and (name == "Ref" or name.startswith("Fn::")) else None


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [value] if value else []


def is_implied(row: Row) -> bool:
    """Return whether a row is a permission that each tool adds for a function."""
    if row.kind != "permission":
        return False
    action = row.value.removeprefix("allow ")
    return action.startswith(_IMPLIED) or row.value in _IMPLIED_POLICIES
