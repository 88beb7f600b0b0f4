"""Run a cached command of a config: `build.before`, and hooks of builds and packages."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from fabric.model.hashing import hash_fields
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.task import EntryKind, InputEntry, Output, Task
from fabric.model.task_id import TaskId, name_of, parse_task_kind
from fabric.model.task_inputs import BeforeInputs
from fabric.runtimes.archive import hash_contents
from fabric.runtimes.contract import BuiltFile, InputTrace
from fabric.tasks.contract import TaskResult, TaskTools, WrittenFile, place_problems, require_inputs

# Raise when the surroundings of a command change.
_VERSION = "2"
# The fact of an input pattern without a match.
_NO_MATCH = "no-match"


class BeforeKind:
    def __init__(self, workspace: Path, env: Mapping[str, str]) -> None:
        self._workspace = workspace
        self._env = env

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        from fabric.runtimes.commands.command import identify_machine  # few services have commands

        del task
        machine = identify_machine(self._env)
        given = machine.environment
        return (
            InputEntry(EntryKind.CODE, "before", _VERSION),
            InputEntry(EntryKind.CODE, "toolchain", machine.identity),
            *(InputEntry(EntryKind.ENV, name, hash_fields((value,))) for name, value in given),
        )

    def record_inputs(self, task: Task) -> InputTrace:
        """Return the inputs without running the command."""
        from fabric.runtimes.commands.before import record_inputs

        return record_inputs(self._workspace, require_inputs(task, BeforeInputs))

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        from fabric.runtimes.commands.before import list_unmatched, run_step

        inputs = require_inputs(task, BeforeInputs)
        given = tuple(_list_given_files(upstream, task_tools))
        say = partial(task_tools.say, task.id)
        with place_problems(Place(*inputs.place)):
            done = run_step(task_tools.workspace, inputs, self._env, given, say)
        _refuse_shared_outputs(task, upstream, done.files)
        return TaskResult(
            digest=hash_contents(done.files),
            files=tuple(WrittenFile(one.path, one.content, one.executable) for one in done.files),
            seen=done.seen,
            facts=tuple(
                (_NO_MATCH, one) for one in list_unmatched(self._workspace, inputs, done.seen)
            ),
            warnings=done.warnings,
            before=done.before,
        )

    def warnings(
        self, task: Task, upstream: Mapping[TaskId, Output], output: Output
    ) -> tuple[Problem, ...]:
        """Warn of inputs that matched no file, at their current places in the config."""
        del upstream
        inputs = require_inputs(task, BeforeInputs)
        places = dict(zip(inputs.inputs, inputs.places, strict=False))
        return tuple(
            _no_match_problem(inputs, pattern, Place(*places.get(pattern, ("",))))
            for name, pattern in output.facts
            if name == _NO_MATCH
        )


def _no_match_problem(inputs: BeforeInputs, pattern: str, where: Place) -> Problem:
    message = f"the input `{pattern}` of the step `{inputs.name}` matches no file"
    hint = "fix the pattern: it is relative to the service directory; or remove it"
    return Problem("step/no-match", message, hint, where if where.file else None)


def _list_given_files(
    upstream: Mapping[TaskId, Output], task_tools: TaskTools
) -> Iterator[BuiltFile]:
    """List the files of builds, each in a directory of its function, and the archives."""
    for owner, output in upstream.items():
        kind = parse_task_kind(owner)
        folder = f"{name_of(owner).function}/" if kind == "build" else ""
        for one in output.files if kind in ("build", "package") else ():
            yield BuiltFile(folder + one.path, task_tools.content(owner, one), one.executable)


def _refuse_shared_outputs(
    task: Task, upstream: Mapping[TaskId, Output], files: tuple[BuiltFile, ...]
) -> None:
    """Reject two steps that write one file: each would undo the other."""
    own = {one.path: one for one in files}
    for owner, output in upstream.items():
        shared = [one.path for one in output.files if one.path in own]
        if parse_task_kind(owner) == "before" and shared:
            message = f"{task.id} and {owner} both have the output `{shared[0]}`"
            hint = "change `outputs`, so that each file belongs to one step"
            raise FabricError(Problem("step/shared-output", message, hint))
