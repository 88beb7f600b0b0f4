"""Build one function: its runtime produces the files and reports its inputs."""

import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from fabric.model.hashing import hash_fields
from fabric.model.problems import Place, Problem
from fabric.model.task import EntryKind, InputEntry, Output, Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.archive import hash_contents
from fabric.runtimes.contract import Builder, Built, ImportedModule, InputTrace, Toolchain
from fabric.tasks.contract import TaskResult, TaskTools, WrittenFile, place_problems, require_inputs
from fabric.tasks.unknown_imports import find_unknown_imports, import_facts

# Raise when the same inputs would give other bytes, or look at more.
_VERSION = "2"
_BUNDLED_OR_INCLUDING = "6"
_MODULE_FILE = re.compile(r"\.(py|pyc|so|[\w-]+\.so)$")

# By service directory, runtime, whether a command builds, and its tools with their variables.
_ToolchainKey: TypeAlias = tuple[str, str, bool, tuple[object, ...]]


class BuildKind:
    def __init__(self, workspace: Path, runtime: Builder) -> None:
        self._workspace = workspace
        self._runtime = runtime
        self._toolchains: dict[_ToolchainKey, Toolchain] = {}
        self._lock = threading.Lock()

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        inputs = require_inputs(task, BuildInputs)
        with place_problems(Place(*inputs.place)):
            toolchain = self.toolchain(inputs)
        own = dict(inputs.env)
        given = ((name, value) for name, value in toolchain.environment if name not in own)
        return (
            InputEntry(EntryKind.CODE, "build", _read_tool_version(inputs)),
            InputEntry(EntryKind.CODE, "toolchain", toolchain.identity),
            *(InputEntry(EntryKind.ENV, name, hash_fields((value,))) for name, value in given),
        )

    def toolchain(self, inputs: BuildInputs) -> Toolchain:
        """Return the toolchain, looked up once per run, service and runtime."""
        key = (
            inputs.root,
            inputs.runtime,
            bool(inputs.command),
            (inputs.tools, inputs.env) if inputs.tools else (),
        )
        found = self._toolchains.get(key)
        if found is not None:
            return found
        # Two workers never run the same tool at the same time.
        with self._lock:
            if key not in self._toolchains:
                self._toolchains[key] = self._runtime.toolchain(self._workspace, inputs)
            return self._toolchains[key]

    def entry(self, task: Task) -> str:
        """Return the entry file. A plan checks it, so that it does not announce an impossible
        build."""
        return self._runtime.entry(self._workspace, require_inputs(task, BuildInputs))

    def record_inputs(self, task: Task) -> InputTrace:
        """Return the inputs of a build by running it without storing anything. Custom commands are
        not run."""
        return self._runtime.record_inputs(self._workspace, require_inputs(task, BuildInputs))

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        del upstream
        inputs = require_inputs(task, BuildInputs)
        with place_problems(Place(*inputs.place)):
            built = self._runtime.build(task_tools.workspace, inputs)
        return TaskResult(
            digest=hash_contents(built.files),
            files=tuple(WrittenFile(one.path, one.content, one.executable) for one in built.files),
            facts=(("handler", built.handler), *import_facts(find_unsatisfied_imports(built))),
            seen=built.seen,
            warnings=built.warnings,
            keep=built.toolchain in ("", self.toolchain(inputs).identity),
            before=built.before,
            took_ms=built.took_ms,
        )

    def warnings(
        self, task: Task, upstream: Mapping[TaskId, Output], output: Output
    ) -> tuple[Problem, ...]:
        """Unknown imports, unless an archive follows: its task can read the packages."""
        del upstream
        inputs = require_inputs(task, BuildInputs)
        return find_unknown_imports(output, (), inputs.brought) if inputs.is_last else ()


def _read_tool_version(inputs: BuildInputs) -> str:
    is_bundled = inputs.runtime.startswith("nodejs") and not inputs.command
    return _BUNDLED_OR_INCLUDING if is_bundled or inputs.include else _VERSION


def find_unsatisfied_imports(built: Built) -> tuple[ImportedModule, ...]:
    """Return the imported modules that no file provides, each once, at its first place."""
    there = set(_list_modules(file.path for file in built.files))
    missing: dict[tuple[str, str], ImportedModule] = {}
    for one in built.wanted:
        if there.isdisjoint(one.places):
            missing.setdefault((one.module, one.file), one)
    return tuple(missing.values())


def _list_modules(paths: Iterable[str]) -> Iterator[str]:
    """Yield the modules of the archive. For Python, every non-empty directory is a package, even
    without `__init__.py`."""
    yield "."
    for path in paths:
        if _MODULE_FILE.search(path):
            yield _MODULE_FILE.sub("", path)
        folder = path.rpartition("/")[0]
        while folder:
            yield folder
            folder = folder.rpartition("/")[0]
