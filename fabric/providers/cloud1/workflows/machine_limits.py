"""Settings of state machines that AWS does not support, found without an API call."""

import json
from collections.abc import Iterator, Sequence

from fabric.model.problems import Problem
from fabric.providers.cloud1.core.policies import list_statement_faults
from fabric.providers.cloud1.events.events import find_wire_problems
from fabric.providers.cloud1.http.http_limits import RETENTION_DAYS
from fabric.providers.cloud1.limits import find_event_faults
from fabric.providers.core.contract import (
    DeploymentAddress,
    LiveFunction,
    Unsupported,
    WorkflowDraft,
)


def find_workflow_problems(
    address: DeploymentAddress, workflows: Sequence[WorkflowDraft]
) -> Iterator[Unsupported]:
    for one in workflows:
        faults = (each for text in one.triggers for each in find_event_faults(json.loads(text)))
        for why, hint in (*_list_faults(address, one), *faults):
            problem = Problem("config/unfit", f"workflow `{one.name}` {why}", hint)
            yield Unsupported("", problem, keys=("workflows",))
        owner = LiveFunction(one.name, "", "", triggers=one.triggers)
        for found in find_wire_problems(address, owner):
            message = found.message.replace("function", "workflow", 1)
            problem = Problem(found.code, message, found.hint)
            yield Unsupported("", problem, keys=("workflows",))


def _list_faults(address: DeploymentAddress, one: WorkflowDraft) -> Iterator[tuple[str, str]]:
    settings = dict(one.settings)
    was = address.previous.workflow(one.name) if address.previous else None
    kind = settings["type"]
    deployed = dict(was.settings).get("type", kind) if was else kind
    if deployed != kind:
        why = f"has the type {kind}, and {deployed} is deployed, which AWS cannot change"
        yield why, f"rename the workflow, or set `type: {deployed}`"
    if settings.get("permissions", "").startswith("["):
        for fault in list_statement_faults(settings["permissions"]):
            yield f"has invalid permissions: {fault}", ""
    days = json.loads(settings.get("logs", "{}")).get("retentionDays")
    if days and days not in RETENTION_DAYS:
        near = min(RETENTION_DAYS, key=lambda one: abs(one - days))
        yield f"keeps logs for {days} days, which AWS does not support", f"use {near}"
