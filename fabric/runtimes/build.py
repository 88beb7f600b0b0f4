"""All runtimes behind one interface: the language of a function, its build, and its extra files."""

import os
import threading
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from fabric.model.builds.command_runtimes import is_command_runtime
from fabric.model.problems import FabricError, Problem
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.contract import Built, InputTrace, Runtime, Toolchain
from fabric.runtimes.entry import (
    NODE_EXTENSIONS,
    PYTHON_EXTENSIONS,
    EntryFile,
    locate,
    locate_source,
    refuse_not_utf8,
)
from fabric.runtimes.include import collect_included, join_builds
from fabric.runtimes.recorded_inputs import merge, place

_EXTENSIONS = {"nodejs": NODE_EXTENSIONS, "python": PYTHON_EXTENSIONS}

# The language of runtimes whose archives only a command can make.
_COMMAND = "command"


class Runtimes:
    """All runtimes. Thread-safe. `folder` contains tools that fabric installs; `environment` is
    that of the parent process. `cache` replaces the cache directory of the workspace."""

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str],
        *,
        install: bool = True,
        cache: Path | None = None,
    ) -> None:
        self._cache = cache
        self._folder = folder
        self._environment = environment
        self._installs = install
        self._by_language: dict[str, Runtime] = {}
        self._lock = threading.Lock()

    def toolchain(self, workspace: Path, inputs: BuildInputs) -> Toolchain:
        """Identify the tools that would build this function, quickly and without a process."""
        if inputs.command:
            from fabric.runtimes.commands import command

            base = os.path.realpath(workspace)
            root = os.path.realpath(os.path.join(base, inputs.root))
            cache = self._locate_cache(workspace)
            found = command.identify_tools(root, inputs, self._environment, cache)
            return replace(found, watch=tuple(place(base, path) for path in found.watch))
        return self._get_runtime(_choose_language(inputs)).toolchain(workspace, inputs.root)

    def build(self, workspace: Path, inputs: BuildInputs) -> Built:
        """Build one function and return its files and all recorded inputs."""
        built = join_builds(
            self._build_core(workspace, inputs), collect_included(workspace, inputs)
        )
        refuse_not_utf8(inputs, (file.path for file in built.files))
        if inputs.command or _choose_language(inputs) != "python":
            return built
        from fabric.runtimes.python.django_names import find_unpacked_folders

        more = find_unpacked_folders(workspace / inputs.root, inputs, built.files)
        return replace(built, warnings=(*built.warnings, *more))

    def record_inputs(self, workspace: Path, inputs: BuildInputs) -> InputTrace:
        """Record the inputs of a build. A custom command is not run, because its inputs are the
        whole service."""
        if not inputs.command:
            return self.build(workspace, inputs).seen
        from fabric.runtimes.commands import command

        entry = _locate_entry(workspace, inputs)
        return merge(command.record_inputs(entry, inputs), collect_included(workspace, inputs).seen)

    def entry(self, workspace: Path, inputs: BuildInputs) -> str:
        """Return the path of the entry. Raises the same errors as a build if it is unusable."""
        entry = _locate_entry(workspace, inputs)
        language = _choose_language(inputs)
        if language == "python" and not inputs.command:
            from fabric.runtimes.python.importable import refuse_not_importable

            refuse_not_importable(entry, inputs)
        elif not inputs.command:
            from fabric.runtimes.nodejs.refusals import refuse_unfit

            refuse_unfit(entry, inputs)
        return entry.path

    def close(self) -> None:
        for runtime in self._by_language.values():
            runtime.close()

    def _build_core(self, workspace: Path, inputs: BuildInputs) -> Built:
        if inputs.command:
            from fabric.runtimes.commands import command

            entry = _locate_entry(workspace, inputs)
            return command.build(entry, inputs, self._environment, self._locate_cache(workspace))
        return self._get_runtime(_choose_language(inputs)).build(workspace, inputs)

    def _locate_cache(self, workspace: Path) -> Path:
        return self._cache or workspace / ".fabric" / "cache"

    def _get_runtime(self, language: str) -> Runtime:
        """Return a runtime, created on first use: an edit needs one language, or none."""
        with self._lock:
            found = self._by_language.get(language)
            if found is None:
                found = self._by_language[language] = self._create_runtime(language)
            return found

    def _create_runtime(self, language: str) -> Runtime:
        if language == "python":
            from fabric.runtimes.python.builder import PythonRuntime

            return PythonRuntime()
        from fabric.runtimes.nodejs.builder import NodeRuntime

        return NodeRuntime(self._folder, self._environment, install=self._installs)


def _locate_entry(workspace: Path, inputs: BuildInputs) -> EntryFile:
    language = _choose_language(inputs)
    if language == _COMMAND:
        from fabric.runtimes.commands.command import has_path_entry

        return locate_source(workspace, inputs, is_optional=not has_path_entry(inputs))
    return locate(workspace, inputs, _EXTENSIONS[language])


def _choose_language(inputs: BuildInputs) -> str:
    if inputs.command and is_command_runtime(inputs.runtime):
        return _COMMAND
    language = next((name for name in _EXTENSIONS if inputs.runtime.startswith(name)), None)
    if language is None:
        raise FabricError(
            Problem(
                "config/unknown-runtime",
                f"function `{inputs.function}`: unknown runtime `{inputs.runtime}`",
                hint="use nodejs18.x, nodejs20.x, nodejs22.x, nodejs24.x, or python3.11 and later",
            )
        )
    return language
