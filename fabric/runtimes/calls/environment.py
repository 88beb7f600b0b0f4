"""The environment of a local process, and the settings that its harness receives."""

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fabric.model.builds.command_runtimes import is_custom_runtime
from fabric.runtimes.calls.folder import ChildFolder
from fabric.runtimes.calls.function import LocalFunction, LocalWorkers

_MAJOR = re.compile(r"nodejs(\d+)")


def build_environment(
    function: LocalFunction, folder: ChildFolder, parent: Mapping[str, str]
) -> dict[str, str]:
    """Build the environment. Of the `parent`'s variables, a handler sees only PATH."""
    facts = function.caller.facts
    # Clients of the Runtime API read them everywhere.
    has_lambda_variables = facts.is_lambda or is_custom_runtime(function.runtime)
    return {
        "PATH": _join_paths([parent.get("PATH", os.defpath)], _list_opt(function, "bin")),
        "LANG": facts.lang,
        "TZ": facts.zone,
        "HOME": str(folder.home),
        "TMPDIR": str(folder.tmp),
        **(_build_lambda_variables(function, folder) if has_lambda_variables else {}),
        **dict(function.env.reveal()),
    }


def _build_lambda_variables(function: LocalFunction, folder: ChildFolder) -> dict[str, str]:
    """Build the Lambda variables with known values; none is invented."""
    caller = function.caller
    is_custom = is_custom_runtime(function.runtime)
    known = {
        "AWS_EXECUTION_ENV": "" if is_custom else f"AWS_Lambda_{function.runtime}",
        "AWS_LAMBDA_FUNCTION_NAME": get_host_name(function),
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(caller.memory or ""),
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{get_host_name(function)}",
        "AWS_LAMBDA_LOG_STREAM_NAME": _new_log_stream(),
        "AWS_REGION": caller.region,
        "AWS_DEFAULT_REGION": caller.region,
        "AWS_XRAY_CONTEXT_MISSING": "LOG_ERROR",
        "LAMBDA_TASK_ROOT": str(folder.code),
        "LD_LIBRARY_PATH": _join_paths(
            [str(folder.code), f"{folder.code}/lib"], _list_opt(function, "lib")
        ),
        "NODE_PATH": _join_paths(_list_node_paths(function, folder)),
        "_HANDLER": function.handler,
    }
    return {name: value for name, value in known.items() if value}


def get_host_name(function: LocalFunction) -> str:
    """Return the name of the function at its provider, which handlers on AWS Lambda see."""
    return (function.caller.facts.is_lambda and function.caller.function_name) or function.name


def _new_log_stream() -> str:
    day = time.strftime("%Y/%m/%d", time.gmtime())
    return f"{day}/[$LATEST]{os.urandom(16).hex()}"


def _list_opt(function: LocalFunction, name: str) -> list[str]:
    return [f"{layer}/{name}" for layer in function.installed.opt]


def _join_paths(*groups: Sequence[str]) -> str:
    return os.pathsep.join(path for group in groups for path in group)


def _list_node_paths(function: LocalFunction, folder: ChildFolder) -> list[str]:
    """List the search path of `require` behind the function's own packages, as AWS has it."""
    major = _MAJOR.match(function.runtime)
    if major is None:
        return []
    names = (f"nodejs/node{major[1]}/node_modules", "nodejs/node_modules")
    layers = [path for name in names for path in _list_opt(function, name)]
    return [*layers, str(folder.brought), str(folder.code)]


def _list_python_paths(function: LocalFunction, folder: ChildFolder) -> Iterator[str]:
    """List the search path between the function's own modules and the standard library."""
    for layer in _list_opt(function, "python"):
        for version in sorted(Path(layer).glob("lib/python*/site-packages")):
            if version.parent.name == function.runtime:
                yield str(version)
        yield layer
    if function.installed.brought:
        yield str(folder.brought)


def build_harness_settings(
    function: LocalFunction, folder: ChildFolder, env: Mapping[str, str]
) -> dict[str, object]:
    """Build the description of the function that the harness receives.

    `call.mjs` and `handler_settings.py` read it.
    """
    module, _, name = function.handler.rpartition(".")
    caller, workers = function.caller, function.caller.calls.workers
    return {
        "folder": str(folder.code),
        "module": module,
        "name": name,
        "functionName": get_host_name(function),
        "seconds": function.timeout,
        "paths": list(_list_python_paths(function, folder)),
        "logStream": env.get("AWS_LAMBDA_LOG_STREAM_NAME", ""),
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
        "streams": caller.facts.is_lambda,
        "variables": [name for name, _ in function.env.reveal()],
        **({"workers": _describe_workers(workers)} if workers else {}),
    }


def _describe_workers(workers: LocalWorkers) -> dict[str, object]:
    return {"file": workers.file, "variables": workers.variables.reveal()}
