"""Package one function: its build and its vendored packages, as one reproducible archive."""

from collections.abc import Iterator, Mapping

from fabric.model.hashing import hash_bytes
from fabric.model.problems import FabricError, Problem
from fabric.model.task import EntryKind, InputEntry, Output, Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import PackageInputs
from fabric.runtimes.archive import build_archive, hash_contents, unpack_archive
from fabric.runtimes.contract import BuiltFile
from fabric.tasks.contract import TaskResult, TaskTools, WrittenFile
from fabric.tasks.unknown_imports import find_unknown_imports
from fabric.tasks.vendor import PACKAGES

_VERSION = "2"


class PackageKind:
    def code(self, task: Task) -> tuple[InputEntry, ...]:
        del task
        return (InputEntry(EntryKind.CODE, "package", _VERSION),)

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        inputs = task.inputs
        if not isinstance(inputs, PackageInputs):
            raise TypeError(f"{task.id} is not a package")
        files = _require_distinct_files(task.id, _gather(upstream, task_tools))
        content = build_archive(files)
        return TaskResult(
            digest=hash_contents(files),
            files=(WrittenFile(f"{inputs.function}.zip", content),),
            facts=(
                ("sha256", hash_bytes(content)),
                ("files", str(len(files))),
                ("handler", _find_handler(upstream)),
            ),
        )

    def warnings(
        self, task: Task, upstream: Mapping[TaskId, Output], output: Output
    ) -> tuple[Problem, ...]:
        """Imports of the build that neither it nor the packages answer."""
        del output
        inputs = task.inputs
        if not isinstance(inputs, PackageInputs):
            return ()
        parts = tuple(upstream.values())
        return tuple(
            one for part in parts for one in find_unknown_imports(part, parts, inputs.brought)
        )


def _find_handler(upstream: Mapping[TaskId, Output]) -> str:
    """Return the handler entry from the build, because users of the archive need it."""
    found = (output.fact("handler") for output in upstream.values())
    return next((handler for handler in found if handler), "")


def _gather(upstream: Mapping[TaskId, Output], task_tools: TaskTools) -> Iterator[BuiltFile]:
    for owner, output in upstream.items():
        for one in output.files:
            content = task_tools.content(owner, one)
            if one.path == PACKAGES:
                yield from unpack_archive(content)
            else:
                yield BuiltFile(one.path, content, one.executable)


def _require_distinct_files(task_id: TaskId, files: Iterator[BuiltFile]) -> tuple[BuiltFile, ...]:
    """Reject files that exist both in the function and in vendored packages."""
    by_path: dict[str, BuiltFile] = {}
    for one in files:
        if by_path.setdefault(one.path, one).content != one.content:
            raise FabricError(
                Problem(
                    "package/conflict",
                    f"{task_id} would contain two different files named `{one.path}`",
                    hint="rename your module: a vendored package has the same name",
                )
            )
    return tuple(by_path.values())
