"""Files to services: finds configs, their `.env`, and the workspace that they belong to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fabric.app.composition import (
    entry_of,
    include_folders,
    late_for,
    owning_compose,
    read_compose,
)
from fabric.app.files import (
    COMPOSE_NAME,
    config_path,
    environment,
    file_at,
    read_file,
    relative,
    shown,
)
from fabric.app.late import late_values
from fabric.app.modes import mode_of
from fabric.app.request import CONFIG_NAME, Where
from fabric.app.settings import Settings
from fabric.config.compose import compose_services
from fabric.config.load import Source, load_config
from fabric.config.values import Compose, ComposeService, Config
from fabric.graph.compile import Unit
from fabric.model.catalog import facts_of
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.secrecy import without_userinfo
from fabric.model.spelling import nearest
from fabric.model.task import Pairs
from fabric.runtimes.vendor import REQUIREMENT_FILES, VendorSource, find_source


@dataclass(frozen=True, slots=True)
class Project:
    """The services of one run and the folder that all their paths start from.

    `sources` are the files whose content decided all this, and `looked_for` those that would have.
    `outside` are pairs of a service and a direct upstream that is no part of this run.
    """

    workspace: Path
    stage: str
    units: tuple[Unit, ...]
    sources: tuple[Path, ...] = ()
    looked_for: tuple[Path, ...] = ()
    bound_names: frozenset[str] = frozenset()
    outside: tuple[tuple[str, str], ...] = ()

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return tuple(warning for unit in self.units for warning in unit.config.warnings)


def open_project(where: Where, settings: Settings) -> Project:
    stage = settings.stage(where.stage)
    if where.compose:
        return _open_compose(where, stage, settings)
    return _open_single(where, stage, settings)


def _open_single(where: Where, stage: str, settings: Settings) -> Project:
    path = config_path(settings.cwd / where.config)
    owner = owning_compose(path)
    workspace = owner.parent if owner else path.parent
    late = late_for(path, owner)
    config = _load(path, Asked(stage, where.provider, late), settings)
    project = _project(workspace, stage, [(path, config, ())], settings, _above(path, owner))
    needs = entry_of(path, owner).depends_on if owner else ()
    return replace(project, outside=tuple((config.service, name) for name in needs))


def _above(path: Path, owner: Path | None) -> list[Path]:
    """The compose files that were found or looked for on the way up from a config."""
    candidates = [folder / COMPOSE_NAME for folder in path.parent.parents]
    if owner is None:
        return candidates
    folders = include_folders(read_compose(owner, owner.parent), owner.parent)
    return [*candidates[: candidates.index(owner) + 1], *folders]


def _open_compose(where: Where, stage: str, settings: Settings) -> Project:
    path = file_at(settings.cwd / where.compose, COMPOSE_NAME)
    compose = read_compose(path, settings.cwd)
    loaded = _load_all(compose.services, path.parent, stage, settings)
    compose_services(Compose(compose.file, tuple(entry for entry, _, _ in loaded)))
    loaded = _chosen(loaded, where.services)
    names = {entry.name: config.service for entry, _, config in loaded}
    rows = [
        (file, config, tuple(names[name] for name in entry.depends_on if name in names))
        for entry, file, config in loaded
    ]
    _refuse_twins([(entry.name, config) for entry, _, config in loaded])
    looked_for = [path, *include_folders(compose, path.parent)]
    project = _project(path.parent, stage, rows, settings, looked_for)
    outside = tuple(
        (config.service, name)
        for entry, _, config in loaded
        for name in entry.depends_on
        if name not in names
    )
    return replace(project, outside=outside)


def named_services(file: str, settings: Settings) -> tuple[ComposeService, ...]:
    """The services of a compose file; those that `include` found go by their config's name."""
    path = file_at(settings.cwd / file, COMPOSE_NAME)
    compose = read_compose(path, settings.cwd)
    if all(one.name for one in compose.services):
        return compose.services
    loaded = _load_all(compose.services, path.parent, settings.stage(""), settings)
    return tuple(entry for entry, _, _ in loaded)


Loaded = tuple[ComposeService, Path, Config]


def _chosen(loaded: list[Loaded], names: tuple[str, ...]) -> list[Loaded]:
    known = [entry.name for entry, _, _ in loaded]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise FabricError(*(_unknown_service(name, known) for name in unknown))
    return [row for row in loaded if not names or row[0].name in names]


def _unknown_service(name: str, known: list[str]) -> Problem:
    guess = nearest(name, known)
    hint = f"did you mean `{guess}`?" if guess else "services here: " + ", ".join(known[:12])
    return Problem("usage/unknown-service", f"no service is named `{name}`", hint=hint)


def _load_all(
    services: Sequence[ComposeService], folder: Path, stage: str, settings: Settings
) -> list[Loaded]:
    """Every config of a compose file; the problems of all of them at once."""
    loaded: list[Loaded] = []
    problems: list[Problem] = []
    for one in services:
        try:
            file = config_path(folder / one.config)
            late = late_values(one.name, services)
            config = _load(file, Asked(stage, "", late), settings)
            loaded.append((_named(one, config), file, config))
        except FabricError as error:
            problems.extend(error.problems)
    if problems:
        raise FabricError(*problems)
    return loaded


def _named(one: ComposeService, config: Config) -> ComposeService:
    return ComposeService(one.name or config.service, one.config, one.depends_on)


def _refuse_twins(rows: list[tuple[str, Config]]) -> None:
    first: dict[str, str] = {}
    for name, config in rows:
        if config.service in first:
            raise FabricError(
                Problem(
                    "compose/same-service",
                    f"`{first[config.service]}` and `{name}` are both the service "
                    f"`{config.service}` of stage `{config.stage}`",
                    hint="give one of them another `service` in its config",
                    where=Place(config.file),
                )
            )
        first[config.service] = name


def _project(
    workspace: Path,
    stage: str,
    rows: list[tuple[Path, Config, tuple[str, ...]]],
    settings: Settings,
    looked_for: list[Path],
) -> Project:
    units = []
    looked: list[Path] = [*looked_for]
    for path, config, upstream in rows:
        root = relative(path.parent, workspace)
        found = find_source(workspace, root) if _has_python(config) else None
        lock = found.text if found else ""
        looked += _requirement_files(path.parent, workspace, found)
        mode = mode_of(config.provider.id, settings.env)
        world = _world(config, environment(path.parent, settings.env))
        units.append(Unit(config, root, mode, lock, upstream, world))
    files = [path for path, _, _ in rows]
    return Project(
        workspace,
        stage,
        tuple(units),
        sources=tuple(files),
        looked_for=(*looked, *(path.parent / ".env" for path in files)),
        bound_names=frozenset().union(
            *(config.bound_names | set(_world_names(config)) for _, config, _ in rows)
        ),
    )


def _world_names(config: Config) -> tuple[str, ...]:
    facts = facts_of(config.provider.id)
    return facts.world_variables if facts else ()


def _world(config: Config, env: Mapping[str, str]) -> Pairs:
    """Which account, and which address of the provider's API, the surroundings mean."""
    names = _world_names(config)
    return tuple((name, without_userinfo(env[name])) for name in names if env.get(name))


def _requirement_files(folder: Path, workspace: Path, found: VendorSource | None) -> list[Path]:
    """What says which packages a Python service needs, there or not."""
    own = [folder / name for name in REQUIREMENT_FILES]
    return own + [workspace / path for path in (found.seen.files if found else ())]


def _has_python(config: Config) -> bool:
    runtimes = {config.provider.runtime, *(one.runtime for one in config.functions)}
    return any(runtime.startswith("python") for runtime in runtimes)


@dataclass(frozen=True, slots=True)
class Asked:
    """How a config is to be resolved; `late` values beat `.env` and the environment."""

    stage: str
    provider: str
    late: Mapping[str, str]


def _load(path: Path, asked: Asked, settings: Settings) -> Config:
    env = {**environment(path.parent, settings.env), **asked.late}
    text = read_file(path, CONFIG_NAME)
    file = shown(path, settings.cwd)
    return load_config(Source(file, text, env, asked.stage, asked.provider))
