"""All runtimes as one: which language builds a function, its command, and its extra files."""

from collections.abc import Mapping
from pathlib import Path

from fabric.model.problems import FabricError, Problem
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes import command
from fabric.runtimes.contract import Built, Runtime, Toolchain
from fabric.runtimes.entry import (
    NODE_EXTENSIONS,
    PYTHON_EXTENSIONS,
    locate,
    refuse_not_utf8,
)
from fabric.runtimes.include import included, joined
from fabric.runtimes.nodejs.builder import NodeRuntime
from fabric.runtimes.python.builder import PythonRuntime

_EXTENSIONS = {"nodejs": NODE_EXTENSIONS, "python": PYTHON_EXTENSIONS}


class Runtimes:
    """Thread-safe; `folder` keeps the tools that fabric installs, `environment` is the parent's."""

    def __init__(
        self, folder: Path, environment: Mapping[str, str], *, install: bool = True
    ) -> None:
        self._environment = environment
        self._by_language: dict[str, Runtime] = {
            "nodejs": NodeRuntime(folder, environment, install=install),
            "python": PythonRuntime(),
        }

    def toolchain(self, workspace: Path, inputs: BuildInputs) -> Toolchain:
        """What would build this function; cheap, starts no process."""
        if inputs.command:
            return command.toolchain(self._environment)
        return self._by_language[_language(inputs)].toolchain(workspace, inputs.root)

    def build(self, workspace: Path, inputs: BuildInputs) -> Built:
        """One function's files, with all that was looked at."""
        built = joined(self._core(workspace, inputs), included(workspace, inputs))
        refuse_not_utf8(inputs, (file.path for file in built.files))
        return built

    def entry(self, workspace: Path, inputs: BuildInputs) -> str:
        """The entry's path; raises what a build would say if it cannot be used."""
        return locate(workspace, inputs, _EXTENSIONS[_language(inputs)]).path

    def close(self) -> None:
        for runtime in self._by_language.values():
            runtime.close()

    def _core(self, workspace: Path, inputs: BuildInputs) -> Built:
        language = _language(inputs)
        if inputs.command:
            entry = locate(workspace, inputs, _EXTENSIONS[language])
            return command.build(entry, inputs, self._environment)
        return self._by_language[language].build(workspace, inputs)


def _language(inputs: BuildInputs) -> str:
    language = next((name for name in _EXTENSIONS if inputs.runtime.startswith(name)), None)
    if language is None:
        raise FabricError(
            Problem(
                "config/unknown-runtime",
                f"function `{inputs.function}`: unknown runtime `{inputs.runtime}`",
                hint="use nodejs18.x, nodejs20.x, nodejs22.x, or python3.11 and newer",
            )
        )
    return language
