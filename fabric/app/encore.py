"""Keeps the answer to a question for the next time it is asked, if nothing changes until then."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabric import manifest
from fabric.app.project import Project
from fabric.app.room import Room
from fabric.engine.answers import Answer, Asked, Basis, basis_of, store_answer, traces_of
from fabric.engine.memo import STAMP
from fabric.model.report import Report
from fabric.model.task import BuildInputs
from fabric.tasks.build import BuildKind

if TYPE_CHECKING:
    from fabric.app.pipeline import Compiled, Ran
    from fabric.graph.taskgraph import TaskGraph


@dataclass(frozen=True, slots=True)
class Encore:
    """A command line, and how a report of it looks on this screen."""

    argv: tuple[str, ...]
    shown: Callable[[Report], Answer]


def keep_answer(encore: Encore, room: Room, done: "Ran", report: Callable[[], Report]) -> None:
    """After a run that left nothing to do."""
    pairs = traces_of(done.result)
    if pairs is None:
        return
    sources = _sources(done.compiled.project, room, done.result.graph)
    _store(encore, room, done.compiled.project, basis_of(pairs, sources), report)


def keep_plan(encore: Encore, room: Room, work: "Compiled", report: Callable[[], Report]) -> None:
    """After a plan: it also hangs on what is remembered, so on the memo's generation."""
    if not room.cache.is_dir():
        return
    ledger = room.stores.ledger
    pairs = [
        (trace, trace.output) for task_id in work.graph.ids for trace in ledger.traces(task_id)[:1]
    ]
    seen = basis_of(pairs, _sources(work.project, room, work.graph))
    looked = {path: room.stores.files.digest(path) for path in (*seen.contents, *seen.absent)}
    basis = Basis(
        {path: digest for path, digest in looked.items() if digest},
        frozenset(path for path, digest in looked.items() if not digest),
        seen.folders,
        seen.sources | {str(room.cache / "memo" / STAMP)},
    )
    _store(encore, room, work.project, basis, report)


def _store(
    encore: Encore, room: Room, project: Project, basis: Basis, report: Callable[[], Report]
) -> None:
    asked = Asked(encore.argv, str(room.cwd), project.bound_names, room.env)
    folder = str(room.cache / manifest.FOLDER)
    store_answer(folder, asked, basis, room.stores.files, encore.shown(report()))


def _sources(project: Project, room: Room, graph: "TaskGraph") -> Iterable[str]:
    """Configs and all that was looked at to find them, and what decided the tools."""
    paths = {*project.sources, *project.looked_for}
    build = room.registry["build"]
    tools: set[str] = set()
    if isinstance(build, BuildKind):
        tools = {
            path
            for task in graph.tasks
            if isinstance(task.inputs, BuildInputs)
            for path in build.toolchain(task.inputs).watch
        }
    return {*(str(path) for path in paths), *tools}
