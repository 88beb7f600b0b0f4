"""Join the third-party packages of one lock, once for all functions that need them.

They are the outputs of wheel tasks. A lock without hashes is downloaded here.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from fabric.model.builds.python_target import PythonTarget
from fabric.model.problems import Problem
from fabric.model.task import EntryKind, InputEntry, Output, Task
from fabric.model.task_id import TaskId, is_kind
from fabric.model.task_inputs import VendorInputs
from fabric.runtimes.archive import PackedFile, find_metadata, pack_file, pack_files
from fabric.runtimes.contract import Built
from fabric.runtimes.packages.requirements import is_only_repositories
from fabric.tasks.contract import TaskResult, TaskTools, require_inputs
from fabric.tasks.git_wheel import check_built_systems
from fabric.tasks.packed import read_packed_output, write_packed
from fabric.tasks.unknown_imports import encode_modules

_VERSION = "3"
_MODULES = (".py", ".so")
# Directories of packages that contain more than their modules by mistake.
_UNUSED = ("docs/", "examples/", "test/", "tests/")


class Vendor(Protocol):
    """The packages of a lock, except for those of its wheel tasks."""

    def download(self, workspace: Path, inputs: VendorInputs, metadata: Sequence[bytes]) -> Built:
        """Download all packages except for repositories, which have wheels."""

    def complete(self, workspace: Path, inputs: VendorInputs, metadata: Sequence[bytes]) -> Built:
        """Return the packages in the checkout, and warnings about missing packages. `metadata` is
        the METADATA of each wheel."""


class VendorKind:
    def __init__(self, vendor: Vendor) -> None:
        self._vendor = vendor

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        del task
        return (InputEntry(EntryKind.CODE, "vendor", _VERSION),)

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        inputs = require_inputs(task, VendorInputs)
        wheels = [
            tuple(read_packed_output(owner, output, task_tools))
            for owner, output in sorted(upstream.items())
        ]
        check_built_systems(upstream, PythonTarget(inputs.python, inputs.platform, inputs.glibc))
        metadata = _list_metadata(wheels)
        has_all = any(is_kind(one, "wheel") for one in upstream)
        if has_all or (wheels and is_only_repositories(inputs.source)):
            rest = self._vendor.complete(task_tools.workspace, inputs, metadata)
        else:
            rest = self._vendor.download(task_tools.workspace, inputs, metadata)
        files = {one.path: one for wheel in wheels for one in wheel}
        files |= {one.path: pack_file(one) for one in rest.files}
        packed = pack_files(files.values())
        return TaskResult(
            digest=packed.digest,
            files=write_packed(packed),
            facts=(("packages", str(len(files))), encode_modules(files)),
            seen=rest.seen,
            warnings=(*_warn_of_conflicts(wheels), *rest.warnings),
        )


def _warn_of_conflicts(wheels: Sequence[Sequence[PackedFile]]) -> tuple[Problem, ...]:
    """Warn of the first module that each two packages have with other contents: only one is packed,
    as in an installation by pip."""
    owners: dict[str, tuple[int, PackedFile]] = {}
    found: dict[tuple[int, int], str] = {}
    for number, wheel in enumerate(wheels):
        for file in filter(_is_module, wheel):
            owner, first = owners.get(file.path, (number, file))
            if first.sha256 != file.sha256:
                found.setdefault((owner, number), file.path)
            owners[file.path] = number, file
    return tuple(
        _conflict_problem(path, *(_read_name(wheels[number]) for number in pair))
        for pair, path in found.items()
    )


def _is_module(file: PackedFile) -> bool:
    return file.path.endswith(_MODULES) and not file.path.startswith(_UNUSED)


def _conflict_problem(path: str, first: str, second: str) -> Problem:
    message = f"packages `{first}` and `{second}` have different files `{path}`: using `{second}`"
    hint = "use versions that do not share files, or only one of the packages"
    return Problem("vendor/same-path", message, hint)


def _read_name(wheel: Sequence[PackedFile]) -> str:
    from fabric.runtimes.packages.wheels import read_package_name  # a parser of requirements

    found = find_metadata(wheel)
    return read_package_name(found.unpack()) if found else ""


def _list_metadata(wheels: Sequence[Sequence[PackedFile]]) -> list[bytes]:
    found = (find_metadata(wheel) for wheel in wheels)
    return [one.unpack() for one in found if one]
