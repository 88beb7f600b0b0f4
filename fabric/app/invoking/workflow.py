"""`invoke run --workflow`: start an execution of a deployed state machine."""

import json

from msgspec.structs import replace

from fabric.app.project.place_services import build_placement
from fabric.app.project.project import open_project
from fabric.app.project.stored_source import use_kept_config
from fabric.app.records.scope import ScopeOptions, open_deploy_scope
from fabric.app.request import Request
from fabric.app.settings import Settings
from fabric.model.outcomes.queried import ExecutionOutcome
from fabric.model.problems import ExitCode, FabricError, Problem
from fabric.model.records.record import Mode, Record
from fabric.model.report import Report
from fabric.model.text.spelling import suggest_spelling
from fabric.providers.core.contract import WorkflowAnswer, WorkflowCaller

_SUCCEEDED = "SUCCEEDED"


def run_workflow(
    request: Request, settings: Settings, name: str, payload: bytes, *, wait: bool
) -> Report:
    event = _parse_input(payload)
    project = open_project(use_kept_config(request.where, settings), settings)
    placement = build_placement(project.units[0], project.workspace, project.home)
    ref = placement.ref
    with open_deploy_scope((placement,), settings, ScopeOptions(lambda: project.units)) as scope:
        record = scope.record(ref)
        _require_deployed(name, ref.stage, record)
        deployer = scope.tools.deployers.deployer(ref, Mode.REAL)
        if not isinstance(deployer, WorkflowCaller):
            message = f"workflows of `{ref.provider}` cannot be run"
            raise FabricError(Problem("invoke/not-deployed", message))
        address = replace(scope.tools.deployers.address(ref), previous=record)
        answer = deployer.start_workflow(address, name, event, wait=wait)
    return _build_report(request, name, ref.provider, answer)


def _parse_input(payload: bytes) -> bytes:
    try:
        return json.dumps(json.loads(payload.decode().strip() or "{}")).encode()
    except ValueError as error:
        hint = """write one JSON document, such as '{"id": 1}'"""
        message = "the payload is not valid JSON"
        raise FabricError(Problem("input/bad-payload", message, hint)) from error


def _require_deployed(name: str, stage: str, record: Record | None) -> None:
    known = [one.name for one in record.workflows] if record else []
    if name not in known:
        message = f"the workflow `{name}` is not deployed in stage `{stage}`"
        raise FabricError(
            Problem(
                "invoke/not-deployed",
                message,
                suggest_spelling(name, known) or "run: fabric deploy",
            )
        )
    if record and record.mode is not Mode.REAL:
        message = f"the deployment of `{name}` is simulated, and workflows run only at AWS"
        raise FabricError(Problem("invoke/not-deployed", message, "deploy the service to AWS"))


def _build_report(request: Request, name: str, provider: str, answer: WorkflowAnswer) -> Report:
    outcome = ExecutionOutcome(
        workflow=name,
        provider=provider,
        execution=answer.execution,
        status=answer.status,
        output=json.loads(answer.output) if answer.output else None,
        error=answer.error,
        cause=answer.cause,
    )
    report = Report(request.command, outcome)
    if answer.status in ("", _SUCCEEDED):
        return report
    why = ": ".join(one for one in (answer.error, answer.cause) if one)
    message = f"the workflow `{name}` ended as {answer.status}" + (f": {why}" if why else "")
    hint = f"check the execution: {answer.execution}"
    problems = (Problem("invoke/failed", message, hint),)
    return replace(report, text="", problems=problems, exit_code=ExitCode.FAILED)
