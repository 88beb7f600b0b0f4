"""Packages of this machine that a local call can load besides those in its archive."""

import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from fabric.graph.service_unit import ServiceUnit
from fabric.model.catalog import find_provider_facts
from fabric.model.task import Pairs
from fabric.runtimes.calls.function import InstalledPackages


def find_installed_packages(workspace: Path, unit: ServiceUnit, runtime: str) -> InstalledPackages:
    """Find the packages of the provider's runtime and of the project's environment."""
    folders = _list_project_folders(workspace, unit)
    return InstalledPackages(
        brought=_find_runtime_packages(unit.config.provider.id, runtime, folders),
        project=tuple(map(str, _list_project_packages(folders))),
    )


def _list_project_folders(workspace: Path, unit: ServiceUnit) -> Sequence[Path]:
    """List the service's directory and its parents, only below the workspace: a directory above is
    not part of this project."""
    top = workspace.resolve()
    root = (top / unit.root).resolve()
    return [folder for folder in (root, *root.parents) if folder.is_relative_to(top)]


def _find_runtime_packages(provider_id: str, runtime: str, folders: Sequence[Path]) -> Pairs:
    """Map each import name to its file or directory on this machine."""
    facts = find_provider_facts(provider_id)
    if facts is None:
        return ()
    if runtime.startswith("python"):
        wanted = [module for _, module in facts.platform.python_packages]
        found = (_find_module(folders, name) for name in wanted)
    else:
        wanted = sorted({pattern.partition("/")[0] for pattern in facts.platform.node_packages})
        found = (
            _find_first_path(folder / "node_modules" / name for folder in folders)
            for name in wanted
        )
    return tuple((path.name, str(path)) for path in found if path)


def _find_module(folders: Sequence[Path], name: str) -> Path | None:
    """Find a module in the project's environment, then in fabric's environment."""
    return _find_first_path(
        folder / form for folder in _list_site_packages(folders) for form in (name, f"{name}.py")
    )


def _list_project_packages(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        yield from sorted(folder.glob(".venv/lib/python*/site-packages"))


def _list_site_packages(folders: Sequence[Path]) -> Iterator[Path]:
    yield from _list_project_packages(folders)
    yield Path(sysconfig.get_paths()["purelib"])


def _find_first_path(paths: Iterator[Path]) -> Path | None:
    return next((path for path in paths if path.exists()), None)


def add_layers(
    installed: InstalledPackages, opt: Sequence[str], missing: Sequence[str]
) -> InstalledPackages:
    """Add the layers of a function: the directories of those on this machine, and the others."""
    return replace(installed, opt=tuple(opt), missing_layers=tuple(missing))
