"""State machines of Step Functions with their versions and aliases, and what a definition needs."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from moto.iam.models import iam_backends

from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.refusals import RefusalError

if TYPE_CHECKING:
    from tests.support.servers.strict_cloud1.accounts import Region

_TYPES = frozenset({"Task", "Pass", "Choice", "Wait", "Succeed", "Fail", "Parallel", "Map"})
_ENDS = frozenset({"Succeed", "Fail"})


@dataclass
class Execution:
    arn: str
    name: str
    input: Any
    status: str = "RUNNING"
    output: str = ""
    error: str = ""
    cause: str = ""


@dataclass
class Machine:
    """A version is what was published, and never changes."""

    name: str
    arn: str
    kind: str
    tags: dict[str, str]
    latest: Fields
    versions: dict[str, Fields] = field(default_factory=dict)
    aliases: dict[str, Fields] = field(default_factory=dict)
    executions: dict[str, Execution] = field(default_factory=dict)
    next_number: int = 1
    # How often it has to be looked at until it is deleted; None if it is not to be.
    leaving: int | None = None

    def publish(self, description: str) -> str:
        """The same revision with the same description is published once."""
        for arn, one in self.versions.items():
            if one == {**self.latest, "description": description}:
                return arn
        arn = f"{self.arn}:{self.next_number}"
        self.next_number += 1
        self.versions[arn] = {**self.latest, "description": description}
        return arn

    def qualified(self, arn: str) -> Fields | None:
        """What an ARN of the machine, of a version or of an alias stands for."""
        if arn == self.arn:
            return self.latest
        alias = self.aliases.get(arn)
        if alias:
            arn = alias["routingConfiguration"][0]["stateMachineVersionArn"]
        return self.versions.get(arn)


def refusal(code: str, message: str) -> RefusalError:
    return RefusalError(400, code, message)


def now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - shown only


def is_allowed(region: "Region", role: str, action: str, resource: str) -> bool:
    """By the inline policies of a role; `Deny` and conditions are not looked at."""
    found = iam_backends[region.account.number]["aws"].roles.values()
    policies = [text for one in found if one.arn == role for text in one.policies.values()]
    rows = [row for text in policies for row in json.loads(text)["Statement"]]
    return any(
        row["Effect"] == "Allow"
        and _fits(row["Action"], action)
        and _fits(row["Resource"], resource)
        for row in rows
    )


def _fits(patterns: Any, text: str) -> bool:
    found = [patterns] if isinstance(patterns, str) else patterns
    return any(fnmatchcase(text, one) for one in found)


def definition_faults(text: str) -> Iterator[str]:
    try:
        root = json.loads(text)
    except ValueError:
        yield "INVALID_JSON_DESCRIPTION"
        return
    yield from _faults(root, "")


def _faults(machine: Any, path: str) -> Iterator[str]:
    states = machine.get("States") if isinstance(machine, dict) else None
    if not states or not isinstance(states, dict):
        yield f"SCHEMA_VALIDATION_FAILED: States is required at {path}/"
        return
    if machine.get("StartAt") not in states:
        yield f"MISSING_TRANSITION_TARGET: Missing 'Next' target at {path}/StartAt"
    targets = {machine.get("StartAt")}
    for name, state in states.items():
        at = f"{path}/States/{name}"
        if state.get("Type") not in _TYPES:
            yield f"SCHEMA_VALIDATION_FAILED: Type at {at}"
        if state.get("Type") == "Task" and not state.get("Resource"):
            yield f"SCHEMA_VALIDATION_FAILED: Resource is required at {at}"
        following = _following(state)
        targets |= following
        yield from (f"MISSING_TRANSITION_TARGET: {one} at {at}" for one in following - set(states))
        if state.get("Type") not in _ENDS | {"Choice"} and ("Next" in state) == ("End" in state):
            yield f"SCHEMA_VALIDATION_FAILED: Next or End at {at}"
        inner = [*state.get("Branches", []), state.get("ItemProcessor") or state.get("Iterator")]
        parts: list[Fields] = [one for one in inner if one]
        for part in parts:
            yield from _faults(part, at)
    left: list[str] = sorted(set(states) - targets)
    yield from (f"MISSING_TRANSITION_TARGET: {name} is not reachable" for name in left)


def _following(state: Fields) -> set[str]:
    rows = [*state.get("Choices", []), *state.get("Catch", [])]
    found = [state.get("Next"), state.get("Default"), *(one.get("Next") for one in rows)]
    return {one for one in found if one}
