"""The installed tools of builds and local runs, with their versions."""

import platform
import sys
from collections.abc import Mapping
from pathlib import Path

from fabric.model.problems import FabricError, Problem
from fabric.runtimes.nodejs.toolchain import PINNED, find_bundler, find_node, find_tools
from fabric.runtimes.packages.pip import pip_failure_problem
from fabric.system.process.process import run_child

_SECONDS = 30
# Tools read settings of the directory that they run in, and Python its modules: not the project's.
_NEUTRAL = Path("/")


def read_node_version(environment: Mapping[str, str]) -> str:
    """Return Node's version. Raises if it is missing."""
    node = find_node(environment)
    result = run_child([str(node), "--version"], cwd=_NEUTRAL, env=environment, timeout=_SECONDS)
    if result.code:
        message = f"cannot run `{node}`"
        raise FabricError(Problem("runtime/node-broken", message, frame=result.last_lines()))
    return f"Node {result.stdout.decode(errors='replace').strip().removeprefix('v')} ({node})"


def find_bundler_version(
    folder: Path, toolchain: Path, environment: Mapping[str, str]
) -> str | None:
    """Return the version of the project's bundler, or fabric's; None if there is none and none can
    be fetched."""
    own = find_bundler(str(folder.resolve()))
    if own.version:
        return f"esbuild {own.version} of the project"
    tools = find_tools(toolchain, environment)
    return f"esbuild {PINNED}, downloaded on first use" if tools.installable else None


def format_python_version() -> str:
    return f"Python {platform.python_version()} ({sys.executable})"


def read_uv_version(program: Path, environment: Mapping[str, str]) -> str:
    """Return uv's version. Raises if it cannot be run."""
    argv = [str(program), "--version"]
    result = run_child(argv, cwd=_NEUTRAL, env=environment, timeout=_SECONDS)
    if result.code:
        message = f"cannot run `{program}`"
        raise FabricError(Problem("runtime/uv-broken", message, frame=result.last_lines()))
    version = " ".join(result.stdout.decode(errors="replace").split()[:2])
    return f"{version} ({program})"


def read_pip_version(environment: Mapping[str, str]) -> str:
    """Return pip's version. Raises if this Python has none."""
    argv = [sys.executable, "-I", "-P", "-m", "pip", "--version", "--disable-pip-version-check"]
    result = run_child(argv, cwd=_NEUTRAL, env=environment, timeout=_SECONDS)
    if result.code:
        raise FabricError(pip_failure_problem(result.last_lines()))
    return " ".join(result.stdout.decode(errors="replace").split()[:2])
