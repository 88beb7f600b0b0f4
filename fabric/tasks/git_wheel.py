"""Build and pack the wheel of a repository, once for all functions and services that need it."""

import platform
from collections.abc import Mapping
from typing import Final

from fabric.model.builds.python_target import PythonTarget
from fabric.model.task import EntryKind, InputEntry, Output, Task
from fabric.model.task_id import TaskId, is_kind
from fabric.model.task_inputs import GitWheelInputs
from fabric.runtimes.archive import pack_file, pack_files
from fabric.runtimes.packages.git_sources import GitSource
from fabric.tasks.contract import TaskResult, TaskTools, require_inputs
from fabric.tasks.packed import write_packed

_VERSION = "1"
_SYSTEM: Final = "system"


class GitWheelKind:
    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        del task
        # Compiled wheels differ between them. Whether a wheel is one is known after its build.
        python = ".".join(platform.python_version_tuple()[:2])
        builder = f"Python {python} on {platform.machine()}, {' '.join(platform.libc_ver())}"
        return (
            InputEntry(EntryKind.CODE, "git-wheel", _VERSION),
            InputEntry(EntryKind.CODE, "builder", builder),
        )

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        # Imports the tools of packages: only when something is built.
        from fabric.runtimes.packages.git_wheels import (
            ListedSource,
            build_git_wheel,
            read_listing_files,
        )

        del upstream
        inputs = require_inputs(task, GitWheelInputs)
        source = GitSource(
            name=inputs.name,
            url=inputs.url,
            commit=inputs.commit,
            subdirectory=inputs.subdirectory,
        )
        texts = read_listing_files(task_tools.workspace, inputs.files)
        wheel = build_git_wheel(ListedSource(source, texts), self._env)
        packed = pack_files(map(pack_file, wheel.list_files()))
        return TaskResult(
            digest=packed.digest, files=write_packed(packed), facts=((_SYSTEM, wheel.system),)
        )


def check_built_systems(upstream: Mapping[TaskId, Output], target: PythonTarget) -> None:
    """Raise for a wheel of a repository that does not run on the target."""
    built = {owner: output for owner, output in upstream.items() if is_kind(owner, "git-wheel")}
    if built:
        from fabric.runtimes.packages.git_wheels import check_wheel_system

        for owner, output in sorted(built.items()):
            name = owner.partition(":")[2].rsplit("-", 2)[0]
            check_wheel_system(name, output.fact(_SYSTEM), target)
