"""Wheels of repositories as tasks, and the vendor task that joins them with other packages."""

import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.model.names import Digest
from fabric.model.problems import FabricError
from fabric.model.task import Output, OutputFile, Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import GitWheelInputs, VendorInputs
from fabric.runtimes.archive import pack_file, pack_files, read_packed
from fabric.runtimes.contract import Built, BuiltFile, InputTrace
from fabric.tasks.contract import TaskResult
from fabric.tasks.git_wheel import GitWheelKind
from fabric.tasks.packed import write_packed
from fabric.tasks.vendor import VendorKind
from tests.support.git_packages import PackageRepository
from tests.support.project import environment
from tests.tasks.tools import QuietTools

NAME = TaskId("git-wheel:kit-0123456-89abcdef")
COMMIT = "0123456789abcdef0123456789abcdef01234567"
LINE = f"kit @ git+https://git.example/kit@{COMMIT}\n"
VENDOR = VendorInputs("shop", ".", f"#: locked\n{LINE}", "3.12", "x86_64")


class StoredWheel(QuietTools):
    """Tools with the files of one wheel."""

    def __init__(self, *files: BuiltFile) -> None:
        super().__init__()
        packed = pack_files(map(pack_file, files))
        self._written = {one.path: one.content for one in write_packed(packed)}

    def output(self, system: str) -> Output:
        files = tuple(OutputFile(path, Digest(path), 1) for path in self._written)
        return Output(Digest("kit"), files, (("system", system),))

    def content(self, owner: TaskId, file: OutputFile) -> bytes:
        assert owner == NAME
        return self._written[file.path]


class NotedVendor:
    def __init__(self) -> None:
        self.calls: list[str] = []
        self.metadata: Sequence[bytes] = ()

    def download(self, workspace: Path, inputs: VendorInputs, metadata: Sequence[bytes]) -> Built:
        self.metadata = metadata
        self.calls.append(f"download {inputs.source}")
        return Built((BuiltFile("six.py", b""),), InputTrace())

    def complete(self, workspace: Path, inputs: VendorInputs, metadata: Sequence[bytes]) -> Built:
        self.metadata = metadata
        self.calls.append("complete")
        return Built((), InputTrace())


def paths(result: TaskResult) -> list[str]:
    archive, index = (one.content for one in result.files)
    return [one.path for one in read_packed(archive, index)]


def vendored(
    inputs: VendorInputs, system: str = "34 py3-none-any"
) -> tuple[list[str], NotedVendor]:
    tools = StoredWheel(
        BuiltFile("kit.py", b""), BuiltFile("kit-1.0.dist-info/METADATA", b"Name: kit\n")
    )
    vendor = NotedVendor()
    task = Task(TaskId("vendor:1"), inputs, (NAME,))
    result = VendorKind(vendor).run(task, {NAME: tools.output(system)}, tools)
    return paths(result), vendor


def test_a_wheel_is_built_and_packed_with_its_system(tmp_path: Path) -> None:
    repository = PackageRepository(tmp_path / "kit")
    (tmp_path / "requirements.txt").write_text(repository.line)
    inputs = GitWheelInputs(
        "kit", repository.url, repository.commit, files=("requirements.txt", "uv.lock")
    )
    kind = GitWheelKind(environment(tmp_path / "home", {"PIP_NO_INDEX": "1"}))
    result = kind.run(Task(NAME, inputs), {}, QuietTools(tmp_path))
    assert paths(result) == ["kit-1.0.dist-info/METADATA", "kit-1.0.dist-info/WHEEL", "kit.py"]
    assert dict(result.facts)["system"].endswith(" py3-none-any")


def test_the_key_is_name_url_commit_and_subdirectory() -> None:
    inputs = GitWheelInputs("kit", "https://git.example/kit", COMMIT, "lib", "shop", ("a",))
    assert replace(inputs, service="", files=()).entries() == inputs.entries()
    for change in ({"name": "x"}, {"url": "x"}, {"commit": "x"}, {"subdirectory": "x"}):
        assert replace(inputs, **change).entries() != inputs.entries()


def test_the_key_has_the_python_machine_and_c_library_of_the_builder() -> None:
    inputs = GitWheelInputs("kit", "https://git.example/kit", COMMIT)
    code = {one.name: one.value for one in GitWheelKind({}).code(Task(NAME, inputs))}
    major, minor, *_ = sys.version_info
    assert code["builder"].startswith(f"Python {major}.{minor} on {os.uname().machine}, ")
    assert code["builder"].endswith(" ".join(platform.libc_ver()))


def test_a_task_of_another_kind_is_rejected() -> None:
    with pytest.raises(TypeError):
        GitWheelKind({}).run(Task(NAME, VENDOR), {}, QuietTools())


def test_a_lock_of_repositories_downloads_nothing() -> None:
    found, vendor = vendored(VENDOR)
    assert found == ["kit-1.0.dist-info/METADATA", "kit.py"]
    assert (vendor.calls, list(vendor.metadata)) == (["complete"], [b"Name: kit\n"])


def test_packages_without_hashes_are_downloaded_beside_repositories() -> None:
    found, vendor = vendored(replace(VENDOR, source=f"#: locked\nsix==1.0\n{LINE}"))
    assert "six.py" in found
    assert "kit.py" in found
    assert list(vendor.metadata) == [b"Name: kit\n"]


@pytest.mark.parametrize("system", ["34 cp311-cp311-linux_x86_64", "34 cp312-cp312-linux_aarch64"])
def test_a_wheel_for_another_system_is_rejected(system: str) -> None:
    with pytest.raises(FabricError, match="`kit`"):
        vendored(VENDOR, system)


@pytest.mark.parametrize("platform", ["x86_64", "arm64"])
def test_a_pure_wheel_is_for_every_target(platform: str) -> None:
    assert "kit.py" in vendored(replace(VENDOR, platform=platform))[0]
