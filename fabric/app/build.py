"""`build` and `package`: run the graph, then say which artifacts there are."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from fabric.app.cache_place import cache_folder, is_usable
from fabric.app.request import Request
from fabric.app.run_graph import Ran, RunHooks, carry_out, compiled_and_locked, whole
from fabric.app.run_report import cases_of
from fabric.app.session import Session
from fabric.app.settings import Settings
from fabric.app.shortcuts import CommandLine, keep_answer, renew, warm_start
from fabric.engine.critical_tasks import critical_path
from fabric.engine.memory.daily_cleanup import prune_daily
from fabric.engine.output_folders import copy_out
from fabric.engine.result import Outcome, RunResult, Status
from fabric.engine.run_info import MakeListeners
from fabric.model.amounts import duration
from fabric.model.names import Verb
from fabric.model.problems import Problem
from fabric.model.report import Report
from fabric.model.task import Output, Task
from fabric.system.clock import file_time_ns
from fabric.views.words import build_text


class BuiltArtifact(Struct, frozen=True):
    """One function's result as users see it."""

    service: str
    function: str
    path: str
    sha256: str
    size: int
    cached: bool
    reason: str
    saved_ms: int


def build(
    request: Request,
    settings: Settings,
    make_listeners: MakeListeners,
    command_line: CommandLine | None,
) -> Report:
    """Run, report, and keep the answer to the same question asked again.

    If stage 0 saw just a few files move since a stored answer, only what they reach is looked at.
    """
    started = file_time_ns(settings.cwd)
    start = warm_start(command_line) if command_line and not request.out else None

    def report(done: Ran) -> Report:
        return _report(done, request, settings)

    if start is None:
        compiled_work = compiled_and_locked(request, settings)
        work = whole(compiled_work)
    else:
        work = start.work

    def after(session: Session, done: Ran) -> None:
        if command_line is None or request.out or not done.result.ok:
            return
        if start is None:
            keep_answer(command_line, session, compiled_work, done, report)
        else:
            renew(command_line, session, start, done, report)

    done = carry_out(request, settings, work, started, RunHooks(make_listeners, after))
    cache = cache_folder(Path(work.info.workspace), settings)
    if is_usable(cache):
        prune_daily(cache, started / 1e9)
    if request.out:
        copy_artifacts(done, request.verb, settings.cwd / request.out)
    return report(done)


def _report(done: Ran, request: Request, settings: Settings) -> Report:
    artifacts = tuple(_artifacts(done, request.verb, settings.cwd))
    summary = _summary(done, artifacts)
    return Report(
        request.command,
        {"artifacts": [_json(one) for one in artifacts], "summary": summary},
        text=build_text(request.verb, _new(artifacts), summary),
        notes=_longest_path(done.result) if request.profiled else "",
        problems=problems_of(done.result),
        warnings=done.info.warnings,
        exit_code=done.result.exit_code,
        owners=owners_of(done.result),
        cases=cases_of(done.result) if request.detailed else (),
    )


def _longest_path(result: RunResult) -> str:
    path = critical_path(result)
    words = (f"{result.graph.ids[one]} {duration(result.outcomes[one].ms)}" for one in path)
    return f"longest path of {duration(result.ms)}: {' -> '.join(words)}"


def _new(artifacts: tuple[BuiltArtifact, ...]) -> list[tuple[str, int]]:
    return [(one.path, one.size) for one in artifacts if not one.cached]


def problems_of(result: RunResult) -> tuple[Problem, ...]:
    """What failed, and first of all that the run was interrupted, if it was."""
    if not result.interrupted:
        return result.problems
    left = result.count(Status.CANCELLED)
    message = f"interrupted: {left} tasks were not started"
    return (Problem("run/interrupted", message, hint="run it again to go on"), *result.problems)


def owners_of(result: RunResult) -> tuple[str, ...]:
    """The service of each of these problems; none for what concerns the run as a whole."""
    rows = zip(result.graph.tasks, result.outcomes, strict=True)
    owners = [
        "" if outcome.status is Status.BLOCKED else task.inputs.service
        for task, outcome in rows
        for _ in outcome.problems
    ]
    return (*("",) * result.interrupted, *owners, *("" for _ in result.aftermath))


def _artifacts(done: Ran, verb: Verb, cwd: Path) -> Iterator[BuiltArtifact]:
    """By task id, as a run over everything lists them."""
    prefix = _seen_from(Path(done.info.workspace), cwd)
    ran_now = zip(done.result.graph.tasks, done.result.outcomes, strict=True)
    rows = [row for row in ran_now if row[0].kind == verb]
    rows += done.others.of_kind(verb)
    for task, outcome in sorted(rows, key=lambda row: row[0].id):
        if outcome.output is not None:
            yield _artifact(task, outcome, outcome.output, prefix)


def _artifact(task: Task, outcome: Outcome, output: Output, prefix: str) -> BuiltArtifact:
    name = "" if task.inputs.owns_folder else f"/{output.files[0].path}"
    cached = outcome.status is Status.SKIPPED
    return BuiltArtifact(
        task.inputs.service,
        task.inputs.function,
        f"{prefix}{task.inputs.shown_in}{name}",
        output.fact("sha256", output.digest),
        sum(one.size for one in output.files),
        cached,
        outcome.reason,
        outcome.trace.ms if cached and outcome.trace else 0,
    )


def _seen_from(workspace: Path, cwd: Path) -> str:
    """The workspace as a path from the working folder, ready to be put before another path."""
    if workspace == cwd:
        return ""
    if workspace.is_relative_to(cwd):
        return f"{workspace.relative_to(cwd).as_posix()}/"
    if cwd.is_relative_to(workspace):
        return "../" * len(cwd.relative_to(workspace).parts)
    return f"{workspace}/"


def _json(one: BuiltArtifact) -> dict[str, Any]:
    return {
        "service": one.service,
        "function": one.function,
        "path": one.path,
        "sha256": one.sha256,
        "sizeBytes": one.size,
        "cached": one.cached,
        "reason": one.reason,
    }


def _summary(done: Ran, artifacts: tuple[BuiltArtifact, ...]) -> dict[str, int]:
    result = done.result
    return {
        "ran": result.count(Status.RAN),
        "cached": result.count(Status.SKIPPED) + len(done.others),
        "failed": result.count(Status.FAILED),
        "blocked": result.count(Status.BLOCKED),
        # The time that tasks took: nothing to do is nothing, however long the looking took.
        "ms": result.ms if result.count(Status.RAN) else 0,
        "savedMs": sum(one.saved_ms for one in artifacts),
    }


def copy_artifacts(done: Ran, kind: str, target: Path) -> None:
    """What these tasks made, once more, in a folder of the user's choice."""
    workspace = Path(done.info.workspace)
    for task, outcome in zip(done.result.graph.tasks, done.result.outcomes, strict=True):
        if task.kind == kind and outcome.output is not None:
            name = f"{task.inputs.service}/{task.inputs.function}"
            folder = target / (name if task.inputs.owns_folder else task.inputs.service)
            copy_out(task.inputs, outcome.output, workspace, folder)
