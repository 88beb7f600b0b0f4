"""Third-party packages of Python functions: from a lock to files, for the target's platform."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from fabric.model.builds.python_target import OptionalDependencies, PythonTarget
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.secrets.secrecy import redact_userinfo
from fabric.model.task_inputs import VendorInputs
from fabric.runtimes.archive import find_metadata
from fabric.runtimes.contract import Built, BuiltFile, InputTrace
from fabric.runtimes.packages.git_sources import list_git_sources
from fabric.runtimes.packages.locks.checkout import copy_packages
from fabric.runtimes.packages.package_tool import PackageTool
from fabric.runtimes.packages.requirement_files import PackageRequest, VendorSource, read_source
from fabric.runtimes.packages.requirements import (
    Pin,
    is_locked,
    is_own_lock,
    is_pinned,
    is_target_missing,
    list_required_names,
    list_requirement_lines,
    list_target_lines,
    lock_name,
    normalize_package_name,
    remove_git_lines,
    render_lock,
)
from fabric.runtimes.packages.wheels import (
    list_unmet_dependencies,
    list_wheel_files,
    read_wheel_name,
)
from fabric.runtimes.recorded_inputs import merge
from fabric.system.files.disk import write_atomic
from fabric.system.files.owned_folder import create_temporary_folder

_MACHINES = ("x86_64", "aarch64")

Resolved = Sequence[tuple[PythonTarget, tuple[Pin, ...]]]


def _with_passwords(workspace: Path, inputs: VendorInputs) -> str:
    """Return the requirements unredacted, only for pip."""
    found = read_source(workspace, inputs.root, _build_request(inputs, _build_target(inputs)))
    if redact_userinfo(found.text) != inputs.source:
        return inputs.source
    return "\n".join([*found.where.reveal(), found.text])


def vendor(
    workspace: Path,
    inputs: VendorInputs,
    environment: Mapping[str, str],
    metadata: Sequence[bytes] = (),
) -> Built:
    """Return the packages' files. Unpinned requirements are locked first, in a lock beside them.
    `metadata` is the METADATA of wheels from repositories, which are built before."""
    tool = PackageTool(environment)
    if inputs.folders:
        return _add_checkout(workspace, inputs, tool, metadata)
    if not _is_lock_needed(inputs):
        return _download_packages(workspace, inputs, tool, metadata)
    written = _write_lock(workspace, (inputs,), tool)
    locked = replace(inputs, source=written.text)
    built = _download_packages(workspace, locked, tool, metadata)
    return Built(
        built.files,
        merge(built.seen, written.seen),
        (_new_lock_warning(written, [inputs]), *built.warnings),
    )


def _add_checkout(
    workspace: Path, inputs: VendorInputs, tool: PackageTool, metadata: Sequence[bytes]
) -> Built:
    """Return the modules of packages in the checkout, and the wheels of all others."""
    copied = copy_packages(workspace, inputs.folders)
    if not inputs.source:
        return copied
    fetched = _download_packages(workspace, inputs, tool, metadata)
    files = {file.path: file for file in (*fetched.files, *copied.files)}
    return Built(_sort_files(files), merge(copied.seen, fetched.seen), fetched.warnings)


def lock_requirements(
    workspace: Path, asked: Sequence[VendorInputs], environment: Mapping[str, str]
) -> tuple[Problem, ...]:
    """Pin unpinned requirements in a lock beside them, and return the warnings about it."""
    groups: dict[tuple[object, ...], list[VendorInputs]] = {}
    for inputs in asked:
        name = inputs.root, inputs.source, inputs.optional
        groups.setdefault(name, []).append(inputs)
    tool = PackageTool(environment)
    return tuple(
        _new_lock_warning(_write_lock(workspace, group, tool), group)
        for group in groups.values()
        if any(map(_is_lock_needed, group))
    )


def _is_lock_needed(inputs: VendorInputs) -> bool:
    """Return whether versions are missing, or were chosen for other targets only."""
    if not is_pinned(inputs.source):
        return True
    return is_target_missing(inputs.source, _build_target(inputs).title)


def _name_lock(inputs: VendorInputs) -> str:
    return lock_name(inputs.without, OptionalDependencies.of(inputs.optional))


def _build_request(inputs: VendorInputs, target: PythonTarget | None = None) -> PackageRequest:
    return PackageRequest(
        brought=inputs.without, target=target, optional=OptionalDependencies.of(inputs.optional)
    )


def _build_target(inputs: VendorInputs) -> PythonTarget:
    return PythonTarget(inputs.python, inputs.platform, inputs.glibc)


def _download_packages(
    workspace: Path, inputs: VendorInputs, tool: PackageTool, known: Sequence[bytes]
) -> Built:
    text = _with_passwords(workspace, inputs)
    wheels = _download_wheels(text, inputs, tool)
    parts = wheels.values()
    files = {file.path: file for part in parts for file in part}
    unlisted = sorted({read_wheel_name(one) for one in wheels} - list_required_names(text))
    metadata = [*known, *(found.content for found in map(find_metadata, parts) if found)]
    lacking = _find_missing_packages(inputs, metadata) if is_locked(text) else ()
    return Built(_sort_files(files), InputTrace(), (*_warn_unlisted(unlisted), *lacking))


def _download_wheels(
    text: str, inputs: VendorInputs, tool: PackageTool
) -> dict[str, tuple[BuiltFile, ...]]:
    """Download the wheels of the requirements, and return the files of each by its title."""
    locked, text = is_locked(text), remove_git_lines(text)
    if not list_requirement_lines(text):
        return {}
    with create_temporary_folder("vendor") as folder:
        wheels = tool.download(text, _build_target(inputs), folder, locked=locked)
        return {wheel.title: tuple(list_wheel_files(wheel)) for wheel in wheels}


def download_wheels(
    workspace: Path, inputs: VendorInputs, environment: Mapping[str, str]
) -> tuple[tuple[BuiltFile, ...], ...]:
    """Return the files of each package of a lock, for layers with some of them."""
    text = _with_passwords(workspace, inputs)
    return tuple(_download_wheels(text, inputs, PackageTool(environment)).values())


def complete_wheels(workspace: Path, inputs: VendorInputs, metadata: Sequence[bytes]) -> Built:
    """Return the packages of a lock that are in the checkout, and warnings about its wheels."""
    lacking = _find_missing_packages(inputs, metadata)
    if not inputs.folders:
        return Built((), InputTrace(), lacking)
    return replace(copy_packages(workspace, inputs.folders), warnings=lacking)


def _find_missing_packages(inputs: VendorInputs, metadata: Sequence[bytes]) -> tuple[Problem, ...]:
    """Find packages missing in a lock: it is used unchanged, so the archive lacks them. A lock of
    fabric is rejected."""
    target, copied = _build_target(inputs), dict(inputs.folders)
    unmet = list_unmet_dependencies(metadata, inputs.source, target.markers())
    missing = [one for one in unmet if one[0] not in copied]
    if not missing:
        return ()
    is_own = any(map(is_own_lock, inputs.source.splitlines()))
    problem = _incomplete_lock_problem(target, missing)
    if is_own:
        hint = f"delete {_name_lock(inputs)} to lock again"
        raise FabricError(replace(problem, hint=hint))
    return (problem,)


def _incomplete_lock_problem(target: PythonTarget, missing: Sequence[tuple[str, str]]) -> Problem:
    names = ", ".join(f"`{name}` (for `{owner}`)" for name, owner in missing)
    where = f"Python {target.python} on Linux ({target.machine})"
    return Problem(
        "vendor/incomplete",
        f"the lock file lacks dependencies of its packages for {where}: {names}",
        hint="add them to the lock file with a version, unless another source provides them",
    )


def _sort_files(files: dict[str, BuiltFile]) -> tuple[BuiltFile, ...]:
    return tuple(files[path] for path in sorted(files))


def _warn_unlisted(names: list[str]) -> tuple[Problem, ...]:
    if not names:
        return ()
    return (
        Problem(
            "vendor/unlisted",
            f"downloaded packages that the requirements do not list: {', '.join(names)}",
            hint="list them with a version, otherwise their versions can change",
        ),
    )


def _write_lock(workspace: Path, asked: Sequence[VendorInputs], tool: PackageTool) -> VendorSource:
    """Write a lock. `asked` are the targets of one service, with the same requirements."""
    inputs = asked[0]
    found = read_source(workspace, inputs.root, _build_request(inputs), relock=True)
    name = os.path.basename(found.file)
    sources = list_git_sources(list_requirement_lines(found.text))
    targets = [_build_target(one) for one in asked]
    with create_temporary_folder("vendor") as folder:
        text = _replace_repositories(workspace, found, targets, folder, tool)
        resolved = _resolve_targets(tool, text, targets)
    pins = _join_pins(_remove_repositories(resolved, found.text))
    titles = [target.title for target, _ in resolved]
    text = render_lock(name, found.text, pins, titles, [one.line for one in sources])
    file = os.path.normpath(os.path.join(inputs.root, _name_lock(inputs)))
    write_atomic(Path(os.path.realpath(workspace), file), text.encode())
    return VendorSource(file, text, InputTrace())


def _remove_repositories(resolved: Resolved, text: str) -> Resolved:
    """Remove the pins of packages that a target has from a repository."""
    found = list[tuple[PythonTarget, tuple[Pin, ...]]]()
    for target, pins in resolved:
        built = {one.name for one in list_git_sources(list_target_lines(text, target))}
        kept = tuple(one for one in pins if normalize_package_name(one.name) not in built)
        found.append((target, kept))
    return found


def _replace_repositories(
    workspace: Path,
    found: VendorSource,
    targets: Sequence[PythonTarget],
    folder: Path,
    tool: PackageTool,
) -> str:
    """Return the requirements with a wheel in place of each repository, for its dependencies.
    Repositories for other systems are removed."""
    lines = found.text.splitlines(keepends=True)
    sources = list_git_sources(list_requirement_lines(found.text))
    if not sources:
        return found.text
    from fabric.runtimes.packages.git_wheels import (
        DependencyReader,
        ListedSource,
        read_listing_files,
    )

    texts = read_listing_files(workspace, found.seen.files)
    both = [
        PythonTarget(one.python, machine, one.glibc) for one in targets for machine in _MACHINES
    ]
    reader = DependencyReader(sources=sources, targets=both, folder=folder)
    for number, line in enumerate(lines):
        source = next(iter(list_git_sources(list_requirement_lines(line))), None)
        if source is not None:
            is_needed = any(list_target_lines(line, target) for target in both)
            listed = ListedSource(source, texts)
            lines[number] = reader.write_line(listed, tool.environment) if is_needed else ""
    return "".join(lines)


def _new_lock_warning(lock: VendorSource, asked: Sequence[VendorInputs]) -> Problem:
    why = "the requirements are not pinned"
    if all(is_pinned(one.source) for one in asked):
        targets = ", ".join(sorted({f"Python {one.python} on {one.platform}" for one in asked}))
        why = f"the lock was created for another runtime than {targets}"
    elif all(is_pinned(remove_git_lines(one.source)) for one in asked):
        why = "the dependencies of packages from git are not pinned"
    return Problem(
        "vendor/locked",
        f"{why}: fabric wrote the versions to `{lock.file}`",
        hint=f"run: git add {lock.file}",
        where=Place(lock.file),
    )


def _resolve_targets(tool: PackageTool, text: str, targets: Sequence[PythonTarget]) -> Resolved:
    """Resolve the requirements for each target, and for the other architecture."""
    others = [
        PythonTarget(one.python, machine, one.glibc)
        for one in targets
        for machine in _MACHINES
        if machine not in {other.machine for other in targets if other.python == one.python}
    ]
    found = list[tuple[PythonTarget, tuple[Pin, ...]]]()
    for target in dict.fromkeys(targets):
        found.append((target, _resolve_near(tool, text, target, found)))
    for target in dict.fromkeys(others):
        try:
            found.append((target, _resolve_pinned(tool, text, target, found)))
        except FabricError:
            # Not every package has a wheel for both; the lock then serves those asked for.
            continue
    return found


def _join_pins(resolved: Resolved) -> tuple[Pin, ...]:
    """Join the results to one pin per version, with the hashes of all its wheels and a marker."""
    targets = tuple(target for target, _ in resolved)
    versions: dict[tuple[str, str], list[tuple[PythonTarget, Pin]]] = {}
    for target, pins in resolved:
        for pin in pins:
            versions.setdefault((normalize_package_name(pin.name), pin.version), []).append(
                (target, pin)
            )
    return tuple(_merge_pins(targets, found) for found in versions.values())


def _merge_pins(targets: Sequence[PythonTarget], found: Sequence[tuple[PythonTarget, Pin]]) -> Pin:
    pins = [pin for _, pin in found]
    return replace(
        pins[0],
        hashes=tuple(sorted({digest for pin in pins for digest in pin.hashes})),
        extras=tuple(sorted({extra for pin in pins for extra in pin.extras})),
        marker=_build_marker(targets, [target for target, _ in found]),
    )


def _build_marker(targets: Sequence[PythonTarget], where: Sequence[PythonTarget]) -> str:
    if len(where) == len(targets):
        return ""
    named = [
        name for name in ("python_version", "platform_machine") if _has_differences(targets, name)
    ]
    places = (
        " and ".join(f'{name} == "{target.markers()[name]}"' for name in named) for target in where
    )
    return " or ".join(sorted(places))


def _has_differences(targets: Iterable[PythonTarget], name: str) -> bool:
    return len({target.markers()[name] for target in targets}) > 1


def _resolve_near(
    tool: PackageTool, text: str, target: PythonTarget, found: Resolved
) -> tuple[Pin, ...]:
    """Resolve with the versions of the previous targets, if this target supports them."""
    try:
        return _resolve_pinned(tool, text, target, found)
    except FabricError:
        if not found:
            raise
        return _resolve_pinned(tool, text, target, ())


def _resolve_pinned(
    tool: PackageTool, text: str, target: PythonTarget, found: Resolved
) -> tuple[Pin, ...]:
    exact = {
        normalize_package_name(pin.name): pin.version for _, pins in reversed(found) for pin in pins
    }
    lines = "".join(f"{name}=={version}\n" for name, version in sorted(exact.items()))
    with create_temporary_folder("vendor") as folder:
        return tool.resolve(text, target, folder, lines)
