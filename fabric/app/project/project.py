"""Files to services: finds configs, their `.env`, and the workspace that they belong to."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.project.bound_files import CallerReach, refuse_ways_out
from fabric.app.project.compose_files import (
    build_compose_entry,
    find_owning_compose,
    include_folders,
    list_parent_compose_files,
    read_compose,
    warn_of_ignored_compose,
    warn_of_unmatched_patterns,
)
from fabric.app.project.files import (
    COMPOSE_NAME,
    EnvPlace,
    locate_config,
    resolve_file,
)
from fabric.app.project.load_configs import ConfigRequest, SuppliedConfig, load_all, load_one
from fabric.app.project.opened import Project, ProjectReads, merge_targets
from fabric.app.project.services import (
    ComposedService,
    build_neighbor,
    build_service_unit,
    list_account_variables,
    list_other_stages,
    with_outside,
)
from fabric.app.project.upstreams import list_all_upstreams, map_needs
from fabric.app.request import RouterTargets, Where
from fabric.app.settings import Settings
from fabric.config.compose import complete_compose
from fabric.config.values import Compose, ComposeService, Config
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.text.spelling import find_nearest, suggest_spelling


class RunServices(Struct, frozen=True):
    """The services of a run, and their dependencies that stay unchanged."""

    rows: tuple[ComposedService, ...]
    others: tuple[ComposedService, ...]

    def upstream_services(self) -> dict[str, tuple[ComposedService, ...]]:
        """Return the direct and indirect dependencies of each service of the run."""
        by_name = {row.entry.name: row for row in (*self.rows, *self.others)}
        needs = map_needs(row.entry for row in by_name.values())
        return {
            row.entry.name: tuple(
                by_name[name]
                for name in list_all_upstreams(row.entry.name, needs)
                if name in by_name
            )
            for row in self.rows
        }


def open_project(where: Where, settings: Settings) -> Project:
    if where.router.labels:
        alone = (
            replace(where, provider=one, router=RouterTargets()) for one in where.router.labels
        )
        return merge_targets([open_project(one, settings) for one in alone], where)
    stage = settings.stage(where.stage)
    opened = _open_compose if where.compose else _open_single
    project = opened(where, stage, settings)
    notes = (*project.notes, *_find_unused_params(where, project))
    return replace(project, notes=notes, home=where.home)


def _find_unused_params(where: Where, project: Project) -> Iterator[Problem]:
    units = (*project.units, *project.dependencies)
    bound = sorted({name for unit in units for name in unit.config.document.bindings.params})
    for name, _ in where.params:
        if name not in bound:
            message = f"ignoring --param {name}: no config uses `${{param:{name}}}`"
            yield Problem("config/unused-param", message, suggest_spelling(name, bound))


def read_given(where: Where, settings: Settings) -> Config:
    """Read a config text without other files, except the `.env` of its directory."""
    path = locate_config(settings.cwd / where.config, is_given=True)
    stage = settings.stage(where.stage)
    place = EnvPlace(path.parent, path.parent)
    return load_one(place, path.name, _build_config_request(where, stage, path), settings)


def _open_single(where: Where, stage: str, settings: Settings) -> Project:
    """Open a single service. A parent compose file still defines its dependencies."""
    path = locate_config(settings.cwd / where.config, is_given=where.reading.text is not None)
    owner = find_owning_compose(path)
    workspace = owner.parent if owner else path.parent
    looked_for = _list_compose_candidates(path, owner)
    if owner is None:
        config = load_one(
            EnvPlace(path.parent, workspace),
            path.name,
            _build_config_request(where, stage, path),
            settings,
        )
        _refuse_ways_out(config, where, path, workspace, settings)
        row = ComposedService(ComposeService("", ""), path, config)
        project = _build_project(workspace, stage, RunServices((row,), ()), settings, looked_for)
        return replace(project, notes=warn_of_ignored_compose(path))
    entry = build_compose_entry(path, owner)
    services = read_compose(owner, owner.parent).services
    rows = load_all(
        _with_upstreams(services, [entry]),
        owner,
        _build_config_request(where, stage, path),
        settings,
    )
    for row in rows:
        if row.file == path:
            _refuse_ways_out(row.config, where, path, workspace, settings)
    run_services = _run_services(
        rows, frozenset(row.entry.name for row in rows if row.file == path)
    )
    project = _build_project(workspace, stage, run_services, settings, looked_for)
    return replace(project, listed=tuple(services))


def _refuse_ways_out(
    config: Config, where: Where, file: Path, workspace: Path, settings: Settings
) -> None:
    if settings.bindable.is_restrained:
        reach = CallerReach(workspace, settings.bindable.hidden)
        refuse_ways_out(config, where.reading.text or b"", file.parent, reach)


def _build_config_request(where: Where, stage: str, path: Path) -> ConfigRequest:
    given = None if where.reading.text is None else SuppliedConfig(path, where.reading.text)
    return replace(_build_default_request(where, stage), given=given)


def _build_default_request(where: Where, stage: str) -> ConfigRequest:
    params = dict(where.params)
    return ConfigRequest(
        stage=stage,
        provider=where.provider,
        params=params,
        only_place=where.reading.only_place,
        keeps_router=where.reading.keeps_router,
        reads_secrets=where.reading.secrets,
        takes_last_known=where.reading.last_known,
    )


def _select_needed_entries(
    services: Sequence[ComposeService], names: Sequence[str]
) -> Sequence[ComposeService]:
    """Select the entries to read for these services: all, unless each is listed by name."""
    chosen = [one for one in services if one.name in names]
    all_listed = names and {one.name for one in chosen} == set(names)
    return _with_upstreams(services, chosen) if all_listed else services


def _with_upstreams(
    services: Sequence[ComposeService], chosen: Sequence[ComposeService]
) -> list[ComposeService]:
    """Select these entries and their possible dependencies, in file order.

    Entries from `include` have no name before they are read, so each of them can be meant.
    """
    needs = map_needs(services)
    needed = {need for one in chosen for need in list_all_upstreams(one.name, needs)}
    named = {one.name for one in services}
    is_open = not needed <= named
    return [
        one for one in services if one in chosen or one.name in needed or (is_open and not one.name)
    ]


def _run_services(rows: Sequence[ComposedService], names: frozenset[str]) -> RunServices:
    """Select the services with these names, and their direct and indirect dependencies."""
    needs = map_needs(row.entry for row in rows)
    needed = {need for name in names for need in list_all_upstreams(name, needs)} - names
    return RunServices(
        tuple(row for row in rows if row.entry.name in names),
        tuple(row for row in rows if row.entry.name in needed),
    )


def _list_compose_candidates(path: Path, owner: Path | None) -> list[Path]:
    """List the compose files that were found or searched for above a config."""
    candidates = list_parent_compose_files(path)
    if owner is None:
        return candidates
    folders = include_folders(read_compose(owner, owner.parent), owner.parent)
    return [*candidates[: candidates.index(owner) + 1], *folders]


def _open_compose(where: Where, stage: str, settings: Settings) -> Project:
    path = resolve_file(settings.cwd / where.compose, COMPOSE_NAME)
    compose = read_compose(path, settings.cwd)
    listed = _select_needed_entries(compose.services, where.services or ())
    rows = load_all(
        listed, path, replace(_build_default_request(where, stage), provider=""), settings
    )
    complete_compose(Compose(compose.file, tuple(row.entry for row in rows)))
    _reject_duplicate_services([(row.entry.name, row.config) for row in rows])
    chosen = [] if where.services is None else _select_services(rows, where.services)
    run_services = _run_services(rows, frozenset(row.entry.name for row in chosen))
    looked_for = [path, *include_folders(compose, path.parent)]
    project = _build_project(path.parent, stage, run_services, settings, looked_for)
    return replace(
        project, notes=warn_of_unmatched_patterns(compose, path.parent), listed=compose.services
    )


def list_compose_services(
    file: str, settings: Settings, stage: str = ""
) -> tuple[ComposeService, ...]:
    """List the services of a compose file. Entries from `include` use their config's name."""
    path = resolve_file(settings.cwd / file, COMPOSE_NAME)
    services = read_compose(path, settings.cwd).services
    return (
        services
        if all(one.name for one in services)
        else read_stage_services(path, settings, stage)
    )


def read_stage_services(file: Path, settings: Settings, stage: str) -> tuple[ComposeService, ...]:
    """List the services of a stage. Every config is read and must be valid."""
    path = resolve_file(file, COMPOSE_NAME)
    compose = read_compose(path, settings.cwd)
    rows = load_all(compose.services, path, ConfigRequest(settings.stage(stage)), settings)
    return tuple(row.entry for row in rows)


def _select_services(rows: list[ComposedService], names: tuple[str, ...]) -> list[ComposedService]:
    known = [row.entry.name for row in rows]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise FabricError(*(_unknown_service_problem(name, known) for name in unknown))
    return [row for row in rows if not names or row.entry.name in names]


def _unknown_service_problem(name: str, known: list[str]) -> Problem:
    guess = find_nearest(name, known)
    hint = f"did you mean `{guess}`?" if guess else "use one of " + ", ".join(known[:12])
    return Problem("usage/unknown-service", f"unknown service `{name}`", hint=hint)


def _reject_duplicate_services(rows: list[tuple[str, Config]]) -> None:
    first: dict[str, str] = {}
    for name, config in rows:
        if config.service in first:
            raise FabricError(
                Problem(
                    "compose/same-service",
                    f"duplicate service `{config.service}` in stage `{config.stage}`: "
                    f"`{first[config.service]}` and `{name}`",
                    hint="set another `service` in one of the configs",
                    where=Place(config.document.file),
                )
            )
        first[config.service] = name


def _build_project(
    workspace: Path,
    stage: str,
    run_services: RunServices,
    settings: Settings,
    looked_for: list[Path],
) -> Project:
    units = []
    looked: list[Path] = [*looked_for]
    variables = set[str]()
    here = {row.config.service for row in run_services.rows}
    upstream_services = run_services.upstream_services()
    for row in run_services.rows:
        unit, found = build_service_unit(
            row, upstream_services[row.entry.name], workspace, settings
        )
        upstream = tuple(one for one in unit.needs.upstream if one in here)
        units.append(replace(unit, needs=replace(unit.needs, upstream=upstream)))
        looked += found.looked_at
        variables |= found.variables
    everyone = (*run_services.rows, *run_services.others)
    files = [row.file for row in everyone]
    return Project(
        workspace,
        stage,
        tuple(with_outside(unit, here) for unit in units),
        dependencies=tuple(
            build_neighbor(row, workspace, settings)
            for row in (*run_services.others, *list_other_stages(units, everyone))
        ),
        entries=tuple(row.entry for row in run_services.rows),
        reads=ProjectReads(
            sources=tuple(files),
            looked_for=(
                *looked,
                *dict.fromkeys((*(path.parent / ".env" for path in files), workspace / ".env")),
                *sorted(
                    {Path(file) for row in everyone for file in row.config.document.bindings.files}
                ),
            ),
            bound_names=frozenset(variables).union(
                *(
                    row.config.document.bindings.names | set(list_account_variables(row.config))
                    for row in everyone
                )
            ),
        ),
    )
