"""Runtimes without built-in builds: a preset or a command makes their archives."""

import re
from enum import StrEnum

# The file that a custom runtime starts, and its handler.
BOOTSTRAP = "bootstrap"
_COMMAND_RUNTIME = re.compile(r"provided\.|java|dotnet|ruby[0-9]")


class PresetName(StrEnum):
    """The presets of build commands. `fabric.model.builds.build_presets` describes them."""

    GO = "go"
    RUST = "rust"
    JAVA = "java"
    BUN = "bun"
    DENO = "deno"
    DOTNET = "dotnet"
    RUBY = "ruby"


# The managed runtimes that a preset can build for. Presets of compilers build for custom runtimes.
_MANAGED = {PresetName.JAVA: "java", PresetName.DOTNET: "dotnet", PresetName.RUBY: "ruby"}
_ONLY_MANAGED = (PresetName.RUBY,)


def is_command_runtime(runtime: str) -> bool:
    """Return whether only a command can make the archives of a runtime."""
    return _COMMAND_RUNTIME.match(runtime) is not None


def is_custom_runtime(runtime: str) -> bool:
    """Return whether the archive contains the program itself, as `bootstrap`."""
    return runtime.startswith("provided.")


def can_build(preset: str, runtime: str) -> bool:
    """Return whether a preset makes archives for a runtime."""
    name = PresetName(preset)
    managed = _MANAGED.get(name)
    is_custom = is_custom_runtime(runtime) and name not in _ONLY_MANAGED
    return is_custom or (managed is not None and runtime.startswith(managed))


def has_file_handler(runtime: str) -> bool:
    """Return whether the handler of a runtime names a file, such as `src/words.handle`."""
    return is_custom_runtime(runtime) or runtime.startswith("ruby")
