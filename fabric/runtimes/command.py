"""`build.command`: a custom build, which writes a function's files to FABRIC_OUT_DIR.

Its inputs are unknown, so all files of the service count, except ignored ones. Its environment is
part of the cache key (`PATH`, `HOME`) or is the same everywhere.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec.structs import replace

from fabric.model.build_presets import BOOTSTRAP, is_command_runtime, is_custom_runtime
from fabric.model.hashing import hash_bytes
from fabric.model.problems import FabricError, Problem
from fabric.model.task import EXECUTABLE, UNREADABLE, Pairs
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.contract import Built, BuiltFile, InputTrace, Listing, Toolchain
from fabric.runtimes.entry import EntryFile
from fabric.runtimes.globs import LINKS_FOLLOWED, NOTHING_PRUNED, list_files
from fabric.runtimes.include import read_ignore_rules
from fabric.runtimes.nodejs.toolchain import LOCK_FILES, is_within_workspace, list_upwards
from fabric.runtimes.nodejs.tsconfig import list_ancestors
from fabric.runtimes.recorded_inputs import Probe, merge, place, record_tried
from fabric.system.disk import is_executable, read_bytes
from fabric.system.owned_folder import create_temporary_folder
from fabric.system.process import run_child

# Raise when the surroundings of a command change.
_VERSION = "command 2"
_FROM_PARENT = ("PATH", "HOME")
LOCALE = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
_BUNDLES = ("index.js", "index.mjs", "index.cjs")
# Where tools that run in a build keep what they can make again.
_TOOL_CACHES = (".cache/", ".vite/")


def identify_machine(parent: Mapping[str, str]) -> Toolchain:
    """Identify the machine of a command and its inherited environment."""
    return Toolchain(format_identity(), environment=select_inherited(parent))


def build(entry: EntryFile, inputs: BuildInputs, parent: Mapping[str, str]) -> Built:
    """Run the command. Its inputs are the files before the run, with their content at that time."""
    seen = record_inputs(entry, inputs)
    before = hash_files(entry.workspace, seen.files)
    with create_temporary_folder("build") as folder:
        out, temporary = folder / "out", folder / "tmp"
        out.mkdir()
        temporary.mkdir()
        _run(entry, inputs, _build_environment(inputs, out, temporary, parent))
        files = tuple(_mark_bootstrap(inputs, collect_files(str(out))))
    if not files:
        raise _failure_error(inputs, "wrote no file to FABRIC_OUT_DIR", "")
    return Built(
        files,
        seen,
        handler=_choose_handler(entry, inputs, files),
        toolchain=format_identity(),
        before=before,
    )


def record_inputs(entry: EntryFile, inputs: BuildInputs) -> InputTrace:
    ignore = read_ignore_rules(entry.workspace, entry.root, inputs.ignore)
    return merge(entry.seen, ignore.seen, record_service(entry.workspace, entry.root, ignore.rules))


def format_identity() -> str:
    machine = os.uname()
    return f"{_VERSION} on {machine.sysname.lower()} {machine.machine}"


def select_inherited(parent: Mapping[str, str]) -> Pairs:
    return tuple((name, parent[name]) for name in _FROM_PARENT if name in parent)


def _build_environment(
    inputs: BuildInputs, out: Path, temporary: Path, parent: Mapping[str, str]
) -> dict[str, str]:
    return {
        **dict(select_inherited(parent)),
        **LOCALE,
        "TMPDIR": str(temporary),
        **dict(inputs.env),
        "FABRIC_FUNCTION": inputs.function,
        "FABRIC_SERVICE": inputs.service,
        "FABRIC_ENTRY": inputs.entry,
        "FABRIC_RUNTIME": inputs.runtime,
        "FABRIC_OUT_DIR": str(out),
    }


def _run(entry: EntryFile, inputs: BuildInputs, env: Mapping[str, str]) -> None:
    result = run_child(inputs.command, cwd=Path(entry.root), env=env)
    if result.code:
        raise _failure_error(inputs, f"exited with code {result.code}", result.last_lines())


def _failure_error(inputs: BuildInputs, what: str, output: str) -> FabricError:
    command = " ".join(inputs.command)
    return FabricError(
        Problem(
            "build/failed",
            f"function `{inputs.function}`: the build command `{command}` {what}",
            hint="check the command: it runs in the service directory and must write to "
            "$FABRIC_OUT_DIR",
            frame=output,
        )
    )


def record_service(workspace: str, root: str, rules: tuple[str, ...]) -> InputTrace:
    """Record all files of the service, including linked directories, and the markers of installed
    packages."""
    service = record_below(workspace, root, "**", (LINKS_FOLLOWED, *rules))
    unlocked = (
        record_below(workspace, folder, "**", (NOTHING_PRUNED, LINKS_FOLLOWED, *_TOOL_CACHES))
        for folder in _list_unlocked_folders(workspace, root)
    )
    return merge(record_locks(workspace, root), service, *unlocked)


def record_locks(workspace: str, root: str) -> InputTrace:
    """Record the lock files, which stand for installed packages."""
    probe = Probe(workspace)
    return record_tried(workspace, list_upwards(workspace, root, LOCK_FILES, probe), probe)


def _list_unlocked_folders(workspace: str, root: str) -> Iterator[str]:
    """Yield package directories without a lock file, whether they exist or not."""
    for folder in list_ancestors(root):
        inside = is_within_workspace(workspace, folder)
        covers = [
            one
            for one in list_ancestors(folder)
            if not inside or is_within_workspace(workspace, one)
        ]
        modules = os.path.join(folder, "node_modules")
        is_locked = any(os.path.isfile(f"{one}/{name}") for one in covers for name in LOCK_FILES)
        if not is_locked and (inside or os.path.isdir(modules)):
            yield modules


def record_below(workspace: str, folder: str, pattern: str, rules: tuple[str, ...]) -> InputTrace:
    names = list_files(folder, pattern, rules)
    listing = Listing(place(workspace, folder), pattern, names, rules)
    paths = [os.path.join(folder, name.rstrip("/")) for name in names]
    return merge(record_tried(workspace, paths), InputTrace(listings=(listing,)))


def hash_files(workspace: str, paths: tuple[str, ...]) -> Pairs:
    """Hash files like the file index does."""
    return tuple((path, _hash_file(os.path.join(workspace, path))) for path in paths)


def _hash_file(path: str) -> str:
    try:
        return hash_bytes(read_bytes(path)) + (EXECUTABLE if is_executable(path) else "")
    except OSError:
        return UNREADABLE


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
