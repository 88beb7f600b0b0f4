"""The start of a build: from all files, or from the last run and an edit.

Only this module knows warm starts. Others get a graph, known outcomes and a result over all tasks.
"""

from collections.abc import Mapping

from msgspec import Struct

from fabric import manifest, stage_zero
from fabric.app.command import CommandLine
from fabric.app.project.compiled import Compiled
from fabric.app.request import Request
from fabric.app.settings import Settings
from fabric.engine.memory.pieces import DamagedPieceError
from fabric.engine.result import Outcome, RunResult
from fabric.engine.shortcuts import last_run
from fabric.engine.shortcuts.last_run_file import LastRunFiles, load_last_run
from fabric.graph.taskgraph import TaskGraph
from fabric.model.project_info import ProjectInfo
from fabric.model.task_inputs import INPUTS_BY_KIND


class WarmStart(Struct, frozen=True):
    """The changed files from stage 0, the last run, and its affected part."""

    moved_files: stage_zero.MovedFiles
    before: last_run.LastRun
    part: last_run.Reached


class Start(Struct, frozen=True):
    """The start of a build. `graph` is to be run; `known` are outcomes of unaffected tasks in
    it."""

    info: ProjectInfo
    graph: TaskGraph
    known: Mapping[int, Outcome]
    origin: Compiled | WarmStart

    @property
    def is_warm(self) -> bool:
        """Return whether few files and tasks are needed, so that no full index is loaded."""
        return isinstance(self.origin, WarmStart)

    @property
    def untouched(self) -> int:
        """How many tasks of the project are not in the graph, since nothing reaches them."""
        if isinstance(self.origin, Compiled):
            return 0
        return self.origin.before.count - len(self.graph)

    def whole(self, result: RunResult) -> RunResult:
        """Extend the result of this graph to all tasks of the project."""
        match self.origin:
            case WarmStart(before=before, part=part):
                return last_run.complete_result(before, part, result, INPUTS_BY_KIND)
            case _:
                return result


def start_cold(work: Compiled) -> Start:
    return Start(work.info, work.graph, {}, work)


def start_warm(
    command_line: CommandLine | None, request: Request, settings: Settings
) -> Start | None:
    """Start from a stored answer if few files changed. Returns None for a full start."""
    if command_line is None or request.out or not settings.takes_shortcuts:
        return None
    warm = _find_reached_part(command_line)
    return Start(warm.before.info, warm.part.graph, warm.part.known, warm) if warm else None


def _find_reached_part(command_line: CommandLine) -> WarmStart | None:
    """The part of the last run that today's edits reach."""
    seen = stage_zero.last
    if seen is None:
        return None
    files = LastRunFiles(seen.folder, command_line.argv, command_line.cwd, seen.seal)
    before = load_last_run(files, seen.salt)
    if before is None:
        return None
    try:
        dirty = before.dirty(manifest.list_changed(seen.paths, seen.before, seen.now))
        part = None if dirty is None else last_run.find_reached_tasks(before, dirty, INPUTS_BY_KIND)
    except DamagedPieceError:
        return None
    return WarmStart(seen, before, part) if part else None
