"""Runtimes without built-in builds: a preset or a command makes their archives."""

import re
from enum import StrEnum

# The file that a custom runtime starts, and its handler.
BOOTSTRAP = "bootstrap"
_COMMAND_RUNTIME = re.compile(r"provided\.|java|dotnet")


class PresetName(StrEnum):
    """The presets of build commands. `fabric.model.build_presets` describes them."""

    GO = "go"
    RUST = "rust"
    JAVA = "java"
    BUN = "bun"
    DENO = "deno"
    DOTNET = "dotnet"


# The managed runtimes that a preset can build for. All presets build for custom runtimes.
_MANAGED = {PresetName.JAVA: "java", PresetName.DOTNET: "dotnet"}


def is_command_runtime(runtime: str) -> bool:
    """Return whether only a command can make the archives of a runtime."""
    return _COMMAND_RUNTIME.match(runtime) is not None


def is_custom_runtime(runtime: str) -> bool:
    """Return whether the archive contains the program itself, as `bootstrap`."""
    return runtime.startswith("provided.")


def can_build(preset: str, runtime: str) -> bool:
    """Return whether a preset makes archives for a runtime."""
    managed = _MANAGED.get(PresetName(preset))
    return is_custom_runtime(runtime) or (managed is not None and runtime.startswith(managed))
