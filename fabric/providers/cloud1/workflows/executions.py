"""Executions of state machines: started at the alias, and awaited."""

from collections.abc import Mapping
from typing import Any

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.core.client import CALLING
from fabric.providers.cloud1.core.versions import Cloud1Work
from fabric.providers.cloud1.workflows.machines import Machine
from fabric.providers.core.contract import DeploymentAddress, WorkflowAnswer
from fabric.providers.core.retry import RetryPolicy, poll_until

_RUNNING = "RUNNING"
# Standard executions can take a year: longer ones have `--no-wait`.
_LONGEST = RetryPolicy(base=0.2, cap=5.0, most=24 * 3600.0)


def start_machine(
    work: Cloud1Work, address: DeploymentAddress, name: str, event: bytes, *, wait: bool
) -> WorkflowAnswer:
    """Start an execution of the deployed version. An express one answers in the same call."""
    machine = Machine(work, address, name)
    asked = {"stateMachineArn": machine.alias_arn, "input": event.decode()}
    row = address.previous.workflow(name) if address.previous else None
    is_express = row is not None and dict(row.settings).get("type") == "express"
    states = work.clients.of("stepfunctions", CALLING)
    if is_express and wait:
        return _read_answer(states.start_sync_execution(**asked))
    execution = str(states.start_execution(**asked)["executionArn"])
    if not wait:
        return WorkflowAnswer(execution)

    def look() -> Mapping[str, Any] | None:
        found: Mapping[str, Any] = machine.states.describe_execution(executionArn=execution)
        return None if found["status"] == _RUNNING else found

    waiting = RetryPolicy(
        base=min(_LONGEST.base, work.scope.waiting.base),
        cap=_LONGEST.cap,
        most=_LONGEST.most,
        sleep=work.scope.waiting.sleep,
    )
    found = poll_until(look, waiting, work.scope.watch)
    if found is None:
        message = f"the execution of `{name}` still runs: {execution}"
        raise FabricError(Problem("invoke/failed", message, "use --no-wait for long executions"))
    return _read_answer(found)


def _read_answer(found: Mapping[str, Any]) -> WorkflowAnswer:
    fields = ("executionArn", "status", "output", "error", "cause")
    return WorkflowAnswer(*(str(found.get(one) or "") for one in fields))
