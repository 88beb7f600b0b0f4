"""The result of a deploy by record and function, as values."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from fabric.app.deploy.change_records import Changed
from fabric.app.preview import Preview
from fabric.app.project.placement import Placement
from fabric.app.records.scope import DeployScope
from fabric.app.request import Request
from fabric.app.running.run_problems import (
    NOTHING_RAN,
    format_critical_path,
    list_problem_owners,
    list_run_problems,
    list_skipped_cases,
    list_test_cases,
)
from fabric.engine.result import GOOD, Outcome, RunResult, Status
from fabric.graph.decide import UP_TO_DATE
from fabric.graph.judge import find_dropped_functions
from fabric.graph.service_order import list_ties
from fabric.model.outcomes.deployed import DeployOutcome, FunctionEnd, ServiceEnd, TaskCounts
from fabric.model.problems import ExitCode
from fabric.model.records.record import Record, RecordRef
from fabric.model.report import Report
from fabric.model.task import Task
from fabric.model.task_inputs import RECORD_KINDS, DeployInputs
from fabric.tasks.deploy_tools import get_record_ref

Part = tuple[Task, Outcome]
_WORST_FIRST = (Status.FAILED, Status.BLOCKED, Status.CANCELLED)


def build_unchanged_report(request: Request, seen: Preview, scope: DeployScope) -> Report:
    """Build the report of a deploy that found everything up to date."""
    rows = tuple(
        _build_service_end(placement, record, "unchanged", _list_unchanged_functions(record))
        for placement, record in (
            (placement, scope.transaction.record(ref))
            for ref, placement in sorted(scope.placements.items())
        )
    )
    summary = TaskCounts(ran=0, skipped=len(seen.plan.graph), failed=0, blocked=0, ms=0)
    report = _report(request, seen, rows, summary)
    return replace(
        report,
        notes=NOTHING_RAN if request.detail.profiled else "",
        cases=list_skipped_cases(seen.plan.graph) if request.detail.cases else (),
    )


def _list_unchanged_functions(record: Record | None) -> tuple[FunctionEnd, ...]:
    functions = record.functions if record else ()
    return tuple(FunctionEnd(one.name, "unchanged", UP_TO_DATE, 0) for one in functions)


def deploy_report(request: Request, seen: Preview, changed: Changed) -> Report:
    scope, result = changed.scope, changed.result
    parts = _group_parts(result)
    rows = tuple(
        _summarize_deployment(placement, parts.get(placement.ref, ()), changed)
        for _, placement in sorted(scope.placements.items())
    )
    report = _report(request, seen, rows, replace(_count_tasks(result), remote=changed.remote))
    return replace(
        report,
        problems=list_run_problems(result),
        notes=format_critical_path(result) if request.detail.profiled else "",
        warnings=changed.info.warnings,
        owners=list_problem_owners(result),
        exit_code=_exit_code(result, rows),
        cases=list_test_cases(result) if request.detail.cases else (),
    )


def _count_tasks(result: RunResult) -> TaskCounts:
    return TaskCounts(
        ran=result.count(Status.RAN),
        skipped=result.count(Status.SKIPPED),
        failed=result.count(Status.FAILED),
        blocked=result.count(Status.BLOCKED),
        ms=result.ms,
    )


def _exit_code(result: RunResult, rows: Iterable[ServiceEnd]) -> ExitCode:
    """Choose the exit code. A complete rollback does not count as a partial deploy."""
    done = any(row.status in ("deployed", "partial", "failed") for row in rows)
    if result.exit_code is ExitCode.PARTIAL and not done:
        return ExitCode.FAILED
    return result.exit_code


def _report(
    request: Request, seen: Preview, rows: tuple[ServiceEnd, ...], summary: TaskCounts
) -> Report:
    outcome = DeployOutcome(
        seen.work.info.stage,
        any(row.status == "rolled-back" for row in rows),
        rows,
        seen.plan.graph.levels,
        summary,
    )
    ties = list_ties(seen.plan.graph) if request.detail.cases else ()
    return Report(request.command, outcome, warnings=seen.work.info.warnings, ties=ties)


def _build_service_end(
    placement: Placement,
    record: Record | None,
    status: str,
    functions: tuple[FunctionEnd, ...],
    error: str | None = None,
) -> ServiceEnd:
    return ServiceEnd(
        service=placement.service,
        provider=placement.provider,
        mode=placement.mode,
        deployment_id=record.deployment_id if record else "",
        endpoint=record.endpoint if record else "",
        outputs=dict(record.outputs) if record else {},
        status=status,
        error=error,
        functions=functions,
    )


def _group_parts(result: RunResult) -> dict[RecordRef, list[Part]]:
    """Group the tasks that change each record and the tasks that build its inputs.

    Each comes with its outcome, in graph order.
    """
    rows, needs = list(result.rows), result.graph.needs
    numbers: dict[RecordRef, set[int]] = {}
    for number, (task, _) in enumerate(rows):
        if task.kind not in RECORD_KINDS:
            continue
        found = numbers.setdefault(get_record_ref(task.inputs), set())
        waiting = [number]
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                waiting += (need for need in needs[one] if rows[need][0].kind not in RECORD_KINDS)
    return {ref: [rows[number] for number in sorted(found)] for ref, found in numbers.items()}


def _summarize_deployment(
    placement: Placement, parts: Sequence[Part], changed: Changed
) -> ServiceEnd:
    ref = placement.ref
    own = [part for part in parts if part[0].kind in RECORD_KINDS]
    record = changed.finals.get(ref, changed.scope.transaction.record(ref))
    functions = tuple(_list_function_ends(placement, own, changed))
    error = _find_first_error(outcome for _, outcome in parts)
    row = _build_service_end(
        placement, record, _choose_status(placement, own, changed), functions, error
    )
    if not row.deployment_id and any(one.status is Status.FAILED for _, one in own):
        return replace(row, deployment_id=changed.scope.deployment_ids[ref])
    return row


def _choose_status(placement: Placement, parts: Sequence[Part], changed: Changed) -> str:
    """Choose the status. Partial means that some functions are up to date and others are not."""
    if placement.ref in changed.rolled_back:
        return "rolled-back"
    of_deploys = {outcome.status for task, outcome in parts if task.kind == "deploy"}
    if Status.RAN in of_deploys and not of_deploys <= GOOD:
        return "partial"
    found = {outcome.status for _, outcome in parts}
    bad = next((status.value for status in _WORST_FIRST if status in found), "")
    return bad or ("deployed" if Status.RAN in found else "unchanged")


def _find_first_error(outcomes: Iterable[Outcome]) -> str | None:
    problems = (problem for one in outcomes for problem in one.problems)
    return next((problem.message for problem in problems), None)


def _list_function_ends(
    placement: Placement, parts: Sequence[Part], changed: Changed
) -> Iterator[FunctionEnd]:
    """List each function with its result. A rolled-back change counts as unchanged."""
    back = placement.ref in changed.rolled_back
    for row, outcome in _list_done_functions(placement, parts, changed):
        yield _mark_rolled_back(row) if back and outcome.status is Status.RAN else row


def _mark_rolled_back(row: FunctionEnd) -> FunctionEnd:
    status = "cancelled" if row.status == "created" else "unchanged"
    return replace(row, status=status, reason="rolled back")


def _list_done_functions(
    placement: Placement, parts: Sequence[Part], changed: Changed
) -> Iterator[tuple[FunctionEnd, Outcome]]:
    base = changed.scope.transaction.base(placement.ref)
    for task, outcome in parts:
        if isinstance(task.inputs, DeployInputs):
            rows = _list_deployed_functions(
                task.inputs, outcome, base, changed.finals.get(placement.ref)
            )
            yield from ((row, outcome) for row in rows)
        elif task.kind == "remove" and task.inputs.function:
            status = "deleted" if outcome.status is Status.RAN else _name_outcome(outcome)
            yield _build_function_end(task.inputs.function, status, outcome), outcome


def _list_deployed_functions(
    inputs: DeployInputs, outcome: Outcome, base: Record | None, final: Record | None
) -> Iterator[FunctionEnd]:
    for name, _, _ in inputs.functions:
        was = base.function(name) if base else None
        now = final.function(name) if final else None
        status = _name_outcome(outcome)
        if outcome.status is Status.RAN:
            same = was is not None and was == now
            is_new = was is None or not was.was_made
            status = "created" if is_new else "unchanged" if same else "updated"
        row = _build_function_end(name, status, outcome)
        yield replace(row, reason=UP_TO_DATE) if status == "unchanged" else row
    if outcome.status is Status.RAN and base is not None:
        for name in find_dropped_functions(base, inputs):
            yield _build_function_end(name, "deleted", outcome)


def _name_outcome(outcome: Outcome) -> str:
    return "unchanged" if outcome.status is Status.SKIPPED else outcome.status.value


def _build_function_end(name: str, status: str, outcome: Outcome) -> FunctionEnd:
    return FunctionEnd(name, status, outcome.reason, outcome.ms)
