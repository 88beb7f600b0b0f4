"""Requirements of this machine: runtime tools, a cache and free disk space."""

from collections.abc import Callable, Iterator
from pathlib import Path

from fabric.app.caching.cache_place import inspect_cache
from fabric.app.caching.toolchains import open_toolchain
from fabric.app.project.files import EnvPlace
from fabric.app.settings import Settings
from fabric.graph.service_unit import ServiceUnit
from fabric.manifest import VERSION
from fabric.model.checks import Check, make_failed_check, make_passed_check, make_warning_check
from fabric.model.distribution import DISTRIBUTION
from fabric.model.problems import FabricError, Problem
from fabric.runtimes.versions import (
    find_bundler_version,
    format_python_version,
    read_node_version,
    read_pip_version,
)
from fabric.system.file_systems import free_bytes, is_network, is_private, is_writable
from fabric.system.mixed_installation import find_mixed_installation
from fabric.views.messages import format_size

_LOW = 1 << 30
_TOO_LOW = 50 << 20


def check_runtimes(unit: ServiceUnit, place: EnvPlace, settings: Settings) -> Iterator[Check]:
    """Check the build and run tools for each language of the service."""
    folder, env = place.folder, settings.env
    runtimes = {one.runtime or unit.config.provider.runtime for one in unit.config.functions}
    if any(one.startswith("nodejs") for one in runtimes):
        yield _run_check("node", lambda: read_node_version(env))
        with open_toolchain(settings) as tools:
            found = find_bundler_version(folder, tools, env)
        yield (
            make_passed_check("bundler", found)
            if found
            else make_warning_check("bundler", _NO_BUNDLER)
        )
    if any(one.startswith("python") for one in runtimes):
        yield make_passed_check("python", format_python_version())
        pip = _run_check("pip", lambda: read_pip_version(env))
        yield (
            pip
            if any(one.text for one in unit.packages) or pip.ok
            else make_warning_check("pip", pip.problem)
        )


_NO_BUNDLER = Problem(
    "runtime/bundler-missing",
    "esbuild and npm not found: TypeScript cannot be built",
    hint="add `esbuild` to the project's devDependencies, or install npm",
)


def _run_check(name: str, look: Callable[[], str]) -> Check:
    try:
        return make_passed_check(name, look())
    except FabricError as error:
        return make_failed_check(name, error.first)


def check_installation() -> Check:
    problem = find_mixed_installation()
    if problem is None:
        return make_passed_check("installation", f"{DISTRIBUTION} {VERSION}")
    return make_warning_check("installation", problem)


def cache_checks(folder: Path, settings: Settings) -> Iterator[Check]:
    strange = inspect_cache(folder, settings).problem if folder.exists() else None
    if strange:
        yield make_failed_check("cache", strange)
    elif not is_writable(folder):
        yield make_failed_check("cache", _not_writable_problem(folder))
    elif not is_private(folder):
        yield make_warning_check("cache", _not_private_problem(folder))
    else:
        yield make_passed_check("cache", f"`{folder}` is writable by its owner only")
    if is_network(folder):
        yield make_warning_check("cache-place", _network_folder_problem(folder))
    else:
        yield make_passed_check("cache-place", "the cache is on a local file system")


def _not_writable_problem(folder: Path) -> Problem:
    return Problem(
        "cache/not-writable",
        f"cannot write `{folder}`",
        hint="check its owner and mode, or set FABRIC_CACHE_DIR to another directory",
    )


def _not_private_problem(folder: Path) -> Problem:
    return Problem(
        "cache/not-private", f"other users can read `{folder}`", hint=f"run: chmod 700 {folder}"
    )


def _network_folder_problem(folder: Path) -> Problem:
    return Problem(
        "cache/network",
        f"the cache `{folder}` is on a network file system, which is slow",
        hint="set FABRIC_CACHE_DIR to a local directory",
    )


def check_disk(folder: Path) -> Iterator[Check]:
    free = free_bytes(folder)
    if free >= _LOW:
        yield make_passed_check("disk", f"{format_size(free)} free")
        return
    problem = Problem(
        "doctor/disk-space",
        f"only {format_size(free)} free on the disk of `{folder}`",
        hint="free disk space, or run: fabric cache prune --max-size 100M",
    )
    yield (
        make_failed_check("disk", problem)
        if free < _TOO_LOW
        else make_warning_check("disk", problem)
    )
