"""From configs to service units for the compiler, with upstream outputs added."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.project.files import EnvPlace, build_client_environment, format_relative
from fabric.app.project.modes import choose_mode
from fabric.app.project.upstreams import UpstreamService, build_upstream_placeholders
from fabric.app.settings import Settings
from fabric.config.rules.env_size import LONG_ADDRESS, limit_of, measure_environment
from fabric.config.values import ComposeService, Config
from fabric.graph.late_outputs import OutputName, list_output_tasks, list_service_outputs
from fabric.graph.service_unit import (
    FunctionPackages,
    ServiceNeeds,
    ServiceUnit,
    find_python_target,
)
from fabric.model.builds.python_target import PythonTarget
from fabric.model.catalog import find_provider_facts, format_provider_title
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.secrets.secrecy import redact_userinfo
from fabric.model.task import Pairs
from fabric.model.task_id import is_other_stage, name_of
from fabric.model.task_inputs import GitWheelInputs, WheelInputs
from fabric.runtimes.packages.git_sources import GitSource, find_version_conflict, list_git_sources
from fabric.runtimes.packages.requirement_files import (
    PackageFolders,
    PackageRequest,
    VendorSource,
    read_public_source,
)
from fabric.runtimes.packages.requirements import (
    hash_indexes,
    is_target_missing,
    list_hashed_pins,
    list_index_lines,
    list_index_variables,
    list_target_lines,
    select_lines,
)

_NAMED_AT_ONCE = 6


class ComposedService(Struct, frozen=True):
    """One service of a compose file with its name and config."""

    entry: ComposeService
    file: Path
    config: Config

    @property
    def upstream_service(self) -> UpstreamService:
        return UpstreamService(self.entry.name, self.config.service, self.config.provider.label)


def build_service_unit(
    row: ComposedService, upstreams: Sequence[ComposedService], workspace: Path, settings: Settings
) -> tuple[ServiceUnit, "ListedPackages"]:
    """Build the service, and list its packages."""
    _refuse_same_variables(row, [one.upstream_service for one in upstreams])
    config, upstream_services = _with_outputs(row, [one.upstream_service for one in upstreams])
    root = format_relative(row.file.parent, workspace)
    place = EnvPlace(row.file.parent, workspace, frozenset(list_account_variables(config)))
    listed = list_packages(config, workspace, root, settings.env)
    config = config.with_warnings(listed.warnings)
    unit = ServiceUnit(
        config=config,
        root=root,
        mode=choose_mode(config.provider.id, settings.env),
        packages=listed.rows,
        account=_read_account_values(config, build_client_environment(place, settings.env)),
        needs=ServiceNeeds(
            upstream=tuple(one.service for one in upstream_services),
            outputs=tuple(
                (name, one.release) for one in upstream_services for name in one.variables
            ),
            services=tuple(one.config.service for one in upstreams),
            names=tuple((one.entry.name, one.upstream_service.release) for one in upstreams),
        ),
    )
    return unit, listed


def with_outside(unit: ServiceUnit, here: Collection[str]) -> ServiceUnit:
    """Add the releases outside this run that the unit depends on, and further tasks there whose
    outputs it uses."""
    used = list_output_tasks(unit, list_service_outputs(unit.config))
    tasks = dict.fromkeys((*(release for _, release in unit.needs.outputs), *used))
    outside = (one for one in tasks if name_of(one).service not in here or is_other_stage(one))
    return replace(unit, needs=replace(unit.needs, outside=tuple(outside)))


def build_neighbor(row: ComposedService, workspace: Path, settings: Settings) -> ServiceUnit:
    """Build a service outside the run. Only its record is read."""
    mode = choose_mode(row.config.provider.id, settings.env)
    return ServiceUnit(row.config, format_relative(row.file.parent, workspace), mode)


def list_other_stages(
    units: Iterable[ServiceUnit], rows: Sequence[ComposedService]
) -> Iterator[ComposedService]:
    """List services in other stages whose outputs are used. Their records are found with the
    settings of this stage."""
    by_name = {row.entry.name: row for row in rows}
    for unit in units:
        for one in map(OutputName, list_service_outputs(unit.config)):
            row = by_name.get(one.service)
            if row is not None and one.stage:
                yield replace(row, config=replace(row.config, stage=one.stage))


def list_account_variables(config: Config) -> tuple[str, ...]:
    facts = find_provider_facts(config.provider.id)
    return facts.account_variables if facts else ()


def _refuse_same_variables(
    row: ComposedService, upstream_services: Sequence[UpstreamService]
) -> None:
    """Reject service names that give the same variable, because one address would be lost."""
    first: dict[str, str] = {}
    for upstream_service in upstream_services:
        variable = upstream_service.variables[0]
        other = first.setdefault(variable, upstream_service.name)
        if other != upstream_service.name:
            message = (
                f"`{row.entry.name}` would receive the same `{variable}` for `{other}` and for "
            )
            hint = "rename one of the two services in the compose file"
            where = Place(row.config.document.file)
            raise FabricError(
                Problem("compose/same-variable", f"{message}`{upstream_service.name}`", hint, where)
            )


def _with_outputs(
    row: ComposedService, upstream_services: Sequence[UpstreamService]
) -> tuple[Config, Sequence[UpstreamService]]:
    """Add upstream outputs to the environment of every function; they override other values.

    If the provider's size limit is too small, unreferenced outputs of indirect upstreams are
    omitted.
    """
    full = _add_upstream_outputs(row.config, build_upstream_placeholders(upstream_services))
    crowded = _find_crowded_function(full)
    far = [one for one in upstream_services if crowded and not _is_wanted(one, row)]
    if not far:
        return full, upstream_services
    near = [one for one in upstream_services if one not in far]
    config = _add_upstream_outputs(row.config, build_upstream_placeholders(near))
    warning = _no_outputs_problem(row, far, crowded)
    return config.with_warnings([warning]), near


def _add_upstream_outputs(config: Config, outputs: Mapping[str, str]) -> Config:
    if not outputs:
        return config
    functions = tuple(
        replace(one, env=tuple(sorted((dict(one.env) | dict(outputs)).items())))
        for one in config.functions
    )
    return replace(config, functions=functions)


def _find_crowded_function(config: Config) -> str:
    """Find the first function whose environment can exceed the provider's limit."""
    limit = limit_of(config.provider.id)
    crowded = (
        one for one in config.functions if measure_environment(one.env, LONG_ADDRESS) > limit > 0
    )
    return next((one.name for one in crowded), "")


def _is_wanted(upstream_service: UpstreamService, row: ComposedService) -> bool:
    is_bound = any(
        name in row.config.document.bindings.names for name in upstream_service.variables
    )
    return is_bound or upstream_service.name in row.entry.depends_on


def _no_outputs_problem(
    row: ComposedService, far: Sequence[UpstreamService], function: str
) -> Problem:
    names = [one.name for one in far]
    more = f" and {len(names) - _NAMED_AT_ONCE} more" if len(names) > _NAMED_AT_ONCE else ""
    config = row.config
    message = (
        f"`{row.entry.name}` does not receive the URLs of {', '.join(names[:_NAMED_AT_ONCE])}"
        f"{more}: the environment of `{function}` could exceed {limit_of(config.provider.id):,} "
        f"bytes, the limit of {format_provider_title(config.provider.id)}"
    )
    hint = f"add the services it calls to `dependsOn`, or bind `${{env:{far[0].variables[0]}}}`"
    return Problem("config/upstreams-left-out", message, hint, Place(config.document.file))


def _read_account_values(config: Config, env: Mapping[str, str]) -> Pairs:
    """Read the account and API endpoint from the environment."""
    names = list_account_variables(config)
    return tuple((name, redact_userinfo(env[name])) for name in names if env.get(name))


# Which packages the Python functions of a service need, and the files that say so.


class ListedPackages(Struct, frozen=True):
    """A row for each Python function."""

    rows: tuple[FunctionPackages, ...]
    # The paths that determined them, existing or not.
    looked_at: tuple[Path, ...]
    warnings: tuple[Problem, ...] = ()
    # The environment variables that determined them.
    variables: frozenset[str] = frozenset()


def list_packages(
    config: Config, workspace: Path, root: str, environment: Mapping[str, str]
) -> ListedPackages:
    facts = find_provider_facts(config.provider.id)
    brought = tuple(name for name, _ in facts.platform.python_packages) if facts else ()
    users = [(one, find_python_target(config, one)) for one in config.functions]
    # An image has only the packages that its base contains, which need not be those of the runtime.
    runtimes = {one.name: () if one.build.package.is_image else brought for one in config.functions}
    groups = {one.build.optional.groups for one in config.functions}
    lookups = {one: PackageFolders(workspace, root, one) for one in groups}
    wanted = [
        (one, lookups[one.build.optional.groups].of(one.entry), target)
        for one, target in users
        if target
    ]
    keys = [
        (found.folder, target, one.build.optional, runtimes[one.name])
        for one, found, target in wanted
    ]
    sources = {
        key: read_public_source(
            workspace,
            key[0],
            PackageRequest(brought=key[3], target=key[1], optional=key[2]),
        )
        for key in dict.fromkeys(keys)
    }
    # Functions with the same packages share these values: a lock can have hundreds of lines.
    lists = {
        key: _build_row(key[0], source, key[1], environment) for key, source in sources.items()
    }
    rows = tuple(
        replace(lists[key], function=one.name)
        for (one, _, _), key in zip(wanted, keys, strict=True)
    )
    looked_at = {Path(path) for _, found, _ in wanted for path in found.looked_at}
    seen = (name for one in sources.values() for name in (*one.seen.files, *one.seen.absent))
    warnings = dict.fromkeys(one for source in sources.values() for one in source.warnings)
    paths = tuple(sorted(looked_at | {workspace / one for one in seen}))
    variables = frozenset().union(
        *(
            list_index_variables(_list_indexes(source))
            for key, source in sources.items()
            if any(isinstance(one, WheelInputs) and one.indexes for one in lists[key].wheels)
        )
    )
    return ListedPackages(rows, paths, tuple(warnings), variables)


def _list_indexes(source: VendorSource) -> tuple[str, ...]:
    return (*source.where.reveal(), *list_index_lines(source.text))


def _build_row(
    folder: str, source: VendorSource, target: PythonTarget, environment: Mapping[str, str]
) -> FunctionPackages:
    """Build the row of a function without a name."""
    selected = select_lines(source.text, target)
    lines = selected or source.text
    repositories = list_git_sources(list_target_lines(lines, target))
    _check_versions(lines, repositories, source.file)
    wheels: tuple[WheelInputs, ...] = ()
    if not is_target_missing(source.text, target.title):
        wheels = _list_wheels(lines, target, hash_indexes(_list_indexes(source), environment))
    return FunctionPackages(
        function="",
        folder=folder,
        text=source.text,
        without=source.without,
        local=source.folders,
        selected=selected,
        wheels=(*wheels, *_list_git_wheels(repositories, source)),
    )


def _check_versions(selected: str, repositories: Iterable[GitSource], file: str) -> None:
    """Raise for two commits of a package, or a commit and a version: both would be packed."""
    versions = [(one.name, one.version) for one in list_hashed_pins(selected)]
    conflict = find_version_conflict((*versions, *((one.name, one.origin) for one in repositories)))
    if conflict:
        message = f"`{file}` lists {conflict.reason}"
        hint = "list one of them, also in dependency groups and extras"
        raise FabricError(Problem("input/package-source", message, hint, Place(file)))


def _list_git_wheels(
    repositories: Iterable[GitSource], source: VendorSource
) -> tuple[GitWheelInputs, ...]:
    wheels = (
        GitWheelInputs(
            name=one.name,
            url=one.url,
            commit=one.commit,
            subdirectory=one.subdirectory,
            files=source.seen.files,
        )
        for one in repositories
    )
    # Two lines of one repository can have other extras.
    return tuple(dict.fromkeys(wheels))


def _list_wheels(selected: str, target: PythonTarget, indexes: str) -> tuple[WheelInputs, ...]:
    return tuple(
        WheelInputs(
            name=pin.name,
            version=pin.version,
            hashes=pin.hashes,
            python=target.python,
            platform=target.architecture,
            glibc=target.glibc,
            indexes=indexes if len(pin.hashes) > 1 else "",
        )
        for pin in list_hashed_pins(selected)
    )
