"""State machines of Step Functions with their versions and aliases, and what a definition needs."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.refusals import RefusalError

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
