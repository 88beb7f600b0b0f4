"""Runtimes without built-in builds, and the presets of commands that build their archives."""

import re

# The file that a custom runtime starts, and its handler.
BOOTSTRAP = "bootstrap"
_COMMAND_RUNTIME = re.compile(r"provided\.|java|dotnet")


def is_command_runtime(runtime: str) -> bool:
    """Return whether only a command can make the archives of a runtime."""
    return _COMMAND_RUNTIME.match(runtime) is not None


def is_custom_runtime(runtime: str) -> bool:
    """Return whether the archive contains the program itself, as `bootstrap`."""
    return runtime.startswith("provided.")
