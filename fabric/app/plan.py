"""`plan` and `explain`: what a run would do and why, as values for JSON and for people."""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from fabric.app.deploy.plan_file import FORMAT, seal
from fabric.app.preview import Preview
from fabric.app.project.compiled import Compiled
from fabric.app.project.units import units_of
from fabric.app.request import Request
from fabric.app.run_graph import entries_of, plan_graph
from fabric.app.session import Session, SessionOptions, open_session
from fabric.app.settings import Settings
from fabric.app.shortcuts.answers import keep_preview
from fabric.app.shortcuts.command_line import CommandLine
from fabric.app.shortcuts.compiled import compiled
from fabric.graph.decide import Action
from fabric.graph.plan import Plan
from fabric.graph.service_order import ties_of
from fabric.model.names import Verb
from fabric.model.problems import ExitCode, FabricError, Problem
from fabric.model.report import Report
from fabric.model.spelling import nearest
from fabric.system.clock import file_time_ns
from fabric.system.disk import write_atomic
from fabric.views.pictures.draw import draw
from fabric.views.plan_text import explain_text, plan_text
from fabric.views.style import Style


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
    with look(request, settings) as (session, seen):
        report = _shown(request, options, seen, settings.cwd, style)
        if not options.out:
            keep_preview(command_line, session, seen, report)
    return report


@contextlib.contextmanager
def look(request: Request, settings: Settings) -> Iterator[tuple[Session, Preview]]:
    """A plan for files alone, or against the records of what is live."""
    work = compiled(request, settings)
    with contextlib.ExitStack() as stack:
        if request.verb is not Verb.DEPLOY:
            yield _files(stack, work, settings)
            return
        try:
            found = _live(stack, work, request, settings)
        except FabricError as error:
            if error.first.code not in _NO_SIGHT:
                raise
            stack.close()
            found = _blind(stack, work, (request, settings), error.first)
        yield found


# A machine that was never given the means to read the state may still look at a plan.
_NO_SIGHT = ("credentials/missing", "backend/not-installed")


def _files(
    stack: contextlib.ExitStack, work: Compiled, settings: Settings
) -> tuple[Session, Preview]:
    opening = SessionOptions(file_time_ns(settings.cwd), create=False)
    session = stack.enter_context(open_session(Path(work.info.workspace), settings, opening))
    made = plan_graph(session, work.graph)
    return session, Preview(work, made, entries_of(session, made), sources=work.sources)


def _live(
    stack: contextlib.ExitStack,
    work: Compiled,
    request: Request,
    settings: Settings,
    *,
    blind: bool = False,
) -> tuple[Session, Preview]:
    from fabric.app.deploy.preview import preview
    from fabric.app.deploy.scope import ScopeOptions, lost_records, mismatch, open_deploy_scope

    units = partial(units_of, work, request, settings)
    options = ScopeOptions(units, blind=blind, dependencies=work.dependencies)
    scope = stack.enter_context(open_deploy_scope(work.placements, settings, options))
    lost = lost_records(scope)
    if lost:
        raise FabricError(*lost)
    opening = SessionOptions(file_time_ns(settings.cwd), create=False, tools=scope.tools)
    session = stack.enter_context(open_session(Path(work.info.workspace), settings, opening))
    seen = preview(session, work, scope)
    told = [mismatch(one, scope.record(ref)) for ref, one in scope.placements.items()]
    return session, _warned(seen, *(one for one in told if one))


def _blind(
    stack: contextlib.ExitStack,
    work: Compiled,
    asked: tuple[Request, Settings],
    why: Problem,
) -> tuple[Session, Preview]:
    """Everything is shown as new, and nothing of it is kept."""
    session, seen = _live(stack, work, *asked, blind=True)
    message = f"what is live is not known here: {why.message}; everything is shown as new"
    told = Problem("plan/blind", message, why.hint)
    return session, replace(_warned(seen, told), sources=None)


def _warned(seen: Preview, *told: Problem) -> Preview:
    info = replace(seen.work.info, warnings=(*seen.work.info.warnings, *told))
    return replace(seen, work=replace(seen.work, info=info))


def _shown(
    request: Request, options: PlanOptions, seen: Preview, cwd: Path, style: Style
) -> Report:
    work, made = seen.work, seen.plan
    result = plan_result(work, made)
    exit_code = ExitCode.PARTIAL if options.detailed_exit_code and made.anything_to_do else None
    if options.graph:
        text, notes = _picture(made, options, cwd)
    else:
        saved = {"formatVersion": FORMAT, "command": request.command, "plan": result}
        text, notes = plan_text(result, style), _saved(saved, seen, options, cwd)
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
    with look(request, settings) as (_, seen):
        work, made = seen.work, seen.plan
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


def _saved(saved: dict[str, Any], seen: Preview, options: PlanOptions, cwd: Path) -> str:
    if not options.out:
        return ""
    document = {**saved, "seal": seal(seen.plan, seen.work.serials)}
    content = json.dumps(document, indent=1) + "\n"
    write_atomic(cwd / options.out, content.encode(), mode=0o600)
    return f"saved the plan as {options.out}"
