"""Outputs of steps: files in a directory of the user, which fabric restores but never overwrites.

A file is fabric's own if it has a content that the step wrote. Anything else is an edit.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from fabric.engine.memory.file_index import FileIndex, let_settle
from fabric.engine.output_folders import is_shown, list_visible_files, show
from fabric.graph.traces import ABSENT, Trace
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.task import Output, Task
from fabric.model.task_inputs import BeforeInputs
from fabric.runtimes.globs import list_files

_NAMED = 3


def is_restored(task: Task, output: Output, traces: Iterable[Trace], files: FileIndex) -> bool:
    """Return whether the files on disk are those of this output, without files of earlier ones."""
    return is_shown(task.inputs, output, files) and not any(
        _list_leftovers(task, output, traces, files)
    )


def restore_outputs(
    task: Task,
    output: Output,
    contents: Mapping[str, bytes],
    traces: Sequence[Trace],
    files: FileIndex,
) -> None:
    """Write the files of a cached result and delete those of other results. Raises before that if
    a file was edited."""
    edited = [*_list_edited(task, output, traces, files)]
    if edited:
        raise FabricError(_edited_problem(task, edited))
    _refuse_links(task, output, files)
    gone = [*_list_leftovers(task, output, traces, files)]
    show(task.inputs, output, contents, files)
    for path in gone:
        with contextlib.suppress(OSError):
            os.unlink(files.full(path))  # noqa: PTH108: a path of the index
    settle_outputs(files)


def settle_outputs(files: FileIndex) -> None:
    """Let builds that start now read the written files.

    If a file is written in the clock tick of their start, a later edit could stay unnoticed.
    """
    files.forget_reads()
    let_settle(files.now_ns)


def _map_known_contents(task: Task, traces: Iterable[Trace]) -> dict[str, set[str]]:
    """Map the paths that the step wrote in remembered runs to their hashes."""
    found: dict[str, set[str]] = {}
    for trace in traces:
        for path, shown_as in list_visible_files(task.inputs, trace.output).items():
            found.setdefault(path, set()).add(shown_as)
    return found


def _list_edited(
    task: Task, output: Output, traces: Sequence[Trace], files: FileIndex
) -> Iterator[str]:
    known = _map_known_contents(task, traces)
    for path, shown_as in list_visible_files(task.inputs, output).items():
        if files.fresh(path) not in (ABSENT, shown_as, *known.get(path, ())):
            yield path


def _list_leftovers(
    task: Task, output: Output, traces: Iterable[Trace], files: FileIndex
) -> Iterator[str]:
    """List unedited files of other results that the outputs still name."""
    own = list_visible_files(task.inputs, output)
    others = {
        path: known
        for path, known in _map_known_contents(task, traces).items()
        if path not in own and files.digest(path) in known
    }
    if not others or not isinstance(task.inputs, BeforeInputs):
        return
    root = task.inputs.shown_in
    prefix = "" if root == "." else f"{root}/"
    for pattern in task.inputs.outputs:
        names = list_files(files.full(root), pattern.removeprefix("./"))
        yield from (prefix + name for name in names if prefix + name in others)


def _refuse_links(task: Task, output: Output, files: FileIndex) -> None:
    """Write nothing outside the service directory through a link."""
    root = os.path.realpath(files.full(task.inputs.shown_in))
    for path in list_visible_files(task.inputs, output):
        folder = os.path.realpath(files.full(path).rpartition("/")[0])
        if folder != root and not folder.startswith(f"{root}/"):
            message = f"refusing to write {path} of {task.id} through a link"
            hint = "replace the link with a directory"
            raise FabricError(Problem("step/outside", message, hint, Place(path)))


def _edited_problem(task: Task, edited: Sequence[str]) -> Problem:
    more = f" and {len(edited) - _NAMED} more" if len(edited) > _NAMED else ""
    return Problem(
        "step/edited-output",
        f"{task.id} wrote {', '.join(edited[:_NAMED])}{more}, which changed since",
        hint="delete the file to restore it, or run the step again with --no-cache",
        where=Place(edited[0]),
    )
