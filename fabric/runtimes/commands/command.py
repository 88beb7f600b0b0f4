"""`build.command`: a custom build, which writes a function's files to FABRIC_OUT_DIR.

Its inputs are unknown, so all files of the service count, except ignored ones. Its environment is
part of the cache key (`PATH`, `HOME`) or is the same everywhere.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fabric.model.builds.command_runtimes import BOOTSTRAP, is_command_runtime, is_custom_runtime
from fabric.model.problems import Problem
from fabric.model.task import Pairs
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.commands.build_caches import FOLDER, VERSIONS, open_caches
from fabric.runtimes.commands.build_tools import BuildTools
from fabric.runtimes.commands.command_inputs import (
    hash_files,
    list_named_files,
    record_locks,
    record_patterns,
    record_service,
)
from fabric.runtimes.commands.config_commands import ConfigCommand, run_config_command
from fabric.runtimes.commands.depfile import ListedInputs, read_depfile
from fabric.runtimes.contract import Built, BuiltFile, InputTrace, Toolchain
from fabric.runtimes.entry import EntryFile
from fabric.runtimes.globs import NOTHING_PRUNED, is_match, list_files
from fabric.runtimes.include import read_ignore_rules
from fabric.runtimes.recorded_inputs import merge
from fabric.system.files.disk import is_executable, read_bytes
from fabric.system.files.owned_folder import create_temporary_folder

if TYPE_CHECKING:
    from fabric.model.builds.build_presets import Preset, PresetInputs

# Raise when the surroundings of a command change.
_VERSION = "command 2"
_FROM_PARENT = ("PATH", "HOME")
_NETWORK = (
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO"),
)
LOCALE = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
_NAMED = 3
_BUNDLES = ("index.js", "index.mjs", "index.cjs")


def identify_machine(parent: Mapping[str, str]) -> Toolchain:
    """Identify the machine of a command and its inherited environment."""
    return Toolchain(format_identity(), environment=select_inherited(parent))


def build(entry: EntryFile, inputs: BuildInputs, parent: Mapping[str, str], cache: Path) -> Built:
    """Run the command. Its inputs are the files that it lists, or the files before the run, with
    their content at that time. `cache` is the cache directory of the workspace."""
    listed = inputs.depfile
    seen = entry.seen if listed else record_inputs(entry, inputs)
    before = () if listed else hash_files(entry.workspace, seen.files)
    with create_temporary_folder("build") as folder:
        for name in ("out", "tmp", "spare"):
            (folder / name).mkdir()
        with open_caches(cache / FOLDER, inputs.caches, folder / "spare") as caches:
            env = {**_build_environment(inputs, folder, parent), **caches}
            run_config_command(_describe(inputs), Path(entry.root), env)
            files = tuple(_mark_bootstrap(inputs, collect_files(str(folder / "out"))))
            if listed:
                left_out = (str(folder), *caches.values())
                seen = merge(seen, _record_listed(entry, inputs, folder / "depfile", left_out))
    _require_outputs(inputs, files)
    return Built(
        files,
        seen,
        handler=_choose_handler(entry, inputs, files),
        toolchain=_identify_tools_again(entry.root, inputs, parent, cache),
        before=before,
    )


def record_inputs(entry: EntryFile, inputs: BuildInputs) -> InputTrace:
    """Record the inputs before a run: those of `inputs`, otherwise all files of the service."""
    base, root = entry.workspace, entry.root
    preset = _find_preset_inputs(inputs)
    ignore = read_ignore_rules(base, root, (*preset.ignore, *inputs.ignore))
    if not (inputs.inputs or preset.patterns):
        return merge(entry.seen, ignore.seen, record_service(base, root, ignore.rules))
    scripts = tuple(list_named_files(root, inputs.command))
    patterns = (*(inputs.inputs or preset.patterns), *scripts)
    found = record_patterns(base, root, patterns, ignore.rules)
    listed = ListedInputs(base=base, root=root, left_out=(), project_files=preset.project_files)
    return merge(entry.seen, ignore.seen, found, listed.record(()), record_locks(base, root))


def _record_listed(
    entry: EntryFile, inputs: BuildInputs, depfile: Path, left_out: tuple[str, ...]
) -> InputTrace:
    """Record the inputs that the command listed, and the matches of `inputs`."""
    try:
        listed = read_depfile(depfile)
    except FileNotFoundError:
        hint = "write the files that it read to $FABRIC_DEPFILE, or set `build.depfile: false`"
        raise _describe(inputs).failure("did not write $FABRIC_DEPFILE", hint=hint) from None
    if not listed:
        hint = "write rules such as `bootstrap: src/main.c`, or set `build.depfile: false`"
        raise _describe(inputs).failure("listed no file in $FABRIC_DEPFILE", hint=hint)
    base, root = entry.workspace, entry.root
    preset = _find_preset_inputs(inputs)
    rules = ListedInputs(
        base=base,
        root=root,
        left_out=left_out,
        project_files=preset.project_files,
        extensions=preset.extensions,
        ignore=preset.ignore,
    )
    patterns = (*inputs.inputs, *list_named_files(root, inputs.command))
    return merge(rules.record(listed), record_patterns(base, root, patterns, inputs.ignore))


def _find_preset_inputs(inputs: BuildInputs) -> "PresetInputs":
    from fabric.model.builds.build_presets import NO_INPUTS

    preset = _find_preset(inputs)
    return preset.inputs if preset else NO_INPUTS


def has_path_entry(inputs: BuildInputs) -> bool:
    """Return whether the entry must be a path. It can also be the handler of a managed runtime, or
    the name of a program."""
    preset = _find_preset(inputs)
    is_named = preset is not None and preset.has_named_programs
    return is_custom_runtime(inputs.runtime) and not is_named


def _find_preset(inputs: BuildInputs) -> "Preset | None":
    from fabric.model.builds.build_presets import PRESETS  # few functions have one

    return PRESETS[inputs.preset] if inputs.preset else None


def identify_tools(
    root: str, inputs: BuildInputs, parent: Mapping[str, str], cache: Path
) -> Toolchain:
    """Identify the machine of a command, its inherited environment and its tools."""
    machine = identify_machine(parent)
    if not inputs.tools:
        return machine
    tools = open_tools(root, inputs, parent, cache)
    text = tools.describe(inputs.tools)
    watch = tools.list_deciding_files(inputs.tools)
    return replace(
        machine,
        identity=f"{machine.identity}; {text}",
        watch=watch,
        can_change=not all(map(tools.can_remember, inputs.tools)),
    )


def _identify_tools_again(
    root: str, inputs: BuildInputs, parent: Mapping[str, str], cache: Path
) -> str:
    """Identify the tools after a build, to notice a replaced tool. Tools that are not remembered
    run only once in a run and are not compared."""
    tools = open_tools(root, inputs, parent, cache)
    is_remembered = all(map(tools.can_remember, inputs.tools))
    return identify_tools(root, inputs, parent, cache).identity if is_remembered else ""


def open_tools(
    root: str, inputs: BuildInputs, parent: Mapping[str, str], cache: Path
) -> BuildTools:
    """Open the tools of a function, with the environment of its command."""
    preset = _find_preset(inputs)
    return BuildTools(
        function=inputs.function,
        root=root,
        env={
            **dict(select_inherited(parent)),
            **select_network_settings(parent),
            **LOCALE,
            **dict(inputs.env),
        },
        memory=cache / FOLDER / VERSIONS,
        install=preset.install if preset else "",
        own=preset.tools if preset else (),
    )


def format_identity() -> str:
    machine = os.uname()
    return f"{_VERSION} on {machine.sysname.lower()} {machine.machine}"


def select_inherited(parent: Mapping[str, str]) -> Pairs:
    return tuple((name, parent[name]) for name in _FROM_PARENT if name in parent)


def select_network_settings(parent: Mapping[str, str]) -> dict[str, str]:
    """Select the variables that decide how, and not what, a command downloads. Keys do not contain
    them."""
    names = (*_NETWORK, *(one.lower() for one in _NETWORK if one.endswith("_PROXY")))
    return {name: parent[name] for name in names if name in parent}


def _build_environment(
    inputs: BuildInputs, folder: Path, parent: Mapping[str, str]
) -> dict[str, str]:
    depfile = {"FABRIC_DEPFILE": str(folder / "depfile")} if inputs.depfile else {}
    target = {"FABRIC_ARCHITECTURE": inputs.architecture} if inputs.architecture else {}
    return {
        **dict(select_inherited(parent)),
        **select_network_settings(parent),
        **LOCALE,
        "TMPDIR": str(folder / "tmp"),
        **dict(inputs.env),
        "FABRIC_FUNCTION": inputs.function,
        "FABRIC_SERVICE": inputs.service,
        "FABRIC_ENTRY": inputs.entry,
        "FABRIC_RUNTIME": inputs.runtime,
        "FABRIC_OUT_DIR": str(folder / "out"),
        **target,
        **depfile,
    }


def _describe(inputs: BuildInputs) -> ConfigCommand:
    preset = _find_preset(inputs)
    is_preset = preset is not None and inputs.command == preset.command
    return ConfigCommand(
        failed=Problem(
            "build/failed",
            f"function `{inputs.function}`",
            hint="fix the errors above: the tools printed them"
            if is_preset
            else "check the command: it runs in the service directory and must write to "
            "$FABRIC_OUT_DIR",
        ),
        command=inputs.command,
        timeout_hint="run long parts as a step of `build.before`, which has a `timeout`",
        noun="the build command",
        title=f"the build with preset `{inputs.preset}`" if is_preset else "",
    )


def _require_outputs(inputs: BuildInputs, files: tuple[BuiltFile, ...]) -> None:
    if not files:
        raise _describe(inputs).failure("wrote no file to FABRIC_OUT_DIR")
    start = (BOOTSTRAP,) if is_custom_runtime(inputs.runtime) else ()
    names = [one.path for one in files]
    for pattern in (*inputs.outputs, *start):
        if not any(is_match(pattern, name) for name in names):
            what = f"did not write `{pattern}` to $FABRIC_OUT_DIR"
            wrote = f"{', '.join(names[:_NAMED])}{' and more' * (len(names) > _NAMED)}"
            hint = f"check `build.outputs`: the command wrote {wrote}"
            if pattern == BOOTSTRAP:
                hint = f"write the program of runtime `{inputs.runtime}` there, not to {wrote}"
            raise _describe(inputs).failure(what, hint=hint)


def collect_files(folder: str, pattern: str = "**") -> list[BuiltFile]:
    names = list_files(folder, pattern, (NOTHING_PRUNED,))
    paths = ((os.path.join(folder, name), name) for name in names)
    return [BuiltFile(name, read_bytes(path), is_executable(path)) for path, name in paths]


def _mark_bootstrap(inputs: BuildInputs, files: list[BuiltFile]) -> Iterator[BuiltFile]:
    """Make the start file of a custom runtime executable, because it does not start otherwise."""
    for one in files:
        is_start = is_custom_runtime(inputs.runtime) and one.path == BOOTSTRAP
        yield replace(one, executable=True) if is_start else one


def _choose_handler(entry: EntryFile, inputs: BuildInputs, files: tuple[BuiltFile, ...]) -> str:
    if is_custom_runtime(inputs.runtime):
        return BOOTSTRAP
    if is_command_runtime(inputs.runtime):
        return inputs.entry
    bundled = any(file.path in _BUNDLES for file in files)
    return f"{'index' if bundled else entry.module}.{entry.export or 'handler'}"
