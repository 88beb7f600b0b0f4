"""Store the answer to a command line and its inputs for the next identical call.

If nothing changed, stage 0 repeats the answer. If a few files changed, the run starts from the
stored state and checks only their dependents.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec.structs import replace

from fabric import manifest, stage_zero
from fabric.app.command import CommandLine
from fabric.app.preview import Preview
from fabric.app.project.compiled import Compiled
from fabric.app.session import Session
from fabric.app.shortcuts.start import Start, WarmStart
from fabric.engine.memory.memo import STAMP
from fabric.engine.output_folders import is_left_unwritten, join_visible_path
from fabric.engine.result import Outcome, RunResult, Status
from fabric.engine.shortcuts import last_run, last_run_file
from fabric.engine.shortcuts.answers import (
    AnswerChange,
    Basis,
    CommandCall,
    collect_basis,
    compute_path_prefix,
    list_result_traces,
    renew_answer,
    store_answer,
)
from fabric.graph.decide import UP_TO_DATE
from fabric.graph.traces import Trace
from fabric.model.report import Report
from fabric.model.task import TaskInputs
from fabric.model.task_inputs import INPUTS_BY_KIND, BuildInputs
from fabric.runtimes.contract import Toolchain
from fabric.tasks.build import BuildKind


def mark_all_cached(result: RunResult) -> RunResult:
    """Mark all tasks as cached: the result that the next run would have."""
    settled = tuple(
        Outcome(Status.SKIPPED, UP_TO_DATE, one.output, trace=one.trace) for _, one in result.rows
    )
    if result.looked_at is None:
        return RunResult(result.graph, settled, 0)
    place = dict(zip(result.looked_at, settled, strict=True))
    outcomes = last_run.with_outcomes(result.outcomes, place)
    return RunResult(result.graph, outcomes, 0, looked_at=result.looked_at)


def keep_answer(session: Session, start: Start, result: RunResult, report: Report) -> None:
    """Store the answer after a run. `report` is the result of the next identical run."""
    command_line = session.caches.command_line
    if command_line is None or not session.settings.takes_shortcuts:
        return
    match start.origin:
        case WarmStart() as warm:
            _renew(command_line, session, warm, result, report)
        case Compiled() as work:
            _store(command_line, session, work, result, report)


def _store(
    command_line: CommandLine, session: Session, work: Compiled, result: RunResult, report: Report
) -> None:
    pairs = list_result_traces(result)
    if pairs is None or session.cache_problem or not _can_be_kept(work, session):
        return
    basis = collect_basis(pairs, _list_sources(work, session), _make_absence_test(session))
    asked = _build_asked_command(command_line, work.reads.bound_names, session)
    folder, files = _locate_answers(command_line, session), session.stores.files
    salt = store_answer(folder, asked, basis, files, command_line.shown(report))
    if salt is None or result.warnings:
        return  # a run that began with the rest of it would not tell them again
    prefix = compute_path_prefix(files, command_line.cwd)
    recall = session.stores.trace_store.traces
    kept = last_run.pack_finished_run(salt, work.info, result, recall, prefix)
    last_run_file.save_last_run(_build_last_run_files(command_line, session, folder), kept)


def _renew(
    command_line: CommandLine,
    session: Session,
    warm: WarmStart,
    result: RunResult,
    report: Report,
) -> None:
    """After a run of the part that an edit reached."""
    rows = [(number, result.outcomes[number]) for number in warm.part.ran]
    if result.warnings or any(one.output is None or one.trace is None for _, one in rows):
        return
    # First: rows are made when they are read, and a piece of them may be damaged.
    answer = command_line.shown(report)
    files, before = session.stores.files, warm.before
    prefix = compute_path_prefix(files, command_line.cwd)
    dropped = before.only_of({number for number, _ in rows}, prefix, INPUTS_BY_KIND)
    fresh = [(result.graph.tasks[number].inputs, one.trace) for number, one in rows if one.trace]
    asked = _build_asked_command(command_line, frozenset(warm.moved_files.names), session)
    change = AnswerChange(collect_basis(fresh, (), _make_absence_test(session)), dropped)
    salt = renew_answer(warm.moved_files, asked, change, files, answer)
    if salt is None:
        return
    again = last_run.update_packed_run(before, salt, warm.part, result, prefix)
    folder = warm.moved_files.folder
    last_run_file.save_renewed_run(_build_last_run_files(command_line, session, folder), again)


def _build_last_run_files(
    command_line: CommandLine, session: Session, folder: str
) -> last_run_file.LastRunFiles:
    seal = session.place.seal
    return last_run_file.LastRunFiles(folder, command_line.argv, command_line.cwd, seal)


def keep_preview(
    session: Session, seen: Preview, report: Report, names: frozenset[str] = frozenset()
) -> None:
    """Store the answer of a preview. It also depends on the memo, the entry files and the variables
    `names`."""
    command_line = session.caches.command_line
    if command_line is None or seen.sources is None or not session.settings.takes_shortcuts:
        return
    if not session.cache.is_dir() or session.cache_problem or not _can_be_kept(seen.work, session):
        return
    work = replace(seen.work, reads=replace(seen.work.reads, sources=seen.sources))
    # Every remembered run, not only the newest: one that did not match may come to match.
    recall = session.stores.trace_store.traces
    rows = [(task.inputs, one) for task in work.graph.tasks for one in recall(task.id)]
    found = collect_basis(rows, _list_sources(work, session))
    looked = {path: session.stores.files.digest(path) for path in (*found.contents, *found.absent)}
    stored = _list_stored_contents(rows, looked, session)
    basis = Basis(
        {path: digest for path, digest in looked.items() if digest},
        frozenset(path for path, digest in looked.items() if not digest),
        found.folders,
        found.sources | seen.entries | stored | {str(session.cache / "memo" / STAMP)},
        found.places,
    )
    asked = _build_asked_command(command_line, work.reads.bound_names | names, session)
    folder, files = _locate_answers(command_line, session), session.stores.files
    store_answer(folder, asked, basis, files, command_line.shown(report))


def _make_absence_test(session: Session) -> Callable[[TaskInputs], bool]:
    return lambda inputs: is_left_unwritten(inputs, session.stores.files)


def _build_asked_command(
    command_line: CommandLine, names: frozenset[str], session: Session
) -> CommandCall:
    return CommandCall(
        command_line.argv, command_line.cwd, names, session.settings.full_environment
    )


def _list_stored_contents(
    rows: Iterable[tuple[TaskInputs, Trace]], looked: Mapping[str, str], session: Session
) -> set[str]:
    """List the stored contents needed to restore outputs; they must not be deleted."""
    return {
        session.stores.blobs.path(one.digest)
        for inputs, trace in rows
        for one in trace.output.files
        if looked.get(join_visible_path(inputs, one.path)) != one.shown_as
    }


def _locate_answers(command_line: CommandLine, session: Session) -> str:
    """Return where stage 0 searches. Outside the project's directories it does not search."""
    in_cache = str(session.cache / manifest.FOLDER)
    folders = stage_zero.answer_folders(command_line.cwd, session.settings.env)
    return in_cache if in_cache in folders or not folders else folders[-1]


def _list_sources(compiled: Compiled, session: Session) -> Iterable[str]:
    """List the configs, all paths searched for them, and the inputs of tool selection."""
    tools = {path for one in _list_toolchains(compiled, session) for path in one.watch}
    return compiled.reads.sources | tools


def _can_be_kept(compiled: Compiled, session: Session) -> bool:
    """Return whether files decide the answer: no packages, tags or programs that print versions."""
    toolchains = _list_toolchains(compiled, session)
    return compiled.reads.may_be_kept and not any(one.can_change for one in toolchains)


def _list_toolchains(compiled: Compiled, session: Session) -> Iterator[Toolchain]:
    build = session.registry["build"]
    if isinstance(build, BuildKind):
        for inputs in compiled.graph.inputs_of("build"):
            if isinstance(inputs, BuildInputs):
                yield build.toolchain(inputs)
