"""The program of a handler's child, and its complete environment."""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from fabric.model.problems import FabricError, Problem
from fabric.runtimes.calls.folder import ChildFolder
from fabric.runtimes.calls.function import LocalFunction
from fabric.runtimes.nodejs.toolchain import find_node
from fabric.runtimes.python.interpreters import find_interpreter

_RUNTIMES = Path(__file__).parents[1]


def find_program(function: LocalFunction, parent: Mapping[str, str]) -> tuple[str, ...]:
    language = next((name for name in _PROGRAMS if function.runtime.startswith(name)), None)
    if language is None:
        raise FabricError(
            Problem(
                "invoke/unknown-runtime",
                f"function `{function.name}`: runtime `{function.runtime}` cannot run locally",
            )
        )
    return _PROGRAMS[language](function.runtime, parent)


def _find_node_program(runtime: str, parent: Mapping[str, str]) -> tuple[str, ...]:  # noqa: ARG001 - as below
    return (str(find_node(parent)), str(_RUNTIMES / "nodejs" / "harness.mjs"))


def _find_python_program(runtime: str, parent: Mapping[str, str]) -> tuple[str, ...]:
    found = find_interpreter(runtime, parent)
    return (found.program, *found.flags, str(_RUNTIMES / "python" / "harness.py"))


_PROGRAMS: dict[str, Callable[[str, Mapping[str, str]], tuple[str, ...]]] = {
    "nodejs": _find_node_program,
    "python": _find_python_program,
}


def build_environment(
    function: LocalFunction, folder: ChildFolder, parent: Mapping[str, str]
) -> dict[str, str]:
    """Build the environment. Of the `parent`'s variables, a handler sees only PATH."""
    return {
        "PATH": parent.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "HOME": str(folder.home),
        "TMPDIR": str(folder.tmp),
        **(_build_lambda_variables(function, folder) if function.caller.is_lambda else {}),
        **(_build_layer_variables(function, parent) if function.opt else {}),
        **dict(function.env.reveal()),
    }


def _build_layer_variables(function: LocalFunction, parent: Mapping[str, str]) -> dict[str, str]:
    """Build the search paths of layers, as Lambda sets them for `/opt`."""
    major = function.runtime.removeprefix("nodejs").removesuffix(".x")
    names = (f"nodejs/node{major}/node_modules", "nodejs/node_modules")
    return {
        "PATH": os.pathsep.join([parent.get("PATH", os.defpath), *_list_opt(function, "bin")]),
        "LD_LIBRARY_PATH": os.pathsep.join(_list_opt(function, "lib")),
        "NODE_PATH": os.pathsep.join(path for name in names for path in _list_opt(function, name)),
    }


def _list_opt(function: LocalFunction, name: str) -> list[str]:
    return [f"{layer}/{name}" for layer in function.opt]


def _list_python_paths(function: LocalFunction) -> list[str]:
    version = re.sub(r"^python$", "python3.12", function.runtime)
    names = (f"python/lib/{version}/site-packages", "python")
    return [f"{layer}/{name}" for layer in function.opt for name in names]


def _build_lambda_variables(function: LocalFunction, folder: ChildFolder) -> dict[str, str]:
    """Build the Lambda variables with known values; none is invented."""
    caller = function.caller
    memory, region = str(caller.memory or ""), caller.region
    known = {
        "AWS_LAMBDA_FUNCTION_NAME": function.name,
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": memory,
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "LAMBDA_TASK_ROOT": str(folder.code),
        "_HANDLER": function.handler,
    }
    return {name: value for name, value in known.items() if value}


def build_harness_settings(function: LocalFunction, folder: ChildFolder) -> dict[str, object]:
    """Build the description of the function that the harness receives.

    `call.mjs` and `handler_settings.py` read it.
    """
    module, _, name = function.handler.rpartition(".")
    caller = function.caller
    return {
        "folder": str(folder.code),
        "module": module,
        "name": name,
        "functionName": function.name,
        "seconds": function.timeout,
        "brought": [
            *_list_python_paths(function),
            *([str(folder.brought)] if function.brought else []),
        ],
        "convention": caller.calls.convention,
        "names": caller.calls.names,
        "methods": caller.calls.methods,
        "kinds": caller.kinds,
        "path": caller.path,
        "host": caller.host,
        "schedule": caller.schedule,
        "memory": caller.memory,
        "region": caller.region,
        "resource": caller.resource,
        "streams": caller.is_lambda,
        "variables": [name for name, _ in function.env.reveal()],
    }
