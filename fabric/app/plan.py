"""`plan` and `explain`: what a run would do and why, as values for JSON and text."""

import contextlib
import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import astuple, replace

from fabric.app.command import Command, CommandLine, open_command
from fabric.app.deploy.plan_file import FORMAT, seal
from fabric.app.preview import Preview, plan_outcome, with_warnings
from fabric.app.project.compiled import Compiled
from fabric.app.project.units import list_units
from fabric.app.request import Request, parse_caps
from fabric.app.running.run_graph import (
    add_run_warnings,
    is_answer_cacheable,
    list_entry_files,
    plan_graph,
)
from fabric.app.session import Session, open_session
from fabric.app.settings import Settings
from fabric.app.shortcuts.answers import keep_preview
from fabric.app.shortcuts.compiled import compile_or_load
from fabric.graph.decide import Action, Decision
from fabric.graph.name_tasks import is_managing_dns
from fabric.graph.plan import Plan
from fabric.graph.service_order import list_ties
from fabric.model.names import Verb
from fabric.model.outcomes.planned import (
    Cause,
    ChangedInput,
    ExplainOutcome,
)
from fabric.model.problems import (
    ExitCode,
    FabricError,
    Problem,
    drop_repeated_problems,
    exit_code_of,
)
from fabric.model.records.record import Mode
from fabric.model.report import Report
from fabric.model.task_id import name_of
from fabric.model.text.natural_order import make_natural_key
from fabric.model.text.spelling import find_nearest
from fabric.model.walks import with_dependents
from fabric.state.backends.failures import NoAccessError
from fabric.system.files.new_files import write_named
from fabric.views.pictures.draw import draw
from fabric.views.report_json import encode_outcome

if TYPE_CHECKING:
    from fabric.app.records.scope import DnsSyncFactory


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
    with look(request, settings, command_line) as (session, seen):
        info = add_run_warnings(seen.work.info, session)
        found = replace(seen, work=replace(seen.work, info=info))
        report = _build_report(options, session, found)
        if not options.out and not seen.refused and is_answer_cacheable(session, seen.plan):
            keep_preview(session, seen, report, _list_deciding_variables(seen))
    return report


def _list_deciding_variables(seen: Preview) -> frozenset[str]:
    """List the variables that affect the warnings of a real deploy's plan."""
    real = [one for one in seen.work.placements if one.mode == Mode.REAL]
    if not real:
        return frozenset()
    from fabric.app.checks.access import list_credential_names

    return list_credential_names(real)


@contextlib.contextmanager
def look(
    request: Request, settings: Settings, command_line: CommandLine | None = None
) -> Iterator[tuple[Session, Preview]]:
    """Plan for files only, or compared with the deployed state."""
    request = replace(request, where=request.where.with_last_known())
    with contextlib.ExitStack() as stack:
        command = stack.enter_context(open_command(request, settings, command_line))
        work = compile_or_load(request, settings)
        if request.verb is not Verb.DEPLOY:
            workspace = Path(work.info.workspace)
            session = stack.enter_context(open_session(command, workspace))
            made = plan_graph(session, work.graph)
            entries = list_entry_files(session, made)
            yield session, Preview(work, made, entries, sources=work.reads.sources)
            return
        opened = stack.enter_context(contextlib.ExitStack())
        try:
            found = _plan_with_state(opened, command, work)
        except NoAccessError as error:
            # A machine that was never given these may still look at a plan.
            opened.close()
            session, seen = _plan_with_state(stack, command, work, blind=True)
            found = session, _explain_blindness(seen, error)
        yield found


def _plan_with_state(
    stack: contextlib.ExitStack, command: Command, work: Compiled, *, blind: bool = False
) -> tuple[Session, Preview]:
    from fabric.app.checks.configs import find_kept_settings, find_simulated_limits
    from fabric.app.checks.table import (
        Candidate,
        Use,
        find_change_problems,
        find_problems,
        list_changing_refs,
    )
    from fabric.app.deploy.preview import open_work, preview
    from fabric.app.records.scope import ScopeOptions

    request, settings = command.request, command.settings
    options = ScopeOptions(
        partial(list_units, work, request, settings),
        without_state=blind,
        dependencies=work.dependencies,
        names=None if blind else _find_dns_factory(work, request),
    )
    opened = stack.enter_context(open_work(command, work, options))
    at_once = parse_caps(request.execution.concurrency, settings.cores).total
    one = Candidate(scope=opened.scope, work=work, at_once=at_once)
    found = find_problems(Use.PLAN, one)
    if found.errors:
        raise FabricError(*found.all)
    seen = preview(opened)
    changing = replace(one, plan=seen.plan, refs=list_changing_refs(seen.plan))
    refused = (*found.warnings, *find_change_problems(Use.PLAN, changing).warnings)
    limits = (*find_kept_settings(opened.scope), *find_simulated_limits(opened.scope))
    seen = _add_warnings(seen, *refused, *limits)
    return opened.session, replace(seen, refused=drop_repeated_problems(refused))


def _explain_blindness(seen: Preview, error: NoAccessError) -> Preview:
    """Without state everything is shown as new, and nothing is stored. A deploy would fail."""
    why = error.first
    message = f"planning without state, so everything is shown as new: {why.message}"
    told = Problem("plan/blind", message, why.hint)
    refused = (*error.problems, *seen.refused)
    return replace(_add_warnings(seen, told), sources=None, refused=refused)


def _add_warnings(seen: Preview, *told: Problem) -> Preview:
    return replace(seen, work=with_warnings(seen.work, told))


def _build_report(options: PlanOptions, session: Session, seen: Preview) -> Report:
    request, cwd = session.request, session.settings.cwd
    work, made = seen.work, seen.plan
    outcome = plan_outcome(work, made)
    refused = seen.refused if options.strict or options.detailed_exit_code else ()
    report = Report(
        request.command,
        outcome,
        problems=refused,
        warnings=tuple(one for one in work.info.warnings if one not in refused),
        exit_code=_exit_code(options, made, refused),
        ties=list_ties(made.graph) if request.detail.cases else (),
    )
    if options.graph:
        text, notes = _draw_graph(made, options, cwd)
        return replace(report, text=text, notes=notes)
    return replace(report, notes=_save_plan(report, session, seen, options.out, cwd))


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
        task=task_id,
        action=decision.action.value,
        reason=decision.reason,
        changed=_list_changed_inputs(decision),
        inputs=decision.inputs,
        causes=tuple(_find_causes(made, number)),
    )
    return Report(request.command, outcome, warnings=work.info.warnings)


def _list_changed_inputs(decision: Decision) -> tuple[ChangedInput, ...]:
    return tuple(ChangedInput(*astuple(change)) for change in decision.changes)


def _find_causes(made: Plan, number: int) -> Iterator[Cause]:
    """Find the tasks that this task waits for, directly or indirectly, and that certainly run."""
    if made.decisions[number].action is not Action.WAIT:
        return
    graph = made.graph
    above = with_dependents({number}, lambda one: graph.needs[one]) - {number}
    for one in sorted(above, key=lambda one: make_natural_key(graph.ids[one])):
        decision = made.decisions[one]
        if decision.action is Action.RUN:
            yield Cause(graph.ids[one], decision.reason, _list_changed_inputs(decision))


def _number(made: Plan, task_id: str) -> int:
    ids = list(made.graph.ids)
    if task_id in ids:
        return ids.index(task_id)  # type: ignore[arg-type]
    of_function = (one for one in ids if name_of(one).function == task_id)
    guess = next(of_function, None) or find_nearest(task_id, ids)
    hint = f"did you mean `{guess}`?" if guess else "run: fabric plan"
    raise FabricError(Problem("usage/unknown-task", f"unknown task `{task_id}`", hint=hint))


def _find_dns_factory(work: Compiled, request: Request) -> "DnsSyncFactory | None":
    if not is_managing_dns(work.graph):
        return None
    from fabric.app.router.dns_updates import make_dns_factory  # few services have a router

    return make_dns_factory(request.where)


def _draw_graph(made: Plan, options: PlanOptions, cwd: Path) -> tuple[str, str]:
    picture = draw(options.graph, made)
    if not options.out:
        return picture, ""
    write_named(cwd / options.out, f"{picture}\n".encode())
    return "", f"wrote {options.out}"


def _save_plan(report: Report, session: Session, seen: Preview, out: str, cwd: Path) -> str:
    if not out or report.outcome is None:
        return ""
    document = {
        "formatVersion": FORMAT,
        "command": report.command,
        "plan": encode_outcome(report.outcome),
        "seal": seal(session, seen, cwd / out),
    }
    content = json.dumps(document, indent=1) + "\n"
    write_named(cwd / out, content.encode(), mode=0o600)
    return f"saved the plan as {out}"
