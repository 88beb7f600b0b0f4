"""Packages of a provider's runtime, as installed on this machine, for local invocations."""

import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path

from fabric.model.catalog import find_provider_facts
from fabric.model.task import Pairs


def find_runtime_packages(provider_id: str, runtime: str, root: Path, top: Path) -> Pairs:
    """Map each import name to its file or directory on this machine."""
    facts = find_provider_facts(provider_id)
    if facts is None:
        return ()
    # Below the workspace only: what lies above is nobody's of this project.
    folders = [folder for folder in (root, *root.parents) if folder.is_relative_to(top)]
    if runtime.startswith("python"):
        wanted = [module for _, module in facts.python_packages]
        found = (_find_module(folders, name) for name in wanted)
    else:
        wanted = sorted({pattern.partition("/")[0] for pattern in facts.node_packages})
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


def _list_site_packages(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        yield from sorted(folder.glob(".venv/lib/python*/site-packages"))
    yield Path(sysconfig.get_paths()["purelib"])


def _find_first_path(paths: Iterator[Path]) -> Path | None:
    return next((path for path in paths if path.exists()), None)
