"""`plan` and `explain`: what a run would do and why, as values for JSON and text."""

import contextlib
import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import astuple, replace

from fabric.app.deploy.plan_file import FORMAT, seal
from fabric.app.preview import Preview, with_warnings
from fabric.app.project.compiled import Compiled
from fabric.app.project.units import units_of
from fabric.app.request import Request, caps_of
from fabric.app.run_graph import entries_of, may_be_told_again, plan_graph, told_of_run
from fabric.app.session import Session, SessionOptions
from fabric.app.settings import Settings
from fabric.app.shared_cache import SharedAccess, open_shared_cache
from fabric.app.shortcuts.answers import keep_preview
from fabric.app.shortcuts.command_line import CommandLine
from fabric.app.shortcuts.compiled import compiled
from fabric.graph.decide import Action, Decision
from fabric.graph.name_tasks import leads_names
from fabric.graph.plan import Plan
from fabric.graph.service_order import ties_of
from fabric.model.names import Verb
from fabric.model.natural_order import natural
from fabric.model.outcomes.planned import (
    Cause,
    ChangedInput,
    ExplainOutcome,
    PlannedService,
    PlannedTask,
    PlanOutcome,
    PlanSummary,
)
from fabric.model.problems import ExitCode, FabricError, Problem, each_once, exit_code_of
from fabric.model.records.record import Mode
from fabric.model.report import Report, problem_json
from fabric.model.spelling import nearest
from fabric.model.walks import with_dependents
from fabric.state.backends.failures import NoAccessError
from fabric.system.clock import file_time_ns
from fabric.system.named_file import write_named
from fabric.views.pictures.draw import draw
from fabric.views.report_json import outcome_json

if TYPE_CHECKING:
    from fabric.app.deploy.scope import MakeNames


class PlanOptions(Struct, frozen=True):
    """How a plan is shown and stored."""

    graph: str = ""
    out: str = ""
    detailed_exit_code: bool = False
    strict: bool = False


def plan(
    request: Request,
    options: PlanOptions,
    settings: Settings,
    command_line: CommandLine | None = None,
) -> Report:
    with look(request, settings) as (session, seen):
        info = told_of_run(seen.work.info, session)
        found = replace(seen, work=replace(seen.work, info=info))
        report = _shown(request, options, (session, found), settings.cwd)
        if not options.out and not seen.refused and may_be_told_again(session, seen.plan):
            keep_preview(command_line, session, seen, report, _deciding(seen))
    return report


def _deciding(seen: Preview) -> frozenset[str]:
    """List the variables that affect the warnings of a real deploy's plan."""
    real = [one for one in seen.work.placements if one.mode == Mode.REAL]
    if not real:
        return frozenset()
    from fabric.app.deploy.access import credential_names

    return credential_names(real)


@contextlib.contextmanager
def look(request: Request, settings: Settings) -> Iterator[tuple[Session, Preview]]:
    """Plan for files only, or compared with the deployed state."""
    with contextlib.ExitStack() as stack:
        shared = stack.enter_context(contextlib.closing(open_shared_cache(request, settings)))
        work = compiled(request, settings)
        if request.verb is not Verb.DEPLOY:
            yield _files(stack, work, settings, shared)
            return
        opened = stack.enter_context(contextlib.ExitStack())
        try:
            found = _live(opened, work, request, (settings, shared))
        except NoAccessError as error:
            # A machine that was never given these may still look at a plan.
            opened.close()
            found = _blind(stack, work, (request, settings, shared), error)
        yield found


def _files(
    stack: contextlib.ExitStack, work: Compiled, settings: Settings, shared: SharedAccess
) -> tuple[Session, Preview]:
    opening = SessionOptions(file_time_ns(settings.cwd), create=False, shared=shared)
    session = stack.enter_context(Session(Path(work.info.workspace), settings, opening))
    made = plan_graph(session, work.graph)
    return session, Preview(work, made, entries_of(session, made), sources=work.sources)


def _live(
    stack: contextlib.ExitStack,
    work: Compiled,
    request: Request,
    around: tuple[Settings, SharedAccess],
    *,
    blind: bool = False,
) -> tuple[Session, Preview]:
    settings, shared = around
    from fabric.app.deploy.checks import DeployCandidate, problems_before, problems_of_change
    from fabric.app.deploy.no_way_back import told_ways_back
    from fabric.app.deploy.preview import preview
    from fabric.app.deploy.scope import ScopeOptions, open_deploy_scope

    units = partial(units_of, work, request, settings)
    names = None if blind else _names(work, request)
    options = ScopeOptions(units, blind=blind, dependencies=work.dependencies, names=names)
    scope = stack.enter_context(open_deploy_scope(work.placements, settings, options))
    at_once = caps_of(request.concurrency, settings.cores).total
    found = problems_before(DeployCandidate(scope, work, at_once))
    if found.stopping:
        raise FabricError(*found.all)
    opening = SessionOptions(
        file_time_ns(settings.cwd), create=False, tools=scope.tools, shared=shared
    )
    session = stack.enter_context(Session(Path(work.info.workspace), settings, opening))
    seen = preview(session, work, scope)
    refused = (*(found.other or problems_of_change(scope, seen.plan)),)
    refused += told_ways_back(scope, seen.plan)
    return session, replace(_warned(seen, *refused), refused=each_once(refused))


def _blind(
    stack: contextlib.ExitStack,
    work: Compiled,
    asked: tuple[Request, Settings, SharedAccess],
    error: NoAccessError,
) -> tuple[Session, Preview]:
    """Plan without state: everything is shown as new, and nothing is stored. A deploy would
    fail."""
    request, settings, shared = asked
    session, seen = _live(stack, work, request, (settings, shared), blind=True)
    why = error.first
    message = f"planning without state, so everything is shown as new: {why.message}"
    told = Problem("plan/blind", message, why.hint)
    refused = (*error.problems, *seen.refused)
    return session, replace(_warned(seen, told), sources=None, refused=refused)


def _warned(seen: Preview, *told: Problem) -> Preview:
    return replace(seen, work=with_warnings(seen.work, told))


def _shown(
    request: Request, options: PlanOptions, found: tuple[Session, Preview], cwd: Path
) -> Report:
    _, seen = found
    work, made = seen.work, seen.plan
    outcome = plan_outcome(work, made)
    refused = seen.refused if options.strict or options.detailed_exit_code else ()
    report = Report(
        request.command,
        outcome,
        problems=refused,
        warnings=tuple(one for one in work.info.warnings if one not in refused),
        exit_code=_exit_code(options, made, refused),
        ties=ties_of(made.graph) if request.detailed else (),
    )
    if options.graph:
        text, notes = _picture(made, options, cwd)
        return replace(report, text=text, notes=notes)
    return replace(report, notes=_saved(report, found, options.out, cwd))


def _exit_code(options: PlanOptions, made: Plan, refused: Sequence[Problem]) -> ExitCode:
    if refused:
        return exit_code_of(refused[0])
    is_change = options.detailed_exit_code and made.anything_to_do
    return ExitCode.PARTIAL if is_change else ExitCode.OK


def explain(request: Request, task_id: str, settings: Settings) -> Report:
    with look(request, settings) as (_, seen):
        work, made = seen.work, seen.plan
    number = _number(made, task_id)
    decision = made.decisions[number]
    outcome = ExplainOutcome(
        task_id,
        decision.action.value,
        decision.reason,
        _changed_inputs(decision),
        decision.inputs,
        tuple(_causes(made, number)),
    )
    return Report(request.command, outcome, warnings=work.info.warnings)


def _changed_inputs(decision: Decision) -> tuple[ChangedInput, ...]:
    return tuple(ChangedInput(*astuple(change)) for change in decision.changes)


def _causes(made: Plan, number: int) -> Iterator[Cause]:
    """Find the tasks that this task waits for, directly or indirectly, and that certainly run."""
    if made.decisions[number].action is not Action.WAIT:
        return
    graph = made.graph
    above = with_dependents({number}, lambda one: graph.needs[one]) - {number}
    for one in sorted(above, key=lambda one: natural(graph.ids[one])):
        decision = made.decisions[one]
        if decision.action is Action.RUN:
            yield Cause(graph.ids[one], decision.reason, _changed_inputs(decision))


def _number(made: Plan, task_id: str) -> int:
    ids = list(made.graph.ids)
    if task_id in ids:
        return ids.index(task_id)  # type: ignore[arg-type]
    guess = nearest(task_id, ids)
    hint = f"did you mean `{guess}`?" if guess else "run: fabric plan"
    raise FabricError(Problem("usage/unknown-task", f"unknown task `{task_id}`", hint=hint))


def _names(work: Compiled, request: Request) -> "MakeNames | None":
    if not leads_names(work.graph):
        return None
    from fabric.app.router.kept_names import names_of  # few services have a router

    return names_of(request.where)


def plan_outcome(work: Compiled, made: Plan) -> PlanOutcome:
    modes = {service.mode for service in work.services}
    return PlanOutcome(
        work.info.stage,
        modes.pop() if len(modes) == 1 else "mixed",
        work.services,
        task_rows(made),
        made.graph.levels,
        _summary(work.services, made),
        tuple(problem_json(one) for one in work.info.warnings),
    )


def _summary(services: Sequence[PlannedService], made: Plan) -> PlanSummary:
    changes = [one.change for service in services for one in service.functions]
    return PlanSummary(
        create=changes.count("create"),
        update=changes.count("update"),
        delete=changes.count("delete"),
        unchanged=changes.count("none"),
        tasks=len(made.graph),
        run=made.count(Action.RUN),
        skip=made.count(Action.SKIP),
        wait=made.count(Action.WAIT),
    )


def task_rows(made: Plan) -> list[PlannedTask]:
    graph = made.graph
    ids = graph.ids
    return [
        PlannedTask(
            task.id,
            task.kind,
            task.inputs.service,
            task.inputs.function,
            getattr(task.inputs, "provider", ""),
            level,
            tuple(ids[need] for need in needs),
            decision.action.value,
            decision.reason,
            decision.inputs,
            decision.key,
        )
        for task, level, needs, decision in zip(
            graph.tasks, graph.level_of, graph.needs, made.decisions, strict=True
        )
    ]


def _picture(made: Plan, options: PlanOptions, cwd: Path) -> tuple[str, str]:
    picture = draw(options.graph, made)
    if not options.out:
        return picture, ""
    write_named(cwd / options.out, f"{picture}\n".encode())
    return "", f"wrote {options.out}"


def _saved(report: Report, found: tuple[Session, Preview], out: str, cwd: Path) -> str:
    if not out or report.outcome is None:
        return ""
    document = {
        "formatVersion": FORMAT,
        "command": report.command,
        "plan": outcome_json(report.outcome),
        "seal": seal(*found, cwd / out),
    }
    content = json.dumps(document, indent=1) + "\n"
    write_named(cwd / out, content.encode(), mode=0o600)
    return f"saved the plan as {out}"
