"""Package one function: its build and its vendored packages, as one reproducible archive."""

from collections.abc import Iterable, Iterator, Mapping

from fabric.model.hashing import hash_bytes
from fabric.model.problems import FabricError, Problem
from fabric.model.task import EntryKind, InputEntry, Output, Task
from fabric.model.task_id import TaskId, is_kind
from fabric.model.task_inputs import PackageInputs
from fabric.runtimes.archive import PackedFile, build_archive, hash_contents, pack_file, pack_files
from fabric.runtimes.contract import BuiltFile
from fabric.tasks.contract import TaskResult, TaskTools, WrittenFile, require_inputs
from fabric.tasks.layer_archive import read_layer_packages
from fabric.tasks.packed import has_packed, read_packed_output
from fabric.tasks.unknown_imports import find_unknown_imports

_VERSION = "2"
_WITH_PACKAGES = "3"
_WITH_LAYERS = "1 of layers"


class PackageKind:
    def code(self, task: Task) -> tuple[InputEntry, ...]:
        has_packages = any(is_kind(need, "vendor") for need in task.needs)
        version = _WITH_PACKAGES if has_packages else _VERSION
        if any(is_kind(need, "layer-archive") for need in task.needs):
            version = _WITH_LAYERS
        return (InputEntry(EntryKind.CODE, "package", version),)

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        inputs = require_inputs(task, PackageInputs)
        own, packages = _read_own(upstream, task_tools), _read_packages(upstream, task_tools)
        if packages is None:
            count, digest, content = len(own), hash_contents(own), build_archive(own)
        else:
            layers = read_layer_packages(upstream, task_tools)
            left = (one for one in packages if not any(layer.has(one, task.id) for layer in layers))
            files = _require_distinct_files(task.id, (*map(pack_file, own), *left))
            packed = pack_files(files)
            count, digest, content = len(files), packed.digest, packed.archive
        return TaskResult(
            digest=digest,
            files=(WrittenFile(f"{inputs.function}.zip", content),),
            facts=(
                ("sha256", hash_bytes(content)),
                ("files", str(count)),
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


def _read_own(upstream: Mapping[TaskId, Output], task_tools: TaskTools) -> list[BuiltFile]:
    return [
        BuiltFile(one.path, task_tools.content(owner, one), one.executable)
        for owner, output in upstream.items()
        if not has_packed(output) and not is_kind(owner, "layer-archive")
        for one in output.files
    ]


def _read_packages(
    upstream: Mapping[TaskId, Output], task_tools: TaskTools
) -> Iterator[PackedFile] | None:
    """Return the files of the vendored packages; None without any."""
    found = ((owner, output) for owner, output in upstream.items() if has_packed(output))
    return next((read_packed_output(*one, task_tools) for one in found), None)


def _require_distinct_files(task_id: TaskId, files: Iterable[PackedFile]) -> tuple[PackedFile, ...]:
    """Reject files that exist both in the function and in vendored packages."""
    by_path: dict[str, PackedFile] = {}
    for one in files:
        if by_path.setdefault(one.path, one).sha256 != one.sha256:
            raise FabricError(
                Problem(
                    "package/conflict",
                    f"{task_id} would contain two different files named `{one.path}`",
                    hint="rename your module: a vendored package has the same name",
                )
            )
    return tuple(by_path.values())
