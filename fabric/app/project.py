"""Files to services: finds configs, their `.env`, and the workspace that they belong to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fabric.app.late import late_values
from fabric.app.modes import mode_of
from fabric.app.request import CONFIG_NAME, Where
from fabric.app.settings import Settings
from fabric.config.compose import compose_services, load_compose
from fabric.config.dotenv import parse_dotenv
from fabric.config.load import Source, load_config
from fabric.config.values import Compose, ComposeService, Config
from fabric.graph.compile import Unit
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.spelling import nearest
from fabric.runtimes.vendor import REQUIREMENT_FILES, VendorSource, find_source
from fabric.system.disk import read_bytes

COMPOSE_NAME = "fabric.compose.yml"


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
    path = _config_path(settings.cwd / where.config)
    owner = _owning_compose(path)
    workspace = owner.parent if owner else path.parent
    late = _late_for(path, owner)
    config = _load(path, Asked(stage, where.provider, late), settings)
    project = _project(workspace, stage, [(path, config, ())], settings, _above(path, owner))
    needs = _entry_of(path, owner).depends_on if owner else ()
    return replace(project, outside=tuple((config.service, name) for name in needs))


def _above(path: Path, owner: Path | None) -> list[Path]:
    """The compose files that were found or looked for on the way up from a config."""
    candidates = [folder / COMPOSE_NAME for folder in path.parent.parents]
    if owner is None:
        return candidates
    folders = include_folders(read_compose(owner, owner.parent), owner.parent)
    return [*candidates[: candidates.index(owner) + 1], *folders]


def _open_compose(where: Where, stage: str, settings: Settings) -> Project:
    path = _file(settings.cwd / where.compose, COMPOSE_NAME)
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
    path = _file(settings.cwd / file, COMPOSE_NAME)
    compose = read_compose(path, settings.cwd)
    if all(one.name for one in compose.services):
        return compose.services
    loaded = _load_all(compose.services, path.parent, settings.stage(""), settings)
    return tuple(entry for entry, _, _ in loaded)


def include_folders(compose: Compose, base: Path) -> list[Path]:
    """Every folder in which an `include` pattern looks: a new match shows in its time."""
    prefixes = {
        "/".join(parts[:count])
        for parts in (pattern.split("/") for pattern in compose.include)
        for count in range(len(parts))
    }
    found = (base.glob(prefix) if prefix else [base] for prefix in sorted(prefixes))
    return sorted({folder for folders in found for folder in folders if folder.is_dir()})


def read_compose(path: Path, cwd: Path) -> Compose:
    """What a compose file lists, with its `include` patterns expanded to more services."""
    compose = load_compose(_shown(path, cwd), _read(path, COMPOSE_NAME))
    listed = {_config_path_quiet(path.parent / one.config) for one in compose.services}
    found = dict.fromkeys(
        file
        for pattern in compose.include
        for file in sorted(path.parent.glob(pattern))
        if file not in listed
    )
    return Compose(
        compose.file,
        (*compose.services, *(ComposeService("", _relative(one, path.parent)) for one in found)),
        compose.include,
    )


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
            file = _config_path(folder / one.config)
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
        root = _relative(path.parent, workspace)
        found = find_source(workspace, root) if _has_python(config) else None
        lock = found.text if found else ""
        looked += _requirement_files(path.parent, workspace, found)
        mode = mode_of(config.provider.id, settings.env)
        units.append(Unit(config, root, mode, lock, upstream))
    files = [path for path, _, _ in rows]
    return Project(
        workspace,
        stage,
        tuple(units),
        sources=tuple(files),
        looked_for=(*looked, *(path.parent / ".env" for path in files)),
        bound_names=frozenset().union(*(config.bound_names for _, config, _ in rows)),
    )


def _requirement_files(folder: Path, workspace: Path, found: VendorSource | None) -> list[Path]:
    """What says which packages a Python service needs, there or not."""
    own = [folder / name for name in REQUIREMENT_FILES]
    return own + [workspace / path for path in (found.seen.files if found else ())]


def _has_python(config: Config) -> bool:
    runtimes = {config.provider.runtime, *(one.runtime for one in config.functions)}
    return any(runtime.startswith("python") for runtime in runtimes)


def _relative(folder: Path, workspace: Path) -> str:
    if folder.is_relative_to(workspace):
        return folder.relative_to(workspace).as_posix()
    ups = next(
        count for count, base in enumerate(workspace.parents, 1) if folder.is_relative_to(base)
    )
    return "../" * ups + folder.relative_to(workspace.parents[ups - 1]).as_posix()


@dataclass(frozen=True, slots=True)
class Asked:
    """How a config is to be resolved; `late` values beat `.env` and the environment."""

    stage: str
    provider: str
    late: Mapping[str, str]


def _load(path: Path, asked: Asked, settings: Settings) -> Config:
    env = {**environment(path.parent, settings.env), **asked.late}
    text = _read(path, CONFIG_NAME)
    file = _shown(path, settings.cwd)
    return load_config(Source(file, text, env, asked.stage, asked.provider))


def _shown(path: Path, cwd: Path) -> str:
    """A path as people in the working folder would write it."""
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)


def _late_for(config: Path, owner: Path | None) -> dict[str, str]:
    """What upstreams will give a service that is run by itself."""
    if owner is None:
        return {}
    services = read_compose(owner, owner.parent).services
    return late_values(_entry_of(config, owner).name, services)


def _entry_of(config: Path, owner: Path) -> ComposeService:
    """The entry by which a compose file names a config."""
    services = read_compose(owner, owner.parent).services
    paths = [_config_path_quiet((owner.parent / one.config).resolve()) for one in services]
    return next(one for one, path in zip(services, paths, strict=True) if path == config)


def environment(folder: Path, process: Mapping[str, str]) -> dict[str, str]:
    """The `.env` beside a config, under the process environment; never fabric's own switches."""
    path = folder / ".env"
    try:
        pairs = parse_dotenv(read_bytes(path).decode("utf-8", "replace"))
    except (FileNotFoundError, NotADirectoryError):
        pairs = ()
    except OSError as error:
        raise _unreadable(path, error) from error
    return {**{name: value for name, value in pairs if not name.startswith("FABRIC_")}, **process}


def _config_path(path: Path) -> Path:
    return _file(path, CONFIG_NAME)


def _config_path_quiet(path: Path) -> Path:
    return path / CONFIG_NAME if path.is_dir() else path


def _file(path: Path, name: str) -> Path:
    """The file itself, or the one of this name in a folder; links of the path resolved."""
    found = path / name if path.is_dir() else path
    if not found.is_file():
        raise FabricError(_not_found(found, name))
    return found.parent.resolve() / found.name


def _not_found(path: Path, name: str) -> Problem:
    code = "compose/not-found" if name == COMPOSE_NAME else "config/not-found"
    flag = "-f" if name == COMPOSE_NAME else "-c"
    is_there = path.exists()
    return Problem(
        code,
        f"{path} is no regular file" if is_there else f"there is no `{path.name}` in {path.parent}",
        hint=f"go to your project's folder, or name the file with {flag} FILE",
        where=Place(str(path)),
    )


def _read(path: Path, name: str) -> bytes:
    try:
        return read_bytes(path)
    except FileNotFoundError as error:
        raise FabricError(_not_found(path, name)) from error
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> FabricError:
    return FabricError(
        Problem(
            "config/unreadable",
            f"cannot read `{path.name}`: {(error.strerror or str(error)).lower()}",
            hint="check the file's mode and owner",
            where=Place(str(path)),
        )
    )


def _owning_compose(config: Path) -> Path | None:
    """The nearest compose file above a config that names it."""
    for folder in config.parent.parents:
        path = folder / COMPOSE_NAME
        if not path.is_file():
            continue
        try:
            services = read_compose(path, folder).services
        except FabricError:
            continue
        if config in {_config_path_quiet((folder / one.config).resolve()) for one in services}:
            return path
    return None
