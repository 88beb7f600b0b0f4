"""Vendor the third-party packages of one lock, once for all functions that need them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fabric.model.names import TaskId
from fabric.model.problems import Problem
from fabric.model.task import Entry, EntryKind, Output, Task, VendorInputs
from fabric.runtimes.archive import archive, content_digest
from fabric.runtimes.contract import BuiltFile
from fabric.tasks.contract import Made, MadeFile, Shop

_VERSION = "1"
PACKAGES = ".packages.zip"

Fetch = Callable[[Path, VendorInputs], "Fetched"]


class Fetched:
    """The packages of a lock, and which files named them."""

    def __init__(
        self, files: Sequence[BuiltFile], read: Sequence[str], warnings: Sequence[Problem]
    ) -> None:
        self.files = tuple(files)
        self.read = tuple(read)
        self.warnings = tuple(warnings)


class VendorKind:
    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch

    def code(self, task: Task) -> tuple[Entry, ...]:
        del task
        return (Entry(EntryKind.CODE, "vendor", _VERSION),)

    def run(self, task: Task, upstream: Mapping[TaskId, Output], shop: Shop) -> Made:
        del upstream
        inputs = task.inputs
        if not isinstance(inputs, VendorInputs):
            raise TypeError(f"{task.id} is not a vendor task")
        fetched = self._fetch(shop.workspace, inputs)
        return Made(
            digest=content_digest(fetched.files),
            files=(MadeFile(PACKAGES, archive(fetched.files)),),
            facts=(("packages", str(len(fetched.files))),),
            read=fetched.read,
            warnings=fetched.warnings,
        )
