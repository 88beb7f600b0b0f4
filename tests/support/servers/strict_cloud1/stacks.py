"""A small, slow CloudFormation: each look at a stack does one step of its operation.

It makes no real resources. `Metadata` of a resource plans a failure: `Fails` is the reason of its
create or update, `Sticks` that of its rollback or deletion.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import yaml

from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.refusals import RefusalError

_START = datetime(2026, 1, 1, tzinfo=UTC)
_TYPE = re.compile(r"AWS::[A-Za-z0-9]+::[A-Za-z0-9]+")
# Properties that no resource can change.
_FIXED = ("QueueName", "TableName", "BucketName", "KeySchema")
_PERHAPS = ("KmsMasterKeyId",)
Step = Callable[[], None]


class _Loader(yaml.SafeLoader):
    """Reads the short forms of functions."""


def _function(loader: yaml.SafeLoader, suffix: str, node: Any) -> Any:
    if isinstance(node, yaml.ScalarNode):
        value: Any = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_mapping(node, deep=True)
    return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": value}


_Loader.add_multi_constructor("!", _function)


def validation(message: str) -> RefusalError:
    return RefusalError(400, "ValidationError", message)


def parsed_template(text: str) -> Any:
    try:
        template = yaml.load(text, _Loader)  # noqa: S506 - a safe loader with functions
    except yaml.YAMLError as error:
        raise validation(f"Template format error: {error}") from error
    if not isinstance(template, dict) or not template.get("Resources"):
        raise validation("Template format error: At least one Resources member must be defined.")
    for name, one in template["Resources"].items():
        if not _TYPE.fullmatch(one.get("Type", "")):
            raise validation(f"Template format error: Unrecognized resource types: [{name}]")
    return template


@dataclass
class ChangeSet:
    name: str
    token: str
    template: Any
    parameters: dict[str, str]
    tags: dict[str, str]
    changes: list[Fields]
    status: str = "CREATE_PENDING"
    reason: str = ""
    execution: str = "AVAILABLE"
    # Physical ids of resources to import.
    imports: dict[str, str] = field(default_factory=dict)
    mode: str = "STANDARD"


@dataclass
class Stack:
    name: str
    ident: str
    status: str = "REVIEW_IN_PROGRESS"
    template: Any = field(default_factory=lambda: {"Resources": {}})
    parameters: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    made: dict[str, str] = field(default_factory=dict)
    events: list[Fields] = field(default_factory=list)
    change_sets: dict[str, ChangeSet] = field(default_factory=dict)
    is_protected: bool = False
    capabilities: list[str] = field(default_factory=list)
    updated: datetime | None = None
    steps: list[Step] = field(default_factory=list)
    # How often an operation was begun, and in which modes.
    begun: int = 0
    modes: list[str] = field(default_factory=list)
    importing: dict[str, str] = field(default_factory=dict)

    def step(self) -> None:
        if self.steps:
            self.steps.pop(0)()

    def tell(self, name: str, kind: str, status: str, reason: str = "") -> None:
        number = len(self.events)
        row = {
            "StackId": self.ident,
            "StackName": self.name,
            "EventId": f"{self.ident}-{number}",
            "LogicalResourceId": name,
            "PhysicalResourceId": self.made.get(name, ""),
            "ResourceType": kind,
            "ResourceStatus": status,
            "Timestamp": _START + timedelta(seconds=number),
        }
        self.events.append({**row, "ResourceStatusReason": reason} if reason else row)

    def become(self, status: str) -> None:
        self.status = status
        self.tell(self.name, "AWS::CloudFormation::Stack", status)

    def execute(self, one: ChangeSet) -> None:
        """Begin to carry out a change set. The first failure takes everything back."""
        one.execution = "EXECUTE_IN_PROGRESS"
        self.begun += 1
        is_new = self.status == "REVIEW_IN_PROGRESS"
        word = "IMPORT" if one.imports else "CREATE" if is_new else "UPDATE"
        self.importing = one.imports
        self.modes.append(one.mode)
        before = (self.template, dict(self.parameters), dict(self.tags))
        self.template, self.parameters, self.tags = one.template, one.parameters, one.tags
        self.updated = None if is_new else _START + timedelta(days=self.begun)
        self.become(f"{word}_IN_PROGRESS")
        names = [row["LogicalResourceId"] for row in one.changes if row["Action"] != "Remove"]
        self.steps = [
            *(lambda name=name: self._make(name, word, before) for name in names),
            lambda: self._finish(word, one),
        ]

    def _make(self, name: str, word: str, before: Any) -> None:
        resource = self.template["Resources"][name]
        planned = resource.get("Metadata", {})
        kind = resource["Type"]
        self.tell(name, kind, f"{word}_IN_PROGRESS")
        if "Fails" not in planned:
            made = f"{self.name}-{name}-{self.begun}"
            self.made[name] = self.importing.get(name, made)
            self.tell(name, kind, f"{word}_COMPLETE")
            return
        self.tell(name, kind, f"{word}_FAILED", planned["Fails"])
        rolling = "ROLLBACK" if word == "CREATE" else "UPDATE_ROLLBACK"
        self.become(f"{rolling}_IN_PROGRESS")
        others = [one for one in self.template["Resources"] if one not in self.made]
        for other in others:
            if other != name:
                reason = "Resource creation cancelled"
                self.tell(
                    other, self.template["Resources"][other]["Type"], f"{word}_FAILED", reason
                )
        end = f"{rolling}_FAILED" if "Sticks" in planned else f"{rolling}_COMPLETE"
        self.steps = [lambda: self._take_back(end, before)]

    def _take_back(self, end: str, before: Any) -> None:
        self.template, self.parameters, self.tags = before
        self.change_sets.clear()
        self.become(end)

    def _finish(self, word: str, one: ChangeSet) -> None:
        for name in set(self.made) - set(one.template["Resources"]):
            del self.made[name]
        self.change_sets.clear()
        self.become(f"{word}_COMPLETE")

    def delete(self) -> None:
        self.become("DELETE_IN_PROGRESS")
        self.steps = [self._end_deletion]

    def _end_deletion(self) -> None:
        for name, one in self.template["Resources"].items():
            reason = one.get("Metadata", {}).get("Sticks")
            if reason and name in self.made:
                self.tell(name, one["Type"], "DELETE_FAILED", reason)
                self.become("DELETE_FAILED")
                return
        self.become("DELETE_COMPLETE")

    def outputs(self) -> list[Fields]:
        rows = self.template.get("Outputs", {}).items()
        return [{"OutputKey": key, "OutputValue": self._value(row["Value"])} for key, row in rows]

    def _value(self, value: Any) -> str:
        if not isinstance(value, dict):
            return str(value)
        [(function, given)] = value.items()
        if function == "Ref":
            return self.parameters.get(given) or self.made.get(given, "")
        if function == "Fn::GetAtt":
            name, _, attribute = given.partition(".") if isinstance(given, str) else (*given, "")
            return f"{self.made[name]}.{attribute}"
        assert function == "Fn::Sub", function
        return re.sub(r"\$\{(\w+)\}", lambda found: self._value({"Ref": found[1]}), given)


def changes_between(stack: Stack, template: Any, parameters: dict[str, str]) -> Iterator[Fields]:
    """What a change set of an update shows."""
    old, new = stack.template["Resources"], template["Resources"]
    for name in [*new, *(one for one in old if one not in new)]:
        kind = (new.get(name) or old[name])["Type"]
        row = {"LogicalResourceId": name, "ResourceType": kind}
        if name not in old:
            yield {**row, "Action": "Add"}
        elif name not in new:
            yield {**row, "Action": "Remove", "PolicyAction": "Delete"}
        elif old[name] != new[name] or _uses_changed(stack, new[name], parameters):
            yield {**row, "Action": "Modify", "Replacement": _replacement(old[name], new[name])}


def _uses_changed(stack: Stack, resource: Any, parameters: dict[str, str]) -> bool:
    text = json.dumps(resource)
    changed = [one for one in parameters if parameters[one] != stack.parameters.get(one)]
    return any(f'"{one}"' in text or f"${{{one}}}" in text for one in changed)


def _replacement(old: Any, new: Any) -> str:
    def is_changed(names: tuple[str, ...]) -> bool:
        sides = (one.get("Properties", {}) for one in (old, new))
        first, second = ([side.get(name) for name in names] for side in sides)
        return first != second

    return "True" if is_changed(_FIXED) else "Conditional" if is_changed(_PERHAPS) else "False"
