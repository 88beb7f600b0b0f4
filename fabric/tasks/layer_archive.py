"""Pack a layer of the project: an archive of its files, and an index with their hashes."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fabric.model.builds.python_target import PythonTarget
from fabric.model.hashing import hash_bytes, hash_fields
from fabric.model.names import Digest
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.task import EntryKind, InputEntry, Output, OutputFile, Task
from fabric.model.task_id import TaskId, is_kind, is_wheel
from fabric.model.task_inputs import LayerArchiveInputs
from fabric.runtimes.archive import PackedFile, pack_file, pack_files
from fabric.runtimes.contract import InputTrace
from fabric.tasks.contract import TaskResult, TaskTools, WrittenFile, place_problems, require_inputs
from fabric.tasks.git_wheel import check_built_systems
from fabric.tasks.packed import read_packed_output

# Raise when the same inputs would give other files.
_VERSION = "1"
# Where Python finds packages of a layer, below `/opt`.
_PYTHON = "python/"


class LayerArchiveKind:
    def __init__(self, workspace: Path, env: Mapping[str, str]) -> None:
        self._workspace = workspace
        self._env = env

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        version = InputEntry(EntryKind.CODE, "layer-archive", _VERSION)
        if not require_inputs(task, LayerArchiveInputs).command:
            return (version,)
        from fabric.runtimes.commands.command import identify_machine  # few layers have commands

        machine = identify_machine(self._env)
        return (
            version,
            InputEntry(EntryKind.CODE, "toolchain", machine.identity),
            *(
                InputEntry(EntryKind.ENV, name, hash_fields((value,)))
                for name, value in machine.environment
            ),
        )

    def record_inputs(self, task: Task) -> InputTrace:
        """Return the inputs without running the command. Python packages have recorded inputs of
        their own."""
        from fabric.runtimes.layers import record_layer_inputs

        inputs = require_inputs(task, LayerArchiveInputs)
        return InputTrace() if _is_python(inputs) else record_layer_inputs(self._workspace, inputs)

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        with place_problems(Place(*require_inputs(task, LayerArchiveInputs).place)):
            return self._build(task, upstream, task_tools)

    def _build(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        from fabric.runtimes.layers import collect_layer_files

        inputs = require_inputs(task, LayerArchiveInputs)
        if _is_python(inputs):
            return _pack(inputs, self._select_packages(inputs, upstream, task_tools))
        say = partial(task_tools.say, task.id)
        found = collect_layer_files(task_tools.workspace, inputs, self._env, say)
        return replace(
            _pack(inputs, tuple(map(pack_file, found.files))),
            seen=found.seen,
            warnings=found.warnings,
            before=found.before,
        )

    def _select_packages(
        self, inputs: LayerArchiveInputs, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> tuple[PackedFile, ...]:
        from fabric.runtimes.layers import download_python_packages, select_python_packages

        wheels = [
            tuple(read_packed_output(owner, output, task_tools))
            for owner, output in sorted(upstream.items())
            if is_wheel(owner)
        ]
        target = PythonTarget(inputs.runtime.removeprefix("python"), inputs.architecture)
        check_built_systems(upstream, target)
        if inputs.lock:
            wheels += download_python_packages(task_tools.workspace, inputs, self._env)
        return tuple(select_python_packages(inputs, wheels))


def _pack(inputs: LayerArchiveInputs, files: tuple[PackedFile, ...]) -> TaskResult:
    packed = pack_files(files)
    return TaskResult(
        digest=packed.digest,
        files=(
            WrittenFile(f"{inputs.name}.zip", packed.archive),
            WrittenFile(f"{inputs.name}.files.json", packed.index),
        ),
        facts=(
            ("sha256", hash_bytes(packed.archive)),
            ("unpacked", str(sum(one.size for one in files))),
        ),
    )


class LayerPackages(Struct, frozen=True):
    """The Python packages of a layer: the hash of each file by its path in the archive of a
    function."""

    name: str
    hashes: Mapping[str, Digest]

    def has(self, file: PackedFile, task_id: TaskId) -> bool:
        """Return whether the layer has this file. Raises if it has another content there."""
        sha256 = self.hashes.get(file.path)
        if sha256 not in (None, file.sha256):
            message = (
                f"{task_id}: the layer `{self.name}` has another version of `{file.path}` than "
                "the requirements of the function"
            )
            hint = "use the same versions for all functions of the layer, or a layer for each"
            raise FabricError(Problem("layer/conflict", message, hint))
        return sha256 is not None


def read_layer_packages(
    upstream: Mapping[TaskId, Output], task_tools: TaskTools
) -> tuple[LayerPackages, ...]:
    """Read the packages that archives of functions do not contain."""
    return tuple(
        LayerPackages(one.path.removesuffix(".files.json"), _read_hashes(owner, one, task_tools))
        for owner, output in upstream.items()
        if is_kind(owner, "layer-archive")
        for one in output.files
        if one.path.endswith(".files.json")
    )


def _read_hashes(owner: TaskId, file: OutputFile, task_tools: TaskTools) -> Mapping[str, Digest]:
    rows = msgspec.json.decode(task_tools.content(owner, file), type=list[tuple[str, Digest]])
    found = ((path.removeprefix(_PYTHON), sha256) for path, sha256 in rows)
    return dict(found)


def _is_python(inputs: LayerArchiveInputs) -> bool:
    return bool(inputs.packages) and inputs.runtime.startswith("python")
