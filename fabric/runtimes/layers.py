"""The files of a layer: packages of a lock, a directory, or the output of a command.

Paths are relative to `/opt`, where the provider unpacks layers.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from fabric.model.builds.python_target import PythonTarget
from fabric.model.problems import FabricError, Problem
from fabric.model.task_inputs import BeforeInputs, LayerArchiveInputs, VendorInputs
from fabric.runtimes.archive import PackedFile, find_metadata, pack_file
from fabric.runtimes.commands.before import (
    LAYER_EVENT,
    build_step_variables,
    record_inputs,
    run_command,
)
from fabric.runtimes.commands.command import collect_files
from fabric.runtimes.commands.command_inputs import hash_files
from fabric.runtimes.contract import Built, BuiltFile, InputTrace, Listing
from fabric.runtimes.globs import LINKS_FOLLOWED, NOTHING_PRUNED, list_files
from fabric.runtimes.include import (
    PRIVATE_RULES,
    read_ignore_rules,
    read_named,
    refuse_outside_link,
)
from fabric.runtimes.packages.requirements import normalize_package_name, read_required_name
from fabric.runtimes.packages.wheels import list_with_dependencies, read_package_name
from fabric.runtimes.recorded_inputs import merge, place
from fabric.system.files.owned_folder import create_temporary_folder

Say = Callable[[str], None]


def collect_layer_files(
    workspace: Path, inputs: LayerArchiveInputs, parent: Mapping[str, str], say: Say
) -> Built:
    """Collect the files of a layer that is not made of Python packages."""
    if inputs.command:
        return _run_build(workspace, inputs, parent, say)
    if inputs.path:
        return _read_directory(workspace, inputs)
    from fabric.runtimes.nodejs.layer_packages import collect_node_packages

    return collect_node_packages(workspace, inputs)


def record_layer_inputs(workspace: Path, inputs: LayerArchiveInputs) -> InputTrace:
    """Return the inputs of a layer without running its command."""
    if inputs.command:
        return record_inputs(workspace, _build_step(inputs))
    return collect_layer_files(workspace, inputs, {}, lambda _: None).seen


def _build_step(inputs: LayerArchiveInputs) -> BeforeInputs:
    return BeforeInputs(
        service=inputs.service,
        name=inputs.name,
        root=inputs.root,
        event=LAYER_EVENT,
        command=inputs.command,
        inputs=inputs.inputs,
        ignore=inputs.ignore,
        timeout=inputs.timeout,
    )


def _run_build(
    workspace: Path, inputs: LayerArchiveInputs, parent: Mapping[str, str], say: Say
) -> Built:
    """Run the command. Its inputs are the files before the run, with their content at that time."""
    base, step = os.path.realpath(workspace), _build_step(inputs)
    seen = record_inputs(workspace, step)
    before = hash_files(base, seen.files)
    with create_temporary_folder("layer") as folder:
        out = folder / "out"
        out.mkdir()
        env = {**build_step_variables(step, parent), "FABRIC_OUT_DIR": str(out)}
        root = Path(os.path.realpath(os.path.join(base, inputs.root)))
        say(run_command(step, root, folder, env).last_lines())
        files = tuple(_select_outputs(inputs, str(out)))
    return Built(files, seen, before=before)


def _select_outputs(inputs: LayerArchiveInputs, out: str) -> Iterator[BuiltFile]:
    found: dict[str, BuiltFile] = {}
    for pattern in inputs.outputs or ("**",):
        files = collect_files(out, pattern.removeprefix("./"))
        if not files:
            named = f" that matches `{pattern}`" if inputs.outputs else ""
            message = f"layer `{inputs.name}`: the command wrote no file{named} to FABRIC_OUT_DIR"
            hint = "check the command: it must write the files of the layer to $FABRIC_OUT_DIR"
            raise FabricError(Problem("layer/no-files", message, hint))
        found.update((one.path, one) for one in files)
    yield from (found[path] for path in sorted(found))


def _read_directory(workspace: Path, inputs: LayerArchiveInputs) -> Built:
    base = os.path.realpath(workspace)
    root = os.path.realpath(os.path.join(base, inputs.root))
    folder = os.path.normpath(os.path.join(root, inputs.path))
    if not folder.startswith(f"{base}/"):
        message = f"layer `{inputs.name}`: the path `{inputs.path}` is not in the workspace"
        hint = "copy the directory into the workspace"
        raise FabricError(Problem("layer/path", message, hint))
    ignore = read_ignore_rules(base, root, ())
    rules = (NOTHING_PRUNED, LINKS_FOLLOWED, *PRIVATE_RULES, *ignore.rules)
    names = tuple(name for name in list_files(folder, "**", rules) if not name.endswith("/"))
    if not names:
        message = f"layer `{inputs.name}`: the directory `{inputs.path}` has no files"
        hint = "check `path`: it is relative to the service directory"
        raise FabricError(Problem("layer/no-files", message, hint))
    for name in names:
        refuse_outside_link(base, folder, os.path.join(folder, name), f"layer {inputs.name}")
    listing = Listing(place(base, folder), "**", list_files(folder, "**", rules), rules)
    found = read_named(base, folder, replace(listing, names=names))
    return replace(found, seen=merge(ignore.seen, found.seen, InputTrace(listings=(listing,))))


def select_python_packages(
    inputs: LayerArchiveInputs, wheels: Iterable[Sequence[PackedFile]]
) -> Iterator[PackedFile]:
    """Select the packages of a layer and their dependencies, from all wheels of the lock."""
    described = [
        (found.unpack(), wheel) for wheel in wheels if (found := find_metadata(wheel)) is not None
    ]
    by_name = {read_package_name(metadata): wheel for metadata, wheel in described}
    missing = [name for name in inputs.packages if _normalize(name) not in by_name]
    if missing:
        raise FabricError(*(_missing_package_problem(inputs, name) for name in missing))
    target = PythonTarget(inputs.runtime.removeprefix("python"), inputs.architecture)
    texts = [metadata for metadata, _ in described]
    for name in sorted(list_with_dependencies(texts, inputs.packages, target.markers())):
        yield from (replace(one, path=f"python/{one.path}") for one in by_name[name])


def _normalize(requirement: str) -> str:
    return normalize_package_name(read_required_name(requirement))


def _missing_package_problem(inputs: LayerArchiveInputs, name: str) -> Problem:
    message = f"layer `{inputs.name}`: the requirements of its functions do not contain `{name}`"
    hint = "add it to the requirements, or use the name of a package that they contain"
    return Problem("layer/missing-package", message, hint)


def download_python_packages(
    workspace: Path, inputs: LayerArchiveInputs, parent: Mapping[str, str]
) -> list[tuple[PackedFile, ...]]:
    """Download the wheels of a lock without hashes, which has no wheel tasks."""
    from fabric.runtimes.packages.vendor import download_wheels

    wheels = download_wheels(workspace, VendorInputs(*inputs.lock), parent)
    return [tuple(map(pack_file, wheel)) for wheel in wheels]
