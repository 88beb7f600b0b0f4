"""`build` and `package`: run the graph and report the artifacts."""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from msgspec.structs import replace

from fabric.app.caching.cache_place import open_usable_cache
from fabric.app.caching.shared_cache import has_other_commit, use_of
from fabric.app.command import Command, CommandLine, add_shared_cache, start_command
from fabric.app.image_kinds import is_built_here
from fabric.app.request import Request
from fabric.app.running.run_graph import (
    GraphJob,
    add_cache_warnings,
    add_run_warnings,
    list_write_homes,
    run_graph,
)
from fabric.app.running.run_problems import (
    format_critical_path,
    list_problem_owners,
    list_run_problems,
    list_test_cases,
)
from fabric.app.session import Session, SessionOptions, learn_shared_results, open_session
from fabric.app.settings import Settings
from fabric.app.shortcuts.answers import keep_answer, mark_all_cached
from fabric.app.shortcuts.start import Start, start_cold, start_warm
from fabric.engine.bus import MakeListeners
from fabric.engine.memory.daily_cleanup import prune_daily
from fabric.engine.memory.pieces import DamagedPieceError
from fabric.engine.output_folders import copy_out
from fabric.engine.result import Outcome, RunResult, Status
from fabric.graph.critical_path import UNTIMED_S
from fabric.graph.shards import divide_tasks
from fabric.model.names import Verb
from fabric.model.outcomes.built import BuildOutcome, BuiltArtifact, RemoteUse, ShardShare, WhenRead
from fabric.model.project_info import ProjectInfo
from fabric.model.report import Report
from fabric.model.task import Output, Task


def build(
    request: Request,
    settings: Settings,
    make_listeners: MakeListeners,
    command_line: CommandLine | None = None,
) -> Report:
    """Build from the state of the last run if it is sound, otherwise from the files."""
    # Nearly all references are in settings of deploys, so a build can run without AWS.
    request = replace(request, where=request.where.with_last_known())
    # The answer of a shard is not stored: an identical command can have another share.
    local = start_command(request, settings, None if request.shard else command_line)
    warm = start_warm(local.caches.command_line, request, settings)
    if warm is not None and not has_other_commit(request, settings):
        # What was read of it may be sound, and the next piece not.
        with contextlib.suppress(DamagedPieceError):
            report = _run_build(local, warm, make_listeners)
            return _require_readable_rows(report, command_line)
    with add_shared_cache(local) as command:
        return _run_build(command, _start_cold(request, settings), make_listeners)


def _require_readable_rows(report: Report, command_line: CommandLine | None) -> Report:
    """Read all rows now, so that a damaged cache entry can still be handled here.

    A report from the answer cache was read when it was stored.
    """
    if report.problems and command_line is not None:
        command_line.shown(report)
    return report


def _run_build(command: Command, start: Start, make_listeners: MakeListeners) -> Report:
    """Run the build, report, and store the answer for an identical command."""
    request, workspace = command.request, Path(start.info.workspace)
    homes = list_write_homes(start.info, start.graph)
    options = SessionOptions(
        homes=homes, use_cache=request.caching.use_cache, is_warm=start.is_warm
    )
    with open_session(command, workspace, options) as session:
        work = GraphJob(start.info, start.graph, start.known, untouched=start.untouched)
        work, share = _select_own_shard(session, work)
        result = start.whole(run_graph(session, work, make_listeners))
        info = add_cache_warnings(start.info, start.graph, session)
        _store_answer(session, start, info, result)
        info = add_run_warnings(info, session, result)
    _clean_daily(session)
    if request.out:
        copy_artifacts(result, workspace, request.verb, command.settings.cwd / request.out)
    report = build_report(session, result, info, use_of(session.shared))
    if share is None or not isinstance(report.outcome, BuildOutcome):
        return report
    return replace(report, outcome=replace(report.outcome, shard=share))


def _store_answer(session: Session, start: Start, info: ProjectInfo, result: RunResult) -> None:
    """Store what the next identical command would report if nothing changes."""
    if session.caches.command_line and result.ok and not session.request.out:
        warned = replace(info, warnings=(*info.warnings, *result.warnings))
        keep_answer(session, start, result, build_report(session, mark_all_cached(result), warned))


def _clean_daily(session: Session) -> None:
    cache = open_usable_cache(session.cache, session.settings)
    if cache:
        prune_daily(cache, session.caches.started_ns / 1e9)


def _select_own_shard(session: Session, work: GraphJob) -> tuple[GraphJob, ShardShare | None]:
    """Select the tasks of this shard.

    With a shared cache, all shards divide by its durations; otherwise by local durations.
    """
    shard = session.request.shard
    if shard is None:
        return work, None
    from statistics import median  # who divides nothing does not pay for it

    session.stores.trace_store.expect(len(work.graph))
    learn_shared_results(session, work.graph)
    cache = session.shared.cache
    last_ms = cache.last_ms if cache else session.stores.trace_store.last_ms
    last = [last_ms(one) for one in work.graph.ids]
    timed = [ms / 1000 for ms in last if ms is not None]
    # What nobody has timed is taken for one like the others.
    usual = median(timed) if timed else UNTIMED_S
    seconds = [usual if ms is None else ms / 1000 for ms in last]
    found = divide_tasks(work.graph, seconds, shard)
    is_known = None not in last
    expected = tuple(round(one * 1000) for one in found.seconds if is_known)
    share = ShardShare(shard.number, shard.count, found.counts, expected)
    return replace(work, graph=found.graph), share


def _start_cold(request: Request, settings: Settings) -> Start:
    from fabric.app.shortcuts.compiled import (
        compile_with_pins,
    )  # costs a start that few edits want

    return start_cold(compile_with_pins(request, settings))


def build_report(
    session: Session,
    result: RunResult,
    info: ProjectInfo,
    remote: RemoteUse | None = None,
) -> Report:
    request = session.request
    prefix = _format_workspace_prefix(session.workspace, session.settings.cwd)
    return Report(
        request.command,
        replace(build_outcome(result, request.verb, prefix), remote=remote),
        notes=format_critical_path(result) if request.detail.profiled else "",
        problems=list_run_problems(result),
        warnings=info.warnings,
        exit_code=result.exit_code,
        owners=list_problem_owners(result),
        cases=list_test_cases(result) if request.detail.cases else (),
    )


def build_outcome(result: RunResult, verb: Verb, prefix: str) -> BuildOutcome:
    """Build the outcome. Rows of artifacts that existed before are created only when read."""
    looked_at = result.looked_at
    fresh = range(len(result.graph)) if looked_at is None else looked_at
    done = (one for one in fresh if result.outcomes[one].status is not Status.SKIPPED)
    kinds = _list_artifact_kinds(verb)
    new = [one for one in done if result.graph.tasks[one].kind in kinds]
    return BuildOutcome(
        verb,
        WhenRead(lambda: tuple(_list_artifacts(result, _list_numbers(result, verb), prefix))),
        tuple(_list_artifacts(result, new, prefix)),
        ran=result.count(Status.RAN),
        cached=result.count(Status.SKIPPED),
        failed=result.count(Status.FAILED),
        blocked=result.count(Status.BLOCKED),
        # The time that tasks took: nothing to do is nothing, however long the looking took.
        ms=result.ms if result.count(Status.RAN) or result.count(Status.FAILED) else 0,
        left=result.count(Status.CANCELLED),
    )


def _list_artifact_kinds(verb: str) -> tuple[str, ...]:
    """List the kinds of tasks whose outputs are the artifacts of a verb."""
    return (verb, "image") if verb == Verb.PACKAGE else (verb,)


def _list_numbers(result: RunResult, verb: str) -> list[int]:
    return [one for kind in _list_artifact_kinds(verb) for one in result.graph.numbers_of(kind)]


def _list_artifacts(
    result: RunResult, numbers: Iterable[int], prefix: str
) -> Iterator[BuiltArtifact]:
    """List the artifacts by task id, in the order of a run over everything."""
    for number in sorted(numbers, key=result.graph.ids.__getitem__):
        outcome = result.outcomes[number]
        task = result.graph.tasks[number]
        if outcome.output is not None and is_built_here(task):
            yield _describe_artifact(task, outcome, outcome.output, prefix)


def _describe_artifact(task: Task, outcome: Outcome, output: Output, prefix: str) -> BuiltArtifact:
    name = "" if task.inputs.owns_folder else f"/{output.files[0].path}"
    cached = outcome.status is Status.SKIPPED
    return BuiltArtifact(
        service=task.inputs.service,
        function=task.inputs.function,
        path=f"{prefix}{task.inputs.shown_in}{name}",
        sha256=output.fact("sha256", output.digest),
        size_bytes=sum(one.size for one in output.files),
        cached=cached,
        reason=outcome.reason,
        saved_ms=outcome.trace.ms if cached and outcome.trace else 0,
    )


def _format_workspace_prefix(workspace: Path, cwd: Path) -> str:
    """Return the workspace relative to the working directory, as a path prefix."""
    if workspace == cwd:
        return ""
    if workspace.is_relative_to(cwd):
        return f"{workspace.relative_to(cwd).as_posix()}/"
    if cwd.is_relative_to(workspace):
        return "../" * len(cwd.relative_to(workspace).parts)
    return f"{workspace}/"


def copy_artifacts(result: RunResult, workspace: Path, verb: str, target: Path) -> None:
    """Copy the artifacts of a verb to a directory of the user's choice."""
    for number in _list_numbers(result, verb):
        task, outcome = result.graph.tasks[number], result.outcomes[number]
        if outcome.output is not None:
            own = PurePosixPath(task.inputs.shown_in)
            folder = target / (own.parent.name if task.inputs.owns_folder else "") / own.name
            copy_out(task.inputs, outcome.output, workspace, folder)
