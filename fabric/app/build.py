"""`build` and `package`: run the graph and report the artifacts."""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.cache_place import cache_folder, usable_cache
from fabric.app.executing import executing
from fabric.app.request import Request
from fabric.app.run_graph import (
    GraphJob,
    homes_of,
    run_graph,
    told_of_places,
    told_of_run,
)
from fabric.app.run_problems import owners_of, problems_of
from fabric.app.run_report import cases_of, longest_path
from fabric.app.session import Session, SessionOptions
from fabric.app.settings import Settings
from fabric.app.shared_cache import (
    NO_ACCESS,
    SharedAccess,
    has_other_commit,
    open_shared_cache,
    use_of,
)
from fabric.app.shortcuts.answers import had_nothing_to_do, keep_answer
from fabric.app.shortcuts.command_line import CommandLine
from fabric.app.shortcuts.start import Start, cold_start, warm_start
from fabric.engine.memory.daily_cleanup import prune_daily
from fabric.engine.memory.pieces import DamagedPieceError
from fabric.engine.output_folders import copy_out
from fabric.engine.result import Outcome, RunResult, Status
from fabric.engine.run_info import MakeListeners
from fabric.graph.critical_path import UNTIMED_S
from fabric.graph.shards import shared_out
from fabric.model.names import Verb
from fabric.model.outcomes.built import BuildOutcome, BuiltArtifact
from fabric.model.outcomes.remote_use import RemoteUse
from fabric.model.outcomes.shard_share import ShardShare
from fabric.model.outcomes.when_read import WhenRead
from fabric.model.project_info import ProjectInfo
from fabric.model.report import Report
from fabric.model.task import Output, Task
from fabric.system.clock import file_time_ns


def build(
    request: Request,
    settings: Settings,
    make_listeners: MakeListeners,
    command_line: CommandLine | None = None,
) -> Report:
    """Build from the state of the last run if it is sound, otherwise from the files."""
    started = file_time_ns(settings.cwd)
    asked = _Asked(request, settings, make_listeners, command_line, started)
    warm = None if request.shard else warm_start(command_line, request, settings)
    if warm is not None and not has_other_commit(request, settings):
        # What was read of it may be sound, and the next piece not.
        with contextlib.suppress(DamagedPieceError):
            return _all_readable(asked, _built(asked, warm))
    with contextlib.closing(open_shared_cache(request, settings)) as shared:
        return _built(asked, _cold_start(request, settings), shared)


class _Asked(Struct, frozen=True):
    """A build request: what to build, its listeners, and the time after which file changes
    count."""

    request: Request
    settings: Settings
    make_listeners: MakeListeners
    command_line: CommandLine | None
    started_ns: int


def _all_readable(asked: _Asked, report: Report) -> Report:
    """Read all rows now, so that a damaged cache entry can still be handled here.

    A report from the answer cache was read when it was stored.
    """
    if report.problems and asked.command_line is not None:
        asked.command_line.shown(report)
    return report


def _built(asked: _Asked, start: Start, shared: SharedAccess = NO_ACCESS) -> Report:
    """Run the build, report, and store the answer for an identical command."""
    request, settings, command_line = asked.request, asked.settings, asked.command_line
    work = GraphJob(start.info, start.graph, start.known, untouched=start.untouched)
    workspace = Path(start.info.workspace)
    homes = homes_of(start.info, start.graph)
    opening = SessionOptions(
        asked.started_ns,
        request.use_cache,
        request.strict,
        warm=start.is_warm,
        homes=homes,
        shared=shared,
    )
    if request.shard:
        command_line = None  # a part answers no question that a whole is asked by
    with (
        executing(request, settings, opening) as opening,
        Session(workspace, settings, opening) as session,
    ):
        work, share = _own_part(request, session, work)
        result = start.whole(run_graph(request, session, work, asked.make_listeners))
        info = told_of_places(start.info, start.graph, session)
        if command_line and result.ok and not request.out:
            warned = replace(info, warnings=(*info.warnings, *result.warnings))
            again = build_report(had_nothing_to_do(result), warned, request, settings)
            keep_answer(command_line, session, start, result, again)
        info = told_of_run(info, session, result)
    cache = usable_cache(cache_folder(workspace, settings), settings)
    if cache:
        prune_daily(cache, asked.started_ns / 1e9)
    if request.out:
        copy_artifacts(result, workspace, request.verb, settings.cwd / request.out)
    report = build_report(result, info, request, settings, use_of(shared))
    if share is None or not isinstance(report.outcome, BuildOutcome):
        return report
    return replace(report, outcome=replace(report.outcome, shard=share))


def _own_part(
    request: Request, session: Session, work: GraphJob
) -> tuple[GraphJob, ShardShare | None]:
    """Select the tasks of this shard.

    With a shared cache, all shards divide by its durations; otherwise by local durations.
    """
    if request.shard is None:
        return work, None
    from statistics import median  # who divides nothing does not pay for it

    session.stores.trace_store.expect(len(work.graph))
    session.learn(work.graph)
    cache = session.shared.cache
    last_ms = cache.last_ms if cache else session.stores.trace_store.last_ms
    last = [last_ms(one) for one in work.graph.ids]
    timed = [ms / 1000 for ms in last if ms is not None]
    # What nobody has timed is taken for one like the others.
    usual = median(timed) if timed else UNTIMED_S
    seconds = [usual if ms is None else ms / 1000 for ms in last]
    found = shared_out(work.graph, seconds, request.shard)
    is_known = None not in last
    expected = tuple(round(one * 1000) for one in found.seconds if is_known)
    share = ShardShare(request.shard.number, request.shard.count, found.counts, expected)
    return replace(work, graph=found.graph), share


def _cold_start(request: Request, settings: Settings) -> Start:
    from fabric.app.pinned import compiled_and_pinned  # costs a start that few edits want

    return cold_start(compiled_and_pinned(request, settings))


def build_report(
    result: RunResult,
    info: ProjectInfo,
    request: Request,
    settings: Settings,
    remote: RemoteUse | None = None,
) -> Report:
    built = build_outcome(result, request.verb, _seen_from(Path(info.workspace), settings.cwd))
    return Report(
        request.command,
        replace(built, remote=remote),
        notes=longest_path(result) if request.profiled else "",
        problems=problems_of(result),
        warnings=info.warnings,
        exit_code=result.exit_code,
        owners=owners_of(result),
        cases=cases_of(result) if request.detailed else (),
    )


def build_outcome(result: RunResult, verb: Verb, prefix: str) -> BuildOutcome:
    """Build the outcome. Rows of artifacts that existed before are created only when read."""
    looked_at = result.looked_at
    fresh = range(len(result.graph)) if looked_at is None else looked_at
    done = (one for one in fresh if result.outcomes[one].status is not Status.SKIPPED)
    new = [one for one in done if result.graph.tasks[one].kind == verb]
    return BuildOutcome(
        verb,
        WhenRead(lambda: tuple(_artifacts(result, result.graph.numbers_of(verb), prefix))),
        tuple(_artifacts(result, new, prefix)),
        ran=result.count(Status.RAN),
        cached=result.count(Status.SKIPPED),
        failed=result.count(Status.FAILED),
        blocked=result.count(Status.BLOCKED),
        # The time that tasks took: nothing to do is nothing, however long the looking took.
        ms=result.ms if result.count(Status.RAN) or result.count(Status.FAILED) else 0,
        left=result.count(Status.CANCELLED),
    )


def _artifacts(result: RunResult, numbers: Iterable[int], prefix: str) -> Iterator[BuiltArtifact]:
    """List the artifacts by task id, in the order of a run over everything."""
    for number in sorted(numbers, key=result.graph.ids.__getitem__):
        outcome = result.outcomes[number]
        if outcome.output is not None:
            yield _artifact(result.graph.tasks[number], outcome, outcome.output, prefix)


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
    """Return the workspace relative to the working directory, as a path prefix."""
    if workspace == cwd:
        return ""
    if workspace.is_relative_to(cwd):
        return f"{workspace.relative_to(cwd).as_posix()}/"
    if cwd.is_relative_to(workspace):
        return "../" * len(cwd.relative_to(workspace).parts)
    return f"{workspace}/"


def copy_artifacts(result: RunResult, workspace: Path, kind: str, target: Path) -> None:
    """Copy the artifacts of these tasks to a directory of the user's choice."""
    for number in result.graph.numbers_of(kind):
        task, outcome = result.graph.tasks[number], result.outcomes[number]
        if outcome.output is not None:
            own = PurePosixPath(task.inputs.shown_in)
            folder = target / (own.parent.name if task.inputs.owns_folder else "") / own.name
            copy_out(task.inputs, outcome.output, workspace, folder)
