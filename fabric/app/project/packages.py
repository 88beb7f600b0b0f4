"""Which packages the Python functions of a service need, and the files that say so."""

from pathlib import Path

from msgspec import Struct

from fabric.config.values import Config, Function
from fabric.graph.service_unit import FunctionPackages
from fabric.model.catalog import find_provider_facts
from fabric.model.problems import Problem
from fabric.runtimes.requirement_files import PackageFolders, read_public_source
from fabric.runtimes.requirements import list_required_names


class ListedPackages(Struct, frozen=True):
    """A row for each Python function."""

    rows: tuple[FunctionPackages, ...]
    # The paths that determined them, existing or not.
    looked_at: tuple[Path, ...]
    warnings: tuple[Problem, ...] = ()


def list_packages(config: Config, workspace: Path, root: str) -> ListedPackages:
    facts = find_provider_facts(config.provider.id)
    brought = tuple(name for name, _ in facts.python_packages) if facts else ()
    lookup = PackageFolders(workspace, root)
    places = {one.name: lookup.of(one.entry) for one in config.functions if _is_python(config, one)}
    folders = {one.folder for one in places.values()}
    sources = {folder: read_public_source(workspace, folder, brought) for folder in sorted(folders)}
    rows = []
    for name, found in places.items():
        source = sources[found.folder]
        names = tuple(sorted(list_required_names(source.text)))
        rows.append(FunctionPackages(name, found.folder, source.text, source.without, names))
    looked_at = {Path(path) for found in places.values() for path in found.looked_at}
    seen = (name for one in sources.values() for name in (*one.seen.files, *one.seen.absent))
    warnings = tuple(one for source in sources.values() for one in source.warnings)
    paths = tuple(sorted(looked_at | {workspace / one for one in seen}))
    return ListedPackages(tuple(rows), paths, warnings)


def _is_python(config: Config, function: Function) -> bool:
    return (function.runtime or config.provider.runtime).startswith("python")
