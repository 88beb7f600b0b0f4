"""Archives of layers, and archives of functions without the files of their layers."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.model.names import Digest
from fabric.model.problems import FabricError
from fabric.model.task import Output, OutputFile, Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import LayerArchiveInputs, PackageInputs
from fabric.runtimes.archive import pack_file, pack_files, unpack_archive
from fabric.runtimes.contract import BuiltFile
from fabric.tasks.contract import TaskResult, WrittenFile
from fabric.tasks.layer_archive import LayerArchiveKind
from fabric.tasks.package import PackageKind
from fabric.tasks.packed import write_packed
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.runtimes_project import write
from tests.tasks.tools import QuietTools

INPUTS = LayerArchiveInputs("shop", "x", "", "cloud1-lambda", place=("fabric.yml", 3, 5))
TASK = Task(TaskId("layer-archive:shop/x@cloud1-lambda"), INPUTS)
PACKAGE = TaskId("package:shop/a")


class StoreTools(QuietTools):
    """Tools with the files of upstreams."""

    def __init__(self, workspace: Path, contents: Mapping[tuple[str, str], bytes]) -> None:
        super().__init__(workspace)
        self._contents = contents

    def content(self, owner: TaskId, file: OutputFile) -> bytes:
        return self._contents[owner, file.path]


def stored(
    outputs: Mapping[str, Sequence[WrittenFile]],
) -> tuple[dict[TaskId, Output], dict[tuple[str, str], bytes]]:
    upstream = {
        TaskId(owner): Output(Digest(owner), tuple(map(_describe, files)))
        for owner, files in outputs.items()
    }
    contents = {(owner, one.path): one.content for owner, files in outputs.items() for one in files}
    return upstream, contents


def _describe(file: WrittenFile) -> OutputFile:
    return OutputFile(file.path, Digest(file.path), len(file.content))


def packed(files: Mapping[str, str]) -> tuple[WrittenFile, ...]:
    rows = [pack_file(BuiltFile(path, text.encode())) for path, text in files.items()]
    return write_packed(pack_files(rows))


def run(
    workspace: Path, inputs: LayerArchiveInputs, outputs: Mapping[str, Sequence[WrittenFile]]
) -> TaskResult:
    upstream, contents = stored(outputs)
    kind = LayerArchiveKind(workspace, ENVIRONMENT)
    return kind.run(replace(TASK, inputs=inputs), upstream, StoreTools(workspace, contents))


def wheel(name: str, *needs: str, text: str = "x") -> tuple[WrittenFile, ...]:
    lines = "".join(f"Requires-Dist: {one}\n" for one in needs)
    metadata = f"Metadata-Version: 2.1\nName: {name}\n{lines}"
    return packed({f"{name}.py": text, f"{name}-1.dist-info/METADATA": metadata})


PYTHON = replace(INPUTS, packages=("one",), runtime="python3.12")
WHEELS = {"wheel:one": wheel("one", "two"), "wheel:two": wheel("two"), "wheel:no": wheel("no")}


def test_the_archive_of_a_directory_has_its_files_and_their_size(tmp_path: Path) -> None:
    write(tmp_path, {"tools/bin/a": "1234"})
    done = run(tmp_path, replace(INPUTS, path="tools"), {})
    assert [one.path for one in done.files] == ["x.zip", "x.files.json"]
    assert [one.path for one in unpack_archive(done.files[0].content)] == ["bin/a"]
    assert ("unpacked", "4") in done.facts
    assert done.read == ("tools/bin/a",)


def test_a_python_layer_has_the_packages_with_their_dependencies(tmp_path: Path) -> None:
    done = run(tmp_path, PYTHON, WHEELS)
    found = {one.path for one in unpack_archive(done.files[0].content)}
    assert {one for one in found if one.endswith(".py")} == {"python/one.py", "python/two.py"}


def test_another_package_of_the_lock_does_not_change_the_layer(tmp_path: Path) -> None:
    other = {**WHEELS, "wheel:no": wheel("no", text="new")}
    assert run(tmp_path, PYTHON, WHEELS).digest == run(tmp_path, PYTHON, other).digest


def test_a_problem_names_the_layer_in_the_config(tmp_path: Path) -> None:
    with pytest.raises(FabricError) as caught:
        run(tmp_path, replace(PYTHON, packages=("none",)), WHEELS)
    assert caught.value.first.where
    assert caught.value.first.where.line == 3


def test_only_a_command_depends_on_the_machine(tmp_path: Path) -> None:
    kind = LayerArchiveKind(tmp_path, ENVIRONMENT)
    assert len(kind.code(TASK)) == 1
    assert len(kind.code(replace(TASK, inputs=replace(INPUTS, command=("make",))))) > 1


def pack(tmp_path: Path, layer: Sequence[WrittenFile]) -> set[str]:
    """The files of a function with all three wheels and a layer."""
    vendored = {"one.py": "x", "two.py": "x", "no.py": "x"}
    outputs = {
        "build:shop/a": (WrittenFile("main.py", b""),),
        "vendor:1": packed(vendored),
        TASK.id: layer,
    }
    upstream, contents = stored(outputs)
    task = Task(PACKAGE, PackageInputs("shop", "a", ""), tuple(upstream))
    done = PackageKind().run(task, upstream, StoreTools(tmp_path, contents))
    return {one.path for one in unpack_archive(done.files[0].content)}


def test_a_function_does_not_contain_the_packages_of_its_layer(tmp_path: Path) -> None:
    assert pack(tmp_path, run(tmp_path, PYTHON, WHEELS).files) == {"main.py", "no.py"}


def test_another_version_in_the_layer_is_an_error(tmp_path: Path) -> None:
    layer = run(tmp_path, PYTHON, {**WHEELS, "wheel:one": wheel("one", text="y")}).files
    with pytest.raises(FabricError, match="the layer `x` has another version of `one.py`"):
        pack(tmp_path, layer)


def test_a_task_of_another_kind_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="is not a task of kind `layer-archive`"):
        LayerArchiveKind(tmp_path, {}).code(Task(PACKAGE, PackageInputs("shop", "a", "")))
