"""Check the tools that build and run the functions of a service."""

import shutil
from collections.abc import Callable, Container, Iterator, Mapping
from functools import partial
from pathlib import Path

from fabric.app.caching.cache_place import cache_folder
from fabric.app.caching.toolchains import open_toolchain
from fabric.app.settings import Settings
from fabric.graph.compile import build_task_inputs
from fabric.graph.service_unit import ServiceUnit
from fabric.model.checks import Check, make_failed_check, make_passed_check, make_warning_check
from fabric.model.problems import FabricError, Problem
from fabric.runtimes.commands.build_tools import BuildTools
from fabric.runtimes.commands.command import open_tools
from fabric.runtimes.packages.uv import find_uv
from fabric.runtimes.versions import (
    find_bundler_version,
    format_python_version,
    read_node_version,
    read_pip_version,
    read_uv_version,
)


def check_tools(unit: ServiceUnit, workspace: Path, settings: Settings) -> Iterator[Check]:
    """Check the build and run tools for each language of the service."""
    folder, env = workspace / unit.root, settings.env
    runtimes = {one.runtime or unit.config.provider.runtime for one in unit.config.functions}
    if any(one.startswith("nodejs") for one in runtimes):
        yield _run_check("node", lambda: read_node_version(env))
        with open_toolchain(settings) as tools:
            found = find_bundler_version(folder, tools, env)
        yield (
            make_passed_check("bundler", found)
            if found
            else make_warning_check("bundler", _NO_BUNDLER)
        )
    if any(one.startswith("python") for one in runtimes):
        yield make_passed_check("python", format_python_version())
        yield _check_package_tool(env, is_needed=any(one.text for one in unit.packages))
    checked = tuple(_check_build_tools(unit, workspace, settings))
    yield from checked
    yield from _check_command_programs(unit, settings.env, {one.name for one in checked})


def _check_build_tools(unit: ServiceUnit, workspace: Path, settings: Settings) -> Iterator[Check]:
    """Check the tools of build commands and presets, each once."""
    cache = cache_folder(workspace, settings)
    root = str((workspace / unit.root).resolve())
    checked: set[tuple[str, ...]] = set()
    for function in unit.config.functions:
        if not function.build.is_custom:
            continue
        inputs = build_task_inputs(unit, function)
        tools = open_tools(root, inputs, settings.env, cache)
        for command in inputs.tools:
            if command not in checked:
                checked.add(command)
                yield _run_check(command[0], partial(_read_tool, tools, command))


def _check_command_programs(
    unit: ServiceUnit, env: Mapping[str, str], checked: Container[str]
) -> Iterator[Check]:
    """Check the programs of commands that are looked up on PATH and are not `checked` tools.

    A program with a path can be written by an earlier step.
    """
    owners: dict[str, str] = {}
    for owner, command in _list_commands(unit):
        owners.setdefault(command[0], owner)
    for program, owner in owners.items():
        is_looked_up = "/" not in program and program not in checked
        if is_looked_up and shutil.which(program, path=env.get("PATH", "")) is None:
            message = f"{owner} requires `{program}`, not found on PATH"
            hint = f"install `{program}`, or change the command"
            yield make_failed_check(program, Problem("runtime/tool-missing", message, hint))


def _list_commands(unit: ServiceUnit) -> Iterator[tuple[str, tuple[str, ...]]]:
    """List the commands of steps, hooks, layers and builds, each with its owner for messages."""
    for step in unit.config.supplies.steps:
        yield f"step `{step.name}` of `{unit.service}`", step.command
    for layer in unit.config.supplies.layers:
        if layer.build is not None:
            yield f"layer `{layer.name}` of `{unit.service}`", layer.build.command
    for function in unit.config.functions:
        if function.build.command:
            yield f"function `{function.name}`: its build", function.build.command


def _read_tool(tools: BuildTools, command: tuple[str, ...]) -> str:
    """Return the first line of the printed version, and the path of the program."""
    line = tools.describe([command]).partition("\n")[0]
    return f"{line} ({tools.find_program(command[0])})"


def _check_package_tool(env: Mapping[str, str], *, is_needed: bool) -> Check:
    """Check the tool that downloads packages: uv if it is found, otherwise pip."""
    try:
        uv = find_uv(env)
    except FabricError as error:
        return make_failed_check("uv", error.first)
    if uv is not None:
        return _run_check("uv", lambda: read_uv_version(uv, env))
    pip = _run_check("pip", lambda: read_pip_version(env))
    return pip if is_needed or pip.ok else make_warning_check("pip", pip.problem)


_NO_BUNDLER = Problem(
    "runtime/bundler-missing",
    "esbuild and npm not found: TypeScript cannot be built",
    hint="add `esbuild` to the project's devDependencies, or install npm",
)


def _run_check(name: str, look: Callable[[], str]) -> Check:
    try:
        return make_passed_check(name, look())
    except FabricError as error:
        return make_failed_check(name, error.first)
