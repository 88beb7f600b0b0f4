"""A service on this machine: its functions from their archives, and its problems."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from fabric.app.invoking.function_clients import build_simulated_caller
from fabric.app.invoking.installed_packages import add_layers, find_installed_packages
from fabric.app.invoking.layer_folders import unpack_layers
from fabric.app.local.artifacts import Artifacts, PackagedFunction
from fabric.app.local.workers import describe_workers
from fabric.app.project.opened import Project
from fabric.app.project.place_services import build_placement
from fabric.app.records.pinned_values import read_pinned_values
from fabric.app.records.placed_deployers import list_function_names
from fabric.app.settings import Settings
from fabric.config.values import Config, Function, HttpTrigger
from fabric.graph.service_unit import ServiceUnit
from fabric.local.access import OPEN, EventForm, FunctionRule, Limit, RouteAccess, TokenRule
from fabric.local.routes import HttpRoute
from fabric.model.calls.host_facts import find_host_facts
from fabric.model.calls.mapped_events import INTEGRATION
from fabric.model.hashing import hash_bytes
from fabric.model.late_values import fill_placeholders, find_late_names
from fabric.model.lookups import parse_pin
from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secret import NO_SECRETS, Secret
from fabric.model.task import Pairs
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.own_arns import fill_stand_in_arns
from fabric.providers.core.redaction import build_redaction
from fabric.runtimes.calls.function import (
    CallingProvider,
    CodeArchive,
    InstalledPackages,
    LocalFunction,
    LocalWorkers,
)
from fabric.system.files.disk import read_bytes

if TYPE_CHECKING:
    from fabric.providers.cloud1.core.http_settings import HttpSettings

_AWS = "cloud1-lambda"


class LocalService(Struct, frozen=True):
    """A local service. `functions` can be called; the others are `broken`."""

    name: str
    provider: str
    functions: Mapping[str, LocalFunction]
    routes: tuple[HttpRoute, ...]
    memory: Mapping[str, int]
    broken: Mapping[str, Problem]
    warnings: tuple[Problem, ...] = ()


def build_local_service(project: Project, artifacts: Artifacts, settings: Settings) -> LocalService:
    unit = project.units[0]
    config = unit.config
    given = _build_environments(project, unit, settings)
    broken = {**artifacts.broken, **dict(_list_functions_without_layer(config, artifacts))}
    packages = {name: one for name, one in artifacts.packages.items() if name not in broken}
    made = packages.keys() | broken.keys()
    chosen = tuple(one for one in config.functions if one.name in made)
    found = {one.name: _find_runtime(one, config) for one in chosen if one.name in packages}
    # What runtimes bring is looked for once for each of them.
    installed = {
        runtime: find_installed_packages(project.workspace, unit, runtime)
        for runtime in {*found.values()}
    }
    facts = find_host_facts(config.provider.id)
    hidden = config.document.secret_values.reveal() | given.secrets.reveal()
    redaction = build_redaction(
        hidden, (pair for one in given.values.values() for pair in one.reveal())
    )
    workers = describe_workers(config, artifacts, given.values)
    functions = {
        one.name: LocalFunction(
            name=one.name,
            code=_read_code_archive(packages[one.name], one.name),
            handler=packages[one.name].handler,
            runtime=found[one.name],
            env=given.values[one.name],
            timeout=float(one.capacity.timeout or facts.timeout),
            memory=one.capacity.memory,
            installed=_add_layers(installed[found[one.name]], one, artifacts),
            caller=_add_workers(build_simulated_caller(config, one), workers.workers),
            hide=redaction.over,
        )
        for one in chosen
        if one.name in found
    }
    return LocalService(
        name=config.service,
        provider=config.provider.label,
        functions=functions,
        routes=tuple(list_routes(config, chosen)),
        memory={one.name: one.capacity.memory for one in chosen},
        broken=broken,
        warnings=(*given.warnings, *workers.warnings),
    )


def _add_workers(caller: CallingProvider, workers: LocalWorkers | None) -> CallingProvider:
    return replace(caller, calls=replace(caller.calls, workers=workers)) if workers else caller


def _list_functions_without_layer(
    config: Config, artifacts: Artifacts
) -> Iterator[tuple[str, Problem]]:
    """List the functions with a layer that could not be built."""
    for one in config.functions:
        for layer in one.layers:
            if layer in artifacts.layers.broken and one.name in artifacts.packages:
                yield one.name, artifacts.layers.broken[layer]


def _add_layers(
    installed: InstalledPackages, function: Function, artifacts: Artifacts
) -> InstalledPackages:
    known = artifacts.layers.archives
    layers = [known[name] for name in function.layers if name in known]
    opt = unpack_layers(layers, artifacts.root / ".fabric" / "layers" / "opt")
    return add_layers(installed, opt, [name for name in function.layers if name not in known])


def _find_runtime(function: Function, config: Config) -> str:
    return function.runtime or config.provider.runtime


def _read_code_archive(package: PackagedFunction, name: str) -> CodeArchive:
    """Read the archive when a child process needs it. The file can have changed by then."""

    def read() -> bytes:
        try:
            content = read_bytes(package.path)
        except OSError:
            content = b""
        if hash_bytes(content) == package.sha256:
            return content
        message = f"the archive of `{name}` was changed after the build"
        hint = f"build again, and do not modify `{package.path}`"
        raise FabricError(Problem("local/archive-changed", message, hint))

    return CodeArchive(package.sha256, read)


def list_routes(config: Config, functions: Iterable[Function]) -> Iterator[HttpRoute]:
    """List the routes of functions, with the authorizers and limits of the HTTP API of AWS."""
    settings = _read_http_settings(config)
    for function in functions:
        for trigger in function.triggers:
            if isinstance(trigger, HttpTrigger):
                yield HttpRoute(
                    method=trigger.method.upper(),
                    path=trigger.path,
                    function=function.name,
                    cors=trigger.cors,
                    access=_build_keyed_access(settings, trigger) if settings else OPEN,
                    payload=_choose_payload(settings, trigger) if settings else "2.0",
                )


def _choose_payload(settings: "HttpSettings", trigger: HttpTrigger) -> str:
    found = str(json.loads(trigger.options or "{}").get("integration") or "")
    return found if found == INTEGRATION else settings.event_format


def _read_http_settings(config: Config) -> "HttpSettings | None":
    """Read the settings of the HTTP API; None if the service has none."""
    if config.provider.id != _AWS:
        return None
    said = (json.loads(config.provider.extensions).get(_AWS) or {}).get("http") or {}
    triggers = [one for function in config.functions for one in function.triggers]
    http = [one for one in triggers if isinstance(one, HttpTrigger)]
    if not said and not any(one.authorizer or one.options for one in http):
        return None
    from fabric.providers.cloud1.core.http_settings import HttpSettings  # few services have these

    return convert(said, HttpSettings)


def _build_keyed_access(settings: "HttpSettings", trigger: HttpTrigger) -> RouteAccess:
    access = _build_access(settings, trigger)
    needs_key = json.loads(trigger.options or "{}").get("apiKey") is True
    is_in_header = settings.api_key_source in ("", "header")
    return replace(access, api_keys=settings.api_keys) if needs_key and is_in_header else access


def _build_access(settings: "HttpSettings", trigger: HttpTrigger) -> RouteAccess:
    from fabric.providers.cloud1.core.http_settings import (
        JwtAuthorizer,
        RequestAuthorizer,
        TokenAuthorizer,
        list_identity_sources,
        read_authorizer_name,
    )

    options = json.loads(trigger.options or "{}")
    said = options.get("throttle") or (to_builtins(settings.throttle) if settings.throttle else {})
    limit = Limit(said["rate"], said["burst"]) if said else None
    name = read_authorizer_name(settings, {"authorizer": trigger.authorizer})
    found = settings.authorizers.get(name)
    if found is None:
        return RouteAccess(limit=limit, unchecked=name)
    sources = tuple(list_identity_sources(found))
    if isinstance(found, JwtAuthorizer):
        rule = TokenRule(
            name=name,
            source=sources[0],
            issuer=found.issuer,
            audience=found.audience,
            scopes=tuple(options.get("scopes") or ()),
        )
        return RouteAccess(rule, limit)
    if not isinstance(found, RequestAuthorizer | TokenAuthorizer) or not found.function:
        return RouteAccess(limit=limit, unchecked=name)
    check = FunctionRule(name=name, function=found.function, sources=sources, ttl=found.ttl)
    if isinstance(found, TokenAuthorizer):
        check = replace(check, form=EventForm.TOKEN, is_simple=False, pattern=found.pattern)
    elif settings.is_rest:
        check = replace(check, form=EventForm.REST, is_simple=False)
    else:
        check = replace(check, is_simple=found.simple is not False)
    return RouteAccess(check, limit)


class Environments(Struct, frozen=True):
    """Environment variables by function. Outputs of undeployed upstreams are omitted with a
    warning."""

    values: Mapping[str, Secret[Pairs]]
    warnings: tuple[Problem, ...] = ()
    # The values of secrets at AWS.
    secrets: Secret[frozenset[str]] = NO_SECRETS


def _build_environments(project: Project, unit: ServiceUnit, settings: Settings) -> Environments:
    secrets = _read_secrets(project, unit, settings).reveal()
    known = {**_list_upstream_addresses(project, unit, settings), **secrets}
    values: dict[str, Secret[Pairs]] = {}
    missing: dict[str, str] = {}
    config = unit.config
    place = (config.provider.label, config.provider.id, config.provider.region)
    names = list_function_names(config)
    address = DeploymentAddress(config.service, config.stage, *place, function_names=names)
    for function in config.functions:
        env = [(name, fill_stand_in_arns(value, address)) for name, value in function.env]
        filled = [(name, fill_placeholders(value, known)) for name, value in env]
        missing |= {
            name: find_late_names(value)[0] for name, value in filled if find_late_names(value)
        }
        kept = tuple((name, value) for name, value in filled if not find_late_names(value))
        values[function.name] = Secret(kept)
    warnings = tuple(_warn_of_missing_values(unit, missing))
    return Environments(values, warnings, Secret(frozenset(secrets.values())))


def _read_secrets(
    project: Project, unit: ServiceUnit, settings: Settings
) -> Secret[dict[str, str]]:
    place = build_placement(unit, project.workspace, project.home).env_place
    env = tuple(pair for one in unit.config.functions for pair in one.env)
    return read_pinned_values(place, settings.env, env)


def _warn_of_missing_values(unit: ServiceUnit, missing: Mapping[str, str]) -> Iterator[Problem]:
    releases = dict(unit.needs.outputs)
    for variable, output in sorted(missing.items()):
        upstream = releases.get(output, output)
        yield Problem(
            "local/upstream-not-deployed",
            f"`{variable}` is not set for functions: `{upstream}` is not deployed",
            hint="deploy it to this stage (a simulated deploy is enough)",
        )


def _list_upstream_addresses(
    project: Project, unit: ServiceUnit, settings: Settings
) -> Mapping[str, str]:
    """List the addresses of deployed upstreams. Only this opens state backends."""
    values = (one for function in unit.config.functions for _, one in function.env)
    names = {name for one in values for name in find_late_names(one)}
    if all(map(parse_pin, names)):
        return {}
    from fabric.app.records.scope import ScopeOptions, open_deploy_scope

    placement = build_placement(unit, project.workspace, project.home)
    others = (*project.units, *project.dependencies)
    beside = [build_placement(one, project.workspace) for one in others]
    options = ScopeOptions(lambda: project.units, dependencies=beside)
    with open_deploy_scope((placement,), settings, options) as scope:
        return scope.values.find_upstream_addresses(placement.ref)
