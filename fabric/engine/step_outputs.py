"""Outputs of steps: files in a directory of the user, which fabric restores.

A file is fabric's own if it has a content that the step wrote. Anything else is an edit, or what a
failed command left: then the step runs again.
"""

import contextlib
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

from fabric.engine.memory.file_index import FileIndex, let_settle
from fabric.engine.output_contents import Upstream
from fabric.engine.output_folders import is_shown, list_visible_files, show
from fabric.graph.traces import ABSENT, Trace
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.task import Output, Task
from fabric.model.task_id import passes_output
from fabric.model.task_inputs import BeforeInputs
from fabric.runtimes.globs import list_files
from fabric.system.files.disk import LOCK_SECONDS, lock_file

_NAMED = 3
_LOCKS = 64


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
    """Write the files of a cached result and delete those of other results. Not for edited files:
    see `find_edits`."""
    _refuse_links(task, output, files)
    gone = [*_list_leftovers(task, output, traces, files)]
    show(task.inputs, output, contents, files)
    for path in gone:
        with contextlib.suppress(OSError):
            os.unlink(files.full(path))  # noqa: PTH108: a path of the index
    settle_outputs(files)


def find_edits(
    task: Task, output: Output, traces: Sequence[Trace], files: FileIndex
) -> Problem | None:
    """Return the warning about outputs with a content that the step never wrote."""
    edited = [*_list_edited(task, output, traces, files)]
    return _edited_problem(task, edited) if edited else None


def lock_outputs(task: Task, files: FileIndex) -> AbstractContextManager[None]:
    """Lock the directory of a step among processes, while its outputs are written."""
    timeout = task.inputs.timeout if isinstance(task.inputs, BeforeInputs) else 0
    number = zlib.crc32(os.fsencode(task.inputs.shown_in)) % _LOCKS
    return lock_file(f"{files.locks}/steps-{number}", timeout + LOCK_SECONDS)


def refuse_changed_outputs(task: Task, upstream: Upstream, files: FileIndex) -> None:
    """Reject a build if outputs of a step changed before its end, because it could have read
    them."""
    for step, output in upstream:
        if not step.inputs.shares_folder or not passes_output(step.id, task.kind):
            continue
        for path, shown_as in list_visible_files(step.inputs, output).items():
            if files.fresh(path) != shown_as:
                message = f"{path} changed after {step.id} wrote it, before the end of {task.id}"
                hint = "run fabric again; another command or another run of fabric writes this file"
                raise FabricError(Problem("step/changed-output", message, hint, Place(path)))


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
        f"{', '.join(edited[:_NAMED])}{more} changed after {task.id} wrote it: the step runs again",
        hint="edit the inputs of the step instead, or remove the file from its `outputs`",
        where=Place(edited[0]),
    )
