"""`plan` and `explain`: what a run would do and why, as values for JSON and for people."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from fabric.app.deploy.plan_file import FORMAT, seal
from fabric.app.project.compile import compiled, units_of
from fabric.app.project.compiled import Compiled
from fabric.app.request import Request
from fabric.app.run_graph import AfterPlan, planned
from fabric.app.session import Session
from fabric.app.settings import Settings
from fabric.app.shortcuts import CommandLine, keep_plan
from fabric.graph.decide import Action
from fabric.graph.plan import Plan
from fabric.graph.service_order import ties_of
from fabric.model.names import Verb
from fabric.model.problems import ExitCode, FabricError, Problem
from fabric.model.report import Report
from fabric.model.spelling import nearest
from fabric.system.disk import write_atomic
from fabric.views.pictures.draw import draw
from fabric.views.plan_text import explain_text, plan_text
from fabric.views.style import Style

if TYPE_CHECKING:
    from fabric.app.deploy.scope import ScopeOptions


class PlanOptions(Struct, frozen=True):
    """How a plan is shown and kept."""

    graph: str = ""
    out: str = ""
    detailed_exit_code: bool = False


def plan(
    request: Request,
    options: PlanOptions,
    settings: Settings,
    style: Style,
    command_line: CommandLine | None = None,
) -> Report:
    def after(session: Session, work: Compiled, made: Plan, entries: frozenset[str]) -> None:
        if command_line and not options.out:
            keep_plan(command_line, session, (work, entries), lambda: _report(work, made))

    def _report(work: Compiled, made: Plan) -> Report:
        return _shown(request, options, (work, made), settings.cwd, style)

    return _report(*previewed(request, settings, after))


def previewed(
    request: Request, settings: Settings, after: AfterPlan = lambda *_: None
) -> tuple[Compiled, Plan]:
    """A plan for files alone, or against the records of what is live."""
    work = compiled(request, settings)
    if request.verb is not Verb.DEPLOY:
        return work, planned(work, settings, after)
    from fabric.app.deploy.scope import ScopeOptions

    scope_options = ScopeOptions(
        partial(units_of, work, request, settings), dependencies=work.dependencies
    )
    try:
        return _live(work, settings, after, scope_options)
    except FabricError as error:
        if error.first.code not in _NO_SIGHT:
            raise
        scope_options = replace(scope_options, blind=True)
        blind, made = _live(work, settings, lambda *_: None, scope_options)
        told = _unseen(error.first)
        info = replace(blind.info, warnings=(*blind.info.warnings, told))
        return replace(blind, info=info), made


# A machine that was never given the means to read the state may still look at a plan.
_NO_SIGHT = ("credentials/missing", "backend/not-installed")


def _unseen(why: Problem) -> Problem:
    message = f"what is live is not known here: {why.message}"
    return Problem("plan/blind", f"{message}; everything is shown as new", why.hint)


def _live(
    work: Compiled, settings: Settings, after: AfterPlan, scope_options: "ScopeOptions"
) -> tuple[Compiled, Plan]:
    from fabric.app.deploy.preview import preview
    from fabric.app.deploy.scope import lost_records, mismatch, open_deploy_scope

    with open_deploy_scope(work.placements, settings, scope_options) as scope:
        lost = lost_records(scope)
        if lost:
            raise FabricError(*lost)
        found = preview(work, settings, scope, after)
        told = [
            mismatch(placement, scope.transaction.record(ref))
            for ref, placement in scope.placements.items()
        ]
    info = found.work.info
    warnings = (*info.warnings, *(one for one in told if one))
    return replace(found.work, info=replace(info, warnings=warnings)), found.plan


def _shown(
    request: Request, options: PlanOptions, plan: tuple[Compiled, Plan], cwd: Path, style: Style
) -> Report:
    work, made = plan
    result = plan_result(work, made)
    exit_code = ExitCode.PARTIAL if options.detailed_exit_code and made.anything_to_do else None
    if options.graph:
        text, notes = _picture(made, options, cwd)
    else:
        saved = {"formatVersion": FORMAT, "command": request.command, "plan": result}
        text, notes = plan_text(result, style), _saved(saved, plan, options, cwd)
    return Report(
        request.command,
        result,
        text=text,
        notes=notes,
        warnings=work.info.warnings,
        exit_code=exit_code or ExitCode.OK,
        ties=ties_of(made.graph) if request.detailed else (),
    )


def explain(request: Request, task_id: str, settings: Settings, style: Style) -> Report:
    work, made = previewed(request, settings)
    number = _number(made, task_id)
    decision = made.decisions[number]
    result = {
        "task": task_id,
        "action": decision.action.value,
        "reason": decision.reason,
        "changed": [asdict(change) for change in decision.changes],
    }
    text = explain_text(result, decision.inputs, style)
    return Report(request.command, result, text=text, warnings=work.info.warnings)


def _number(made: Plan, task_id: str) -> int:
    ids = list(made.graph.ids)
    if task_id in ids:
        return ids.index(task_id)  # type: ignore[arg-type]
    guess = nearest(task_id, ids)
    hint = f"did you mean `{guess}`?" if guess else "`fabric plan` lists the tasks"
    raise FabricError(Problem("usage/unknown-task", f"no task is named `{task_id}`", hint=hint))


def plan_result(work: Compiled, made: Plan) -> dict[str, Any]:
    tasks = task_rows(made)
    modes = {service["mode"] for service in work.services}
    counts = {action: made.count(action) for action in Action}
    return {
        "stage": work.info.stage,
        "mode": modes.pop() if len(modes) == 1 else "mixed",
        "services": work.services,
        "tasks": tasks,
        "levels": made.graph.levels,
        "summary": {
            **_change_counts(work.services),
            "tasks": len(tasks),
            "run": counts[Action.RUN],
            "skip": counts[Action.SKIP],
            "wait": counts[Action.WAIT],
        },
    }


def task_rows(made: Plan) -> list[dict[str, Any]]:
    graph = made.graph
    ids = graph.ids
    return [
        {
            "id": task.id,
            "kind": task.kind,
            "service": task.inputs.service,
            "function": task.inputs.function,
            "provider": getattr(task.inputs, "provider", ""),
            "level": level,
            "dependsOn": [ids[need] for need in needs],
            "action": decision.action.value,
            "reason": decision.reason,
            "inputs": decision.inputs,
            "key": decision.key,
        }
        for task, level, needs, decision in zip(
            graph.tasks, graph.level_of, graph.needs, made.decisions, strict=True
        )
    ]


def _change_counts(services: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    changes = [one["change"] for service in services for one in service["functions"]]
    counts = {name: changes.count(name) for name in ("create", "update", "delete")}
    return {**counts, "unchanged": changes.count("none")}


def _picture(made: Plan, options: PlanOptions, cwd: Path) -> tuple[str, str]:
    picture = draw(options.graph, made)
    if not options.out:
        return picture, ""
    write_atomic(cwd / options.out, f"{picture}\n".encode())
    return "", f"wrote {options.out}"


def _saved(
    saved: dict[str, Any], plan: tuple[Compiled, Plan], options: PlanOptions, cwd: Path
) -> str:
    if not options.out:
        return ""
    work, made = plan
    document = {**saved, "seal": seal(made, work.serials)}
    content = json.dumps(document, indent=1) + "\n"
    write_atomic(cwd / options.out, content.encode(), mode=0o600)
    return f"saved the plan as {options.out}"
