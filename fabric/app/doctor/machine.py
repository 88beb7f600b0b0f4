"""Requirements of this machine: runtime tools, a cache and free disk space."""

from collections.abc import Callable, Iterator
from pathlib import Path

from fabric.app.cache_place import looked_at
from fabric.app.project.files import EnvPlace
from fabric.app.settings import Settings
from fabric.app.toolchains import toolchain_of
from fabric.graph.service_unit import ServiceUnit
from fabric.manifest import VERSION
from fabric.model.checks import Check, failed, passed, warned
from fabric.model.distribution import DISTRIBUTION
from fabric.model.problems import FabricError, Problem
from fabric.runtimes.versions import bundler_version, node_version, pip_version, python_version
from fabric.system.file_systems import can_write, free_bytes, is_network, is_private
from fabric.system.mixed_installation import mixed_installation
from fabric.views.words import size

_LOW = 1 << 30
_TOO_LOW = 50 << 20


def runtime_checks(unit: ServiceUnit, place: EnvPlace, settings: Settings) -> Iterator[Check]:
    """Check the build and run tools for each language of the service."""
    folder, env = place.folder, settings.env
    runtimes = {one.runtime or unit.config.provider.runtime for one in unit.config.functions}
    if any(one.startswith("nodejs") for one in runtimes):
        yield _tried("node", lambda: node_version(env))
        with toolchain_of(settings) as tools:
            found = bundler_version(folder, tools, env)
        yield passed("bundler", found) if found else warned("bundler", _NO_BUNDLER)
    if any(one.startswith("python") for one in runtimes):
        yield passed("python", python_version())
        pip = _tried("pip", lambda: pip_version(env))
        yield (
            pip if any(one.text for one in unit.packages) or pip.ok else warned("pip", pip.problem)
        )


_NO_BUNDLER = Problem(
    "runtime/bundler-missing",
    "esbuild and npm not found: TypeScript cannot be built",
    hint="add `esbuild` to the project's devDependencies, or install npm",
)


def _tried(name: str, look: Callable[[], str]) -> Check:
    try:
        return passed(name, look())
    except FabricError as error:
        return failed(name, error.first)


def installation_check() -> Check:
    problem = mixed_installation()
    if problem is None:
        return passed("installation", f"{DISTRIBUTION} {VERSION}")
    return warned("installation", problem)


def cache_checks(folder: Path, settings: Settings) -> Iterator[Check]:
    strange = looked_at(folder, settings).problem if folder.exists() else None
    if strange:
        yield failed("cache", strange)
    elif not can_write(folder):
        yield failed("cache", _not_writable(folder))
    elif not is_private(folder):
        yield warned("cache", _not_private(folder))
    else:
        yield passed("cache", f"`{folder}` is writable by its owner only")
    if is_network(folder):
        yield warned("cache-place", _on_network(folder))
    else:
        yield passed("cache-place", "the cache is on a local file system")


def _not_writable(folder: Path) -> Problem:
    return Problem(
        "cache/not-writable",
        f"cannot write `{folder}`",
        hint="check its owner and mode, or set FABRIC_CACHE_DIR to another directory",
    )


def _not_private(folder: Path) -> Problem:
    return Problem(
        "cache/not-private", f"other users can read `{folder}`", hint=f"run: chmod 700 {folder}"
    )


def _on_network(folder: Path) -> Problem:
    return Problem(
        "cache/network",
        f"the cache `{folder}` is on a network file system, which is slow",
        hint="set FABRIC_CACHE_DIR to a local directory",
    )


def disk_checks(folder: Path) -> Iterator[Check]:
    free = free_bytes(folder)
    if free >= _LOW:
        yield passed("disk", f"{size(free)} free")
        return
    problem = Problem(
        "doctor/disk-space",
        f"only {size(free)} free on the disk of `{folder}`",
        hint="free disk space, or run: fabric cache prune --max-size 100M",
    )
    yield failed("disk", problem) if free < _TOO_LOW else warned("disk", problem)
