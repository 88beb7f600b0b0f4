"""The deployer of each record, its environment, and the service facts it receives."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.caching.payload_cleanup import PAYLOADS
from fabric.app.project.files import build_client_environment, list_env_file_names
from fabric.app.records.deploy_work import DeployWork
from fabric.app.records.known_records import UpstreamAddresses, with_values
from fabric.app.records.pinned_values import PinnedValues
from fabric.config.rules.late_settings import find_extension_problems
from fabric.config.values import Config, HttpTrigger
from fabric.model.catalog import FUNCTION_NAME, format_provider_title
from fabric.model.late_values import (
    fill_document,
    find_late_names,
    format_binding,
)
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Mode, RecordRef
from fabric.model.secrets.secrecy import is_secret_name
from fabric.model.secrets.secret import Secret
from fabric.model.task import Pairs
from fabric.providers.core.contract import (
    Deployer,
    DeploymentAddress,
    OwnLocator,
    PerFunctionEndpoints,
    Released,
    ResourceAddress,
    ServiceSupplies,
    Unsupported,
)
from fabric.providers.core.observing import Observer
from fabric.providers.core.payloads import format_json
from fabric.providers.core.provider import CommandEnvironment, Connections, ProviderContext
from fabric.providers.core.redaction import Redaction, build_redaction
from fabric.providers.registry import open_deployer, open_observer

# Shorter values stand inside of common words: to hide them would hide nothing.
_SHORTEST_HIDDEN = 4


class PlacedDeployers:
    """The deployers of one run. The owner of `connections` closes them."""

    def __init__(
        self,
        work: DeployWork,
        upstreams: UpstreamAddresses,
        pinned: PinnedValues,
        connections: Connections | None = None,
    ) -> None:
        self._work = work
        self._upstreams = upstreams
        self._pinned = pinned
        self._around: dict[RecordRef, CommandEnvironment] = {}
        self._connections = connections

    def deployer(self, ref: RecordRef, mode: Mode) -> Deployer:
        return open_deployer(self._build_context(ref), mode)

    def open_limits(self, ref: RecordRef) -> Deployer:
        return open_deployer(replace(self._build_context(ref), has_roles=True), Mode.REAL)

    def observer(self, ref: RecordRef, kind: str) -> Observer:
        """`kind` is logs, metrics or traces."""
        return open_observer(self._build_context(ref), kind)

    def _build_context(self, ref: RecordRef) -> ProviderContext:
        provider_id = self._work.placements[ref].provider_id
        return ProviderContext(
            provider_id=provider_id,
            around=self._build_environment(ref),
            extension=format_json(self._fill_extension(ref, provider_id)),
            connections=self._connections or Connections(),
            has_roles=_has_roles(self._work.config(ref)),
        )

    def _fill_extension(self, ref: RecordRef, provider_id: str) -> object:
        """Fill the late values that are known at this time of the run."""
        extension = _find_extension(self._work.config(ref), provider_id)
        if not _find_late_names(extension):
            return extension
        return fill_document(extension, self._upstreams.find_known(ref))

    def build_redaction(self, ref: RecordRef) -> Redaction:
        """Return the redaction for everything that is shown of this service."""
        around = self._build_environment(ref)
        return build_redaction(around.hide.reveal(), around.env.reveal().items())

    def address(self, ref: RecordRef) -> DeploymentAddress:
        one = self._work.placements[ref]
        deployment_id = self._work.deployment_ids.get(ref, "")
        return DeploymentAddress(
            *(ref.service, ref.stage, ref.provider),
            one.provider_id,
            one.region,
            deployment_id,
            function_names=list_function_names(self._work.config(ref)),
        )

    def find_known_address(self, ref: RecordRef) -> DeploymentAddress:
        """Return the address with the settings that are known before a run."""
        extension = self._fill_extension(ref, self._work.placements[ref].provider_id)
        return replace(self.address(ref), extension=format_json(extension))

    def full_address(self, ref: RecordRef) -> DeploymentAddress:
        config = self._work.config(ref)
        provider_id = self._work.placements[ref].provider_id
        extension = _find_extension(config, provider_id)
        texts = (format_json(extension), *(_list_resource_texts(config) if config else ()))
        outputs = {**self._upstreams.all(ref), **self._pinned.read(ref, texts).reveal()}
        if _find_late_names(extension):
            extension = fill_document(extension, outputs)
            problems = tuple(find_extension_problems(provider_id, extension))
            # Simulated values do not have the form of real ones.
            if problems and self._work.placements[ref].mode != Mode.SIMULATED:
                raise FabricError(*problems)
        address = replace(self.address(ref), extension=format_json(extension))
        if config is None:
            return address
        secret_refs = tuple(pair for one in config.supplies.addons for pair in one.secrets)
        supplies = ServiceSupplies(
            _list_resources(config, outputs),
            tuple((one.name, one.steps) for one in config.supplies.workflows),
            with_values(secret_refs, outputs),
        )
        return replace(address, supplies=supplies)

    def locate_own(self, ref: RecordRef, names: Sequence[str]) -> Mapping[str, str]:
        """Return addresses of functions and workflows by their names in the config, such as
        `function:NAME.arn`."""
        if not names:
            return {}
        deployer = self.deployer(ref, Mode(self._work.placements[ref].mode))
        if not isinstance(deployer, OwnLocator):
            message = f"`{ref.service}` uses `{format_binding(names[0])}`"
            hint = "only deploys to AWS Lambda without a custom command support it"
            raise FabricError(Problem("config/unfit", message, hint))
        address = replace(self.address(ref), previous=self._upstreams.find_record(ref))
        return deployer.locate_own(address, names)

    def list_hidden_values(self, ref: RecordRef) -> Secret[frozenset[str]]:
        return self._build_environment(ref).hide

    def check_health(self, ref: RecordRef, mode: Mode, released: Released) -> None:
        config = self._work.config(ref)
        if mode is Mode.SIMULATED or config is None or not config.deploy.health_check.enabled:
            return
        from fabric.system.http.http_check import find_unreachable_reason

        asked = list_health_urls(config, self.deployer(ref, mode), released)
        failed = [f"{url} {said}" for url in asked if (said := find_unreachable_reason(url))]
        if failed:
            raise FabricError(
                Problem(
                    "deploy/unhealthy",
                    f"the health check of `{ref.service}` failed: {', '.join(failed)}",
                    hint="fix the service or the check and deploy again, or run: fabric rollback",
                )
            )

    def _build_environment(self, ref: RecordRef) -> CommandEnvironment:
        """Return the command environment, built once per record. Deploy and release share it."""
        if ref not in self._around:
            placement = self._work.placements[ref]
            process = self._work.settings.env
            env = build_client_environment(placement.env_place, process)
            key = self._work.settings.state_key.reveal() or ""
            hidden = collect_hidden_values(env, self._work.config(ref)) | ({key} if key else set())
            self._around[ref] = CommandEnvironment(
                Path(placement.folder),
                Secret(env),
                Secret(hidden),
                Path(placement.home, PAYLOADS),
                filed=list_env_file_names(placement.env_place, process),
            )
        around = self._around[ref]
        read = self._pinned.list_read(ref).reveal()
        hide = around.hide.reveal() | {one for one in read if len(one) >= _SHORTEST_HIDDEN}
        return replace(around, hide=Secret(hide)) if read else around


def _has_roles(config: Config | None) -> bool:
    """Return whether each function has `role` or `permissions`. Commands that read only the places
    of records, such as a removal, need no role."""
    if config is None:
        return False
    settings = (dict(one.settings).keys() for one in config.functions)
    return config.document.is_reduced or all({"role", "permissions"} & keys for keys in settings)


def collect_hidden_values(env: Mapping[str, str], config: Config | None) -> frozenset[str]:
    """Collect the values that must not be shown: config secrets and credentials."""
    found = {value for name, value in env.items() if is_secret_name(name)}
    if config is not None:
        found |= config.document.secret_values.reveal()
        pairs = (pair for function in config.functions for pair in function.env)
        found |= {value for name, value in pairs if name in config.document.secret_names}
    return frozenset(value for value in found if len(value) >= _SHORTEST_HIDDEN)


def list_function_names(config: Config | None) -> Pairs:
    """List the names at the provider that the config sets, by function."""
    functions = config.functions if config else ()
    named = ((one.name, dict(one.settings).get(FUNCTION_NAME, "")) for one in functions)
    return tuple((name, text) for name, text in named if text)


def _find_extension(config: Config | None, provider_id: str) -> object:
    extensions = json.loads(config.provider.extensions) if config else {}
    return extensions.get(provider_id) or {}


def _find_late_names(extension: object) -> tuple[str, ...]:
    return find_late_names(json.dumps(extension, ensure_ascii=False))


def _list_resource_texts(config: Config) -> Iterator[str]:
    """List the texts that contain addresses of resources."""
    names = {one.env_var for one in config.supplies.resources}
    for function in config.functions if names else ():
        yield from (value for name, value in function.env if name in names)


def _list_resources(config: Config, outputs: Mapping[str, str]) -> tuple[ResourceAddress, ...]:
    values = {name: value for one in config.functions for name, value in one.env}
    values = dict(with_values(tuple(values.items()), outputs))
    return tuple(
        ResourceAddress(one.name, one.type, one.env_var, Secret(values.get(one.env_var, "")))
        for one in config.supplies.resources
    )


# Health check URLs of a service, and their problems that are visible without a call.


_KEYS = ("deploy", "healthCheck", "url")


class _HealthRoute(Struct, frozen=True):
    """A route that can be called without a body."""

    function: str
    path: str
    # The path that the function's output URL ends with.
    first: str


def list_health_urls(config: Config, deployer: Deployer, released: Released) -> tuple[str, ...]:
    """List the health check URLs. All of them must respond."""
    said = config.deploy.health_check.url
    if "://" in said or not isinstance(deployer, PerFunctionEndpoints):
        return (build_health_url(said, released.endpoint),)
    outputs = dict(released.outputs)
    found = (_build_route_address(one, outputs) for one in _select_health_routes(config, said))
    return tuple(one for one in found if one)


def build_health_url(said: str, endpoint: str) -> str:
    """Build the health check URL: the path is appended to the endpoint and its path."""
    if not said or "://" in said:
        return said or endpoint
    return f"{endpoint.rstrip('/')}/{said.lstrip('/')}"


def find_health_misfits(config: Config, deployer: Deployer) -> Iterator[Unsupported]:
    """Find health check paths that match no function, if functions have separate endpoints."""
    said, is_enabled = config.deploy.health_check.url, config.deploy.health_check.enabled
    if not is_enabled or "://" in said or not isinstance(deployer, PerFunctionEndpoints):
        return
    if not _select_health_routes(config, said):
        what = f"url `{said}` is not a GET route" if said else "no url is set"
        message = (
            f"invalid `deploy.healthCheck` of `{config.service}`: {what} "
            f"(each function has a separate URL on {format_provider_title(config.provider.id)})"
        )
        hint = "set `deploy.healthCheck.url` to a GET route without parameters, or to a full URL"
        yield Unsupported(
            "", Problem("config/unfit", message, hint), keys=_KEYS[: 3 if said else 2]
        )


def _select_health_routes(config: Config, said: str) -> Sequence[_HealthRoute]:
    """Select the routes of this path, or without a path the first route of each function."""
    if said:
        return [
            one for one in _list_health_routes(config) if one.path.strip("/") == said.strip("/")
        ]
    first: dict[str, _HealthRoute] = {}
    for one in _list_health_routes(config):
        first.setdefault(one.function, one)
    return list(first.values())


def _list_health_routes(config: Config) -> Iterator[_HealthRoute]:
    for function in config.functions:
        http = [one for one in function.triggers if isinstance(one, HttpTrigger)]
        for one in http:
            if one.method.upper() in ("GET", "ANY") and "{" not in one.path:
                yield _HealthRoute(function.name, one.path, http[0].path)


def _build_route_address(route: _HealthRoute, outputs: Mapping[str, str]) -> str:
    base = outputs.get(f"url_{route.function}", "").removesuffix(f"/{route.first.lstrip('/')}")
    return build_health_url(route.path, base) if base else ""
