"""The packages of one lock, joined from the outputs of wheel tasks."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from fabric.model.names import Digest
from fabric.model.problems import Problem
from fabric.model.task import Output, OutputFile, Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import VendorInputs
from fabric.runtimes.archive import pack_file, pack_files
from fabric.runtimes.contract import Built, BuiltFile, InputTrace
from fabric.tasks.contract import WrittenFile
from fabric.tasks.packed import write_packed
from fabric.tasks.vendor import VendorKind
from tests.tasks.tools import QuietTools

VENDOR = VendorInputs("shop", ".", "one==1\ntwo==1\n", "3.12", "x86_64")


class NoVendor:
    def download(self, workspace: Path, inputs: VendorInputs, metadata: Sequence[bytes]) -> Built:
        raise AssertionError(inputs)

    def complete(self, workspace: Path, inputs: VendorInputs, metadata: Sequence[bytes]) -> Built:
        return Built((), InputTrace())


class Wheels(QuietTools):
    """Tools with the files of wheels, by the name of their package."""

    def __init__(self, wheels: Mapping[str, Mapping[str, str]]) -> None:
        super().__init__()
        self._written = {
            TaskId(f"wheel:{name}"): {one.path: one.content for one in _pack(name, files)}
            for name, files in wheels.items()
        }

    @property
    def upstream(self) -> dict[TaskId, Output]:
        return {
            owner: Output(
                Digest(owner), tuple(OutputFile(path, Digest(path), 1) for path in written)
            )
            for owner, written in self._written.items()
        }

    def content(self, owner: TaskId, file: OutputFile) -> bytes:
        return self._written[owner][file.path]


def _pack(name: str, files: Mapping[str, str]) -> Sequence[WrittenFile]:
    metadata = {f"{name}-1.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\n"}
    rows = [
        pack_file(BuiltFile(path, text.encode())) for path, text in {**files, **metadata}.items()
    ]
    return write_packed(pack_files(rows))


def warnings(wheels: Mapping[str, Mapping[str, str]]) -> tuple[Problem, ...]:
    tools = Wheels(wheels)
    task = Task(TaskId("vendor:1"), VENDOR, tuple(tools.upstream))
    return VendorKind(NoVendor()).run(task, tools.upstream, tools).warnings


def test_a_module_that_two_packages_have_with_other_contents_is_a_warning() -> None:
    files = {"common/__init__.py": "1", "common/a.py": "1"}
    [found] = warnings({"one": files, "two": {"common/__init__.py": "2", "common/a.py": "2"}})
    assert found.code == "vendor/same-path"
    assert "`one` and `two` have different files `common/__init__.py`" in found.message


def test_equal_modules_and_other_files_are_no_conflict() -> None:
    both = {"common/__init__.py": ""}
    one, two = ({**both, "LICENSE": text, "tests/a.py": text} for text in "12")
    assert warnings({"one": one, "two": two}) == ()
