"""Keeps the answer to a question for the next time it is asked, and what led to it.

Nothing changed until then: stage 0 gives the answer. A few files changed: the run starts from
what is kept, and only looks at what these files reach.
"""

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from fabric import manifest, stage_zero
from fabric.app.project.compiled import Compiled
from fabric.app.run_graph import GraphJob, Ran
from fabric.app.session import Session
from fabric.engine.memory.memo import STAMP
from fabric.engine.result import Outcome, RunResult, Status
from fabric.engine.shortcuts import last_run as packed
from fabric.engine.shortcuts.answers import (
    AnswerChange,
    AskedCommand,
    Basis,
    StoredAnswer,
    basis_of,
    prefix_of,
    renew_answer,
    store_answer,
    traces_of,
)
from fabric.graph.decide import UP_TO_DATE
from fabric.graph.traces import Trace
from fabric.model.report import Report
from fabric.model.task import INPUTS_BY_KIND, BuildInputs, TaskInputs
from fabric.tasks.build import BuildKind


class CommandLine(Struct, frozen=True):
    """A command line in its folder, and how a report of it looks on this screen."""

    argv: tuple[str, ...]
    cwd: str
    shown: Callable[[Report], StoredAnswer]


class WarmStart(Struct, frozen=True):
    """Where a run starts from when stage 0 has seen what moved."""

    moved_files: stage_zero.MovedFiles
    warm: packed.LastRun
    part: packed.Reached
    work: GraphJob


Reporter = Callable[[Ran], Report]


def warm_start(command_line: CommandLine) -> WarmStart | None:
    """The part of the last run that today's edits reach, or None for the long way."""
    moved_files = stage_zero.last
    if moved_files is None:
        return None
    warm = packed.load_last_run(
        moved_files.folder, command_line.argv, command_line.cwd, moved_files.salt
    )
    if warm is None:
        return None
    dirty = warm.dirty(manifest.moved(moved_files.paths, moved_files.before, moved_files.now))
    if dirty is None:
        return None
    part = packed.reached(warm, dirty, INPUTS_BY_KIND)
    others = packed.Untouched(warm, INPUTS_BY_KIND, frozenset(part.numbers))
    work = GraphJob(warm.info, part.graph, part.known, others, warm=True)
    return WarmStart(moved_files, warm, part, work)


def keep_answer(
    command_line: CommandLine, session: Session, compiled: Compiled, done: Ran, report: Reporter
) -> None:
    """After a run over everything that left nothing to do."""
    pairs = traces_of(done.result)
    if pairs is None or session.cache_problem:
        return
    basis = basis_of(pairs, _sources(compiled, session))
    asked = AskedCommand(command_line.argv, command_line.cwd, compiled.bound_names, session.env)
    folder, files = _answers_of(command_line, session), session.stores.files
    salt = store_answer(folder, asked, basis, files, command_line.shown(report(_settled(done))))
    if salt is None:
        return
    prefix = prefix_of(files, command_line.cwd)
    recall = session.stores.trace_store.traces
    warm = packed.last_run_of(salt, done.info, done.result, recall, prefix)
    packed.save_last_run(folder, command_line.argv, command_line.cwd, warm)


def renew(
    command_line: CommandLine, session: Session, start: WarmStart, done: Ran, report: Reporter
) -> None:
    """After a run of the part that an edit reached."""
    pairs = traces_of(done.result)
    if pairs is None:
        return
    files, warm = session.stores.files, start.warm
    asked = AskedCommand(
        command_line.argv, command_line.cwd, frozenset(start.moved_files.names), session.env
    )
    wave = {n for place, n in enumerate(start.part.numbers) if place not in start.part.known}
    prefix = prefix_of(files, command_line.cwd)
    dropped = warm.only_of(wave, prefix, INPUTS_BY_KIND)
    ran_now = [pair for place, pair in enumerate(pairs) if place not in start.part.known]
    change = AnswerChange(basis_of(ran_now, ()), dropped)
    answer = command_line.shown(report(_settled(done)))
    salt = renew_answer(start.moved_files, asked, change, files, answer)
    if salt is None:
        return
    again = packed.renewed_run(warm, salt, start.part, done.result, prefix)
    packed.save_last_run(start.moved_files.folder, command_line.argv, command_line.cwd, again)


def keep_plan(
    command_line: CommandLine,
    session: Session,
    planned: tuple[Compiled, frozenset[str]],
    report: Callable[[], Report],
) -> None:
    """After a plan: it also hangs on what is remembered, so on the memo's stamp, and on the
    entries that builds would begin with."""
    work, entries = planned
    if not session.cache.is_dir() or session.cache_problem:
        return
    # Every remembered run, not only the newest: one that did not match may come to match.
    recall = session.stores.trace_store.traces
    rows = [(task.inputs, one) for task in work.graph.tasks for one in recall(task.id)]
    seen = basis_of(rows, _sources(work, session))
    looked = {path: session.stores.files.digest(path) for path in (*seen.contents, *seen.absent)}
    stored = _stored_contents(rows, looked, session)
    basis = Basis(
        {path: digest for path, digest in looked.items() if digest},
        frozenset(path for path, digest in looked.items() if not digest),
        seen.folders,
        seen.sources | entries | stored | {str(session.cache / "memo" / STAMP)},
        seen.places,
    )
    asked = AskedCommand(command_line.argv, command_line.cwd, work.bound_names, session.env)
    folder = _answers_of(command_line, session)
    store_answer(folder, asked, basis, session.stores.files, command_line.shown(report()))


def _stored_contents(
    rows: Iterable[tuple[TaskInputs, Trace]], looked: Mapping[str, str], session: Session
) -> set[str]:
    """The files of the store that outputs would be put right from: they have to stay."""
    return {
        session.stores.blobs.path(one.digest)
        for inputs, trace in rows
        for one in trace.output.files
        if looked.get(f"{inputs.shown_in}/{one.path}") != one.shown_as
    }


def _answers_of(command_line: CommandLine, session: Session) -> str:
    """Where stage 0 will look. From elsewhere than the project's own folders it does not."""
    in_cache = str(session.cache / manifest.FOLDER)
    folders = stage_zero.answer_folders(command_line.cwd, session.env)
    return in_cache if in_cache in folders or not folders else folders[-1]


def _settled(done: Ran) -> Ran:
    """The same run, had nothing been to do: what the next one would find."""
    outcomes = tuple(
        Outcome(Status.SKIPPED, UP_TO_DATE, one.output, trace=one.trace)
        for one in done.result.outcomes
    )
    return replace(done, result=RunResult(done.result.graph, outcomes, 0))


def _sources(compiled: Compiled, session: Session) -> Iterable[str]:
    """Configs and all that was looked at to find them, and what decided the tools."""
    build = session.registry["build"]
    tools: set[str] = set()
    if isinstance(build, BuildKind):
        asked = (one for one in compiled.graph.inputs_of("build") if isinstance(one, BuildInputs))
        tools = {path for inputs in asked for path in build.toolchain(inputs).watch}
    return compiled.sources | tools
