"""Vendor the third-party packages of one lock, once for all functions that need them."""

from collections.abc import Callable, Mapping
from pathlib import Path

from fabric.model.task import EntryKind, InputEntry, Output, Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import VendorInputs
from fabric.runtimes.archive import build_archive, hash_contents
from fabric.runtimes.contract import Built
from fabric.tasks.build import convert_listing
from fabric.tasks.contract import TaskResult, TaskTools, WrittenFile
from fabric.tasks.unknown_imports import encode_modules

_VERSION = "2"
PACKAGES = ".packages.zip"

Fetch = Callable[[Path, VendorInputs], Built]


class VendorKind:
    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        del task
        return (InputEntry(EntryKind.CODE, "vendor", _VERSION),)

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        del upstream
        inputs = task.inputs
        if not isinstance(inputs, VendorInputs):
            raise TypeError(f"{task.id} is not a vendor task")
        fetched = self._fetch(task_tools.workspace, inputs)
        return TaskResult(
            digest=hash_contents(fetched.files),
            files=(WrittenFile(PACKAGES, build_archive(fetched.files)),),
            facts=(
                ("packages", str(len(fetched.files))),
                encode_modules(one.path for one in fetched.files),
            ),
            read=(*fetched.seen.files, *fetched.seen.folders),
            absent=fetched.seen.absent,
            listings=tuple(map(convert_listing, fetched.seen.listings)),
            links=fetched.seen.links,
            warnings=fetched.warnings,
        )
