"""Keeps the answer to a question for the next time it is asked, and what led to it.

Nothing changed until then: stage 0 gives the answer. A few files changed: the run starts from
what is kept, and only looks at what these files reach.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

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


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command line in its folder, and how a report of it looks on this screen."""

    argv: tuple[str, ...]
    cwd: str
    shown: Callable[[Report], StoredAnswer]


@dataclass(frozen=True, slots=True)
class WarmStart:
    """Where a run starts from when stage 0 has seen what moved."""

    sight: stage_zero.MovedFiles
    warm: packed.LastRun
    part: packed.Reached
    work: GraphJob


Reporter = Callable[[Ran], Report]


def warm_start(encore: CommandLine) -> WarmStart | None:
    """The part of the last run that today's edits reach, or None for the long way."""
    sight = stage_zero.last
    if sight is None:
        return None
    warm = packed.load_last_run(sight.folder, encore.argv, encore.cwd, sight.salt)
    if warm is None:
        return None
    dirty = warm.dirty(manifest.moved(sight.paths, sight.before, sight.now))
    if dirty is None:
        return None
    part = packed.reached(warm, dirty, INPUTS_BY_KIND)
    others = packed.Untouched(warm, INPUTS_BY_KIND, frozenset(part.numbers))
    work = GraphJob(warm.site, part.graph, part.known, others, warm=True)
    return WarmStart(sight, warm, part, work)


def keep_answer(
    encore: CommandLine, room: Session, compiled: Compiled, done: Ran, report: Reporter
) -> None:
    """After a run over everything that left nothing to do."""
    pairs = traces_of(done.result)
    if pairs is None or room.cache_problem:
        return
    basis = basis_of(pairs, _sources(compiled, room))
    asked = AskedCommand(encore.argv, encore.cwd, compiled.bound_names, room.env)
    folder, files = _answers_of(encore, room), room.stores.files
    salt = store_answer(folder, asked, basis, files, encore.shown(report(_settled(done))))
    if salt is None:
        return
    prefix = prefix_of(files, encore.cwd)
    recall = room.stores.ledger.traces
    warm = packed.last_run_of(salt, done.site, done.result, recall, prefix)
    packed.save_last_run(folder, encore.argv, encore.cwd, warm)


def renew(
    encore: CommandLine, room: Session, start: WarmStart, done: Ran, report: Reporter
) -> None:
    """After a run of the part that an edit reached."""
    pairs = traces_of(done.result)
    if pairs is None:
        return
    files, warm = room.stores.files, start.warm
    asked = AskedCommand(encore.argv, encore.cwd, frozenset(start.sight.names), room.env)
    wave = {n for place, n in enumerate(start.part.numbers) if place not in start.part.known}
    prefix = prefix_of(files, encore.cwd)
    dropped = warm.only_of(wave, prefix, INPUTS_BY_KIND)
    ran_now = [pair for place, pair in enumerate(pairs) if place not in start.part.known]
    change = AnswerChange(basis_of(ran_now, ()), dropped)
    answer = encore.shown(report(_settled(done)))
    salt = renew_answer(start.sight, asked, change, files, answer)
    if salt is None:
        return
    again = packed.renewed_run(warm, salt, start.part, done.result, prefix)
    packed.save_last_run(start.sight.folder, encore.argv, encore.cwd, again)


def keep_plan(
    encore: CommandLine,
    room: Session,
    planned: tuple[Compiled, frozenset[str]],
    report: Callable[[], Report],
) -> None:
    """After a plan: it also hangs on what is remembered, so on the memo's stamp, and on the
    entries that builds would begin with."""
    work, entries = planned
    if not room.cache.is_dir() or room.cache_problem:
        return
    # Every remembered run, not only the newest: one that did not match may come to match.
    recall = room.stores.ledger.traces
    rows = [(task.inputs, one) for task in work.graph.tasks for one in recall(task.id)]
    seen = basis_of(rows, _sources(work, room))
    looked = {path: room.stores.files.digest(path) for path in (*seen.contents, *seen.absent)}
    stored = _stored_contents(rows, looked, room)
    basis = Basis(
        {path: digest for path, digest in looked.items() if digest},
        frozenset(path for path, digest in looked.items() if not digest),
        seen.folders,
        seen.sources | entries | stored | {str(room.cache / "memo" / STAMP)},
        seen.places,
    )
    asked = AskedCommand(encore.argv, encore.cwd, work.bound_names, room.env)
    folder = _answers_of(encore, room)
    store_answer(folder, asked, basis, room.stores.files, encore.shown(report()))


def _stored_contents(
    rows: Iterable[tuple[TaskInputs, Trace]], looked: Mapping[str, str], room: Session
) -> set[str]:
    """The files of the store that outputs would be put right from: they have to stay."""
    return {
        room.stores.blobs.path(one.digest)
        for inputs, trace in rows
        for one in trace.output.files
        if looked.get(f"{inputs.shown_in}/{one.path}") != one.shown_as
    }


def _answers_of(encore: CommandLine, room: Session) -> str:
    """Where stage 0 will look. From elsewhere than the project's own folders it does not."""
    in_cache = str(room.cache / manifest.FOLDER)
    folders = stage_zero.answer_folders(encore.cwd, room.env)
    return in_cache if in_cache in folders or not folders else folders[-1]


def _settled(done: Ran) -> Ran:
    """The same run, had nothing been to do: what the next one would find."""
    outcomes = tuple(
        Outcome(Status.SKIPPED, UP_TO_DATE, one.output, trace=one.trace)
        for one in done.result.outcomes
    )
    return replace(done, result=RunResult(done.result.graph, outcomes, 0))


def _sources(compiled: Compiled, room: Session) -> Iterable[str]:
    """Configs and all that was looked at to find them, and what decided the tools."""
    build = room.registry["build"]
    tools: set[str] = set()
    if isinstance(build, BuildKind):
        asked = (one for one in compiled.graph.inputs_of("build") if isinstance(one, BuildInputs))
        tools = {path for inputs in asked for path in build.toolchain(inputs).watch}
    return compiled.sources | tools
