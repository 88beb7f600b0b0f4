"""Find the services that changed: with git in a repository, otherwise by a dry plan."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.command import start_command
from fabric.app.project.files import COMPOSE_NAME, resolve_file
from fabric.app.project.opened import Project
from fabric.app.project.project import open_project
from fabric.app.project.services import list_packages
from fabric.app.request import Request, ServiceChoice
from fabric.app.session import open_session
from fabric.app.settings import Settings
from fabric.graph.decide import Action
from fabric.graph.layers import build_layer_archive_id
from fabric.graph.selection import Territory, select_affected
from fabric.graph.service_unit import FunctionPackages, ServiceUnit
from fabric.graph.steps import list_step_ids
from fabric.graph.traces import Trace
from fabric.model.names import CACHED_EVENTS
from fabric.model.problems import FabricError, Problem
from fabric.model.task_id import TaskId, build_task_id
from fabric.runtimes.nodejs import lock_changes
from fabric.runtimes.nodejs.lock_changes import affects_packages
from fabric.runtimes.nodejs.toolchain import LOCK_FILES
from fabric.runtimes.nodejs.tsconfig import package_name
from fabric.system.files.disk import read_bytes
from fabric.system.files.owned_folder import create_temporary_folder
from fabric.system.git.git import Changes, find_changed_files, read_committed_file

_PYTHON_FILE = re.compile(
    r"uv\.lock|poetry\.lock|pdm\.lock|Pipfile(?:\.lock)?|pylock(?:\.[^.]+)?\.toml|pyproject\.toml"
    r"|requirements[^/]*\.(?:txt|lock|in)"
)
_NODE_FILES = frozenset((*LOCK_FILES, "package.json", "pnpm-workspace.yaml", "tsconfig.json"))


class Affected(Struct, frozen=True):
    """Service names as in the compose file."""

    names: frozenset[str]
    # Names the base of the comparison.
    since: str


def find_affected_services(request: Request, settings: Settings) -> Affected:
    """Find the services whose inputs changed, without their dependents."""
    everything = replace(request.where, services=(), choice=ServiceChoice())
    project = open_project(everything, settings)
    changes = find_changed_files(project.workspace, request.where.choice.base, settings.env)
    if changes is None:
        if request.where.choice.base:
            raise FabricError(_no_repository_problem(request.where.choice.base))
        names = _find_outdated_services(replace(request, where=everything), project, settings)
        return Affected(names, "Out of date (no git repository found)")
    compose = resolve_file(settings.cwd / request.where.compose, COMPOSE_NAME)
    files = [path for path in changes.files if ".fabric" not in Path(path).parts]
    services = _list_services(request, project, settings)
    territories = [one.territory for one in services]
    if any(map(lock_changes.has_rows, files)):
        everyone = replace(request, where=everything)
        packages = _list_used_packages(everyone, project, settings)
        territories = list(_exempt_equal_parts(territories, packages, changes, settings))
    listings = [one.listings for one in services]
    territories = list(_exempt_equal_python(territories, listings, project, changes, settings))
    names = select_affected(territories, {str(compose)}, files)
    return Affected(names, f"Affected since {changes.since}")


class _UsedPackages(Struct, frozen=True):
    """The packages that the up-to-date builds of a service looked for."""

    names: frozenset[str]
    # Files that count wholly.
    files: frozenset[str]


def _list_used_packages(
    request: Request, project: Project, settings: Settings
) -> list[_UsedPackages | None]:
    """List the packages of each service; None if one of its builds is out of date, because its
    packages are unknown then."""
    from fabric.app.running.run_graph import plan_graph
    from fabric.app.shortcuts.compiled import compile_or_load

    try:
        work = compile_or_load(request, settings)
        # Without the shared cache and the state: a comparison of commits needs no network.
        with open_session(start_command(request, settings), project.workspace) as session:
            made = plan_graph(session, work.graph)
    except FabricError:
        return [None for _ in project.units]
    traces: dict[str, list[Trace | None]] = {}
    for task, decision in zip(made.graph.tasks, made.decisions, strict=True):
        if task.kind == "build":
            traces.setdefault(task.inputs.service, []).append(decision.trace)
    return [
        None
        if _has_layer_packages(unit)
        else _join_packages(traces.get(unit.service, [None]), project)
        for unit in project.units
    ]


def _has_layer_packages(unit: ServiceUnit) -> bool:
    """Return whether packages belong to layers, which a build does not read."""
    return any(one.packages for one in unit.config.supplies.layers)


def _join_packages(traces: Sequence[Trace | None], project: Project) -> _UsedPackages | None:
    known = [one for one in traces if one is not None]
    if len(known) < len(traces):
        return None
    read = {name for one in known for name, _ in one.files}
    paths = {*read, *(path for one in known for path in (*one.absent, *dict(one.links)))}
    names = {package_name(part) for path in paths for part in path.split("node_modules/")[1:]}
    return _UsedPackages(
        frozenset(names - {""}), frozenset(_make_absolute(one, project.workspace) for one in read)
    )


def _exempt_equal_parts(
    territories: Sequence[Territory],
    packages: Sequence[_UsedPackages | None],
    changes: Changes,
    settings: Settings,
) -> Iterator[Territory]:
    """Mark the locks and manifests whose change names no package of a service."""
    lines = {
        path: found
        for path in filter(lock_changes.has_rows, changes.files)
        if (found := _list_changed_lines(Path(path), changes.base, settings)) is not None
    }
    for territory, used in zip(territories, packages, strict=True):
        equal = [
            path
            for path, changed in lines.items()
            if used and path not in used.files and not affects_packages(changed, used.names)
        ]
        yield replace(territory, unaffected_by=frozenset(equal))


def _exempt_equal_python(
    territories: Sequence[Territory],
    listings: Sequence[frozenset[str]],
    project: Project,
    changes: Changes,
    settings: Settings,
) -> Iterator[Territory]:
    """Mark the changed locks and projects of Python whose change names no package of a service."""
    changed = frozenset(path for path in changes.files if _PYTHON_FILE.fullmatch(Path(path).name))
    for territory, files, unit in zip(territories, listings, project.units, strict=True):
        own = changed & files
        is_equal = (
            bool(own and changes.base)
            and not _has_layer_packages(unit)
            and _has_equal_packages(unit, project.workspace, changes.base, settings)
        )
        exempt = territory.unaffected_by | own
        yield replace(territory, unaffected_by=exempt) if is_equal else territory


def _has_equal_packages(unit: ServiceUnit, workspace: Path, base: str, settings: Settings) -> bool:
    """Return whether the functions had the same packages in a commit. The files that decide about
    them are read from it."""
    then = now = list_packages(unit.config, workspace, unit.root, {})
    with create_temporary_folder("packages") as folder:
        copied: set[Path] = set()
        wanted = set(now.looked_at)
        while missing := wanted - copied:
            for path in missing:
                old = (
                    read_committed_file(path, base, settings.env) if path.parent.is_dir() else None
                )
                target = folder / os.path.relpath(path, workspace)
                if old is not None and target.is_relative_to(folder):
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(old)
            copied |= missing
            try:
                then = list_packages(unit.config, folder, unit.root, {})
            except FabricError:
                return False
            wanted |= {workspace / one.relative_to(folder) for one in then.looked_at}
    return [*map(_describe_packages, now.rows)] == [*map(_describe_packages, then.rows)]


def _describe_packages(row: FunctionPackages) -> FunctionPackages:
    """Leave out what another lock of equal packages can change, such as comments."""
    return replace(row, text="") if row.selected else row


def _list_changed_lines(path: Path, base: str, settings: Settings) -> frozenset[str] | None:
    old = read_committed_file(path, base, settings.env) if base and path.is_file() else None
    if old is None:
        return None
    return lock_changes.list_changed_lines(path.name, old, read_bytes(path))


def _no_repository_problem(base: str) -> Problem:
    message = f"no git repository found, required for --base {base}"
    hint = "omit --base to select the services that are not up to date"
    return Problem("usage/no-repository", message, hint=hint)


def _find_outdated_services(
    request: Request, project: Project, settings: Settings
) -> frozenset[str]:
    """List the services with at least one task that is not up to date."""
    from fabric.app.plan import look

    with look(request, settings) as (_, seen):
        made = seen.plan
    rows = zip(made.graph.tasks, made.decisions, strict=True)
    busy = {task.inputs.service for task, decision in rows if decision.action is not Action.SKIP}
    pairs = zip(project.entries, project.units, strict=True)
    return frozenset(entry.name for entry, unit in pairs if unit.service in busy)


class _Service(Struct, frozen=True):
    """The paths of a service, and its files that decide which Python packages the functions have.
    Files that a build reads itself are not among these."""

    territory: Territory
    listings: frozenset[str]


def _list_services(request: Request, project: Project, settings: Settings) -> list[_Service]:
    with open_session(start_command(request, settings), project.workspace) as session:
        trace_store = session.stores.trace_store
        trace_store.expect(sum(len(unit.config.functions) for unit in project.units))
        return [
            _build_service(
                project, number, [trace_store.traces(one) for one in _list_build_tasks(unit)]
            )
            for number, unit in enumerate(project.units)
        ]


def _list_build_tasks(unit: ServiceUnit) -> Iterator[TaskId]:
    yield from (build_task_id("build", unit.service, one.name) for one in unit.config.functions)
    yield from list_step_ids(unit.config, *CACHED_EVENTS)
    yield from (build_layer_archive_id(unit, one) for one in unit.config.supplies.layers)


def _build_service(project: Project, number: int, memory: Sequence[Sequence[Trace]]) -> _Service:
    unit = project.units[number]
    folder = os.path.normpath(project.workspace / unit.root)
    traces = [trace for traces in memory for trace in traces]
    read = {_make_absolute(name, project.workspace) for one in traces for name, _ in one.files}
    packages = list_packages(unit.config, project.workspace, unit.root, {})
    listings = frozenset(str(path) for path in packages.looked_at if path.is_file())
    local = {name for row in packages.rows for _, name in row.local}
    searched = {*_list_searched_folders(traces), *local}
    territory = Territory(
        project.entries[number].name,
        folder,
        files=frozenset((str(project.reads.sources[number]), f"{folder}/.env")),
        seen=frozenset(_list_recorded_paths(traces, project.workspace)) | listings,
        searched=frozenset(_list_outside_folders(searched, folder, project.workspace)),
        manifests=_NODE_FILES if _has_node(unit) else frozenset(),
        remembered=all(memory),
    )
    # A project of a local package also decides how it is packed.
    folders = tuple(f"{_make_absolute(name, project.workspace)}/" for name in local)
    return _Service(
        territory, frozenset(one for one in listings - read if not one.startswith(folders))
    )


def _has_node(unit: ServiceUnit) -> bool:
    config = unit.config
    runtimes = (config.provider.runtime, *(one.runtime for one in config.functions))
    return any(runtime.startswith("nodejs") for runtime in runtimes)


def _list_recorded_paths(traces: Sequence[Trace], workspace: Path) -> Iterator[str]:
    """List every path that a cached build read or looked for, and the targets of its links."""
    for trace in traces:
        names = trace.all_files
        links = [end for pair in trace.links for end in pair]
        yield from (_make_absolute(name, workspace) for name in (*names, *trace.absent, *links))


def _list_searched_folders(traces: Sequence[Trace]) -> set[str]:
    """List the directories in which a cached build listed files."""
    return {one.folder for trace in traces for one in trace.listings}


def _list_outside_folders(names: Iterable[str], folder: str, workspace: Path) -> Iterator[str]:
    """List the directories outside the service directory."""
    found = {_make_absolute(name, workspace) for name in names}
    return (one for one in found if not f"{one}/".startswith(f"{folder}/"))


def _make_absolute(name: str, workspace: Path) -> str:
    return os.path.normpath(workspace / name)
