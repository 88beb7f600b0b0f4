"""The desk that tasks work from: their config's values, their providers, their records."""

import json
import os
import shlex
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from fabric.app.left_payloads import PAYLOADS
from fabric.app.project.files import calling_environment
from fabric.app.project.placement import Placement
from fabric.app.project.plan_rows import trigger_json
from fabric.app.settings import Settings
from fabric.config.resolve.placeholders import filled_in
from fabric.config.rules.env_size import excess
from fabric.config.values import Config, Function
from fabric.graph.compile import ServiceUnit, spec_of
from fabric.graph.judge import release_output
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Deployment, Mode, Record, RecordRef
from fabric.model.secrecy import looks_secret, without_values
from fabric.model.secret import Secret
from fabric.model.task import Pairs
from fabric.model.task_id import name_of
from fabric.providers.contract import Deployer, DeploymentAddress, Released, ResourceAddress
from fabric.providers.registry import deployer_of
from fabric.providers.run_command import CommandEnvironment
from fabric.state.records.archives import archive_path, find_archive, keep_archive
from fabric.state.records.transaction import RecordTransaction
from fabric.system.clock import SystemClock, stamp
from fabric.tasks.deploy_tools import OpenRecord, Values

_USUAL = "fabric.yml"
_TOO_LARGE = "deploy/environment-too-large"
# Shorter values stand inside of common words: to hide them would hide nothing.
_SHORTEST_HIDDEN = 4


class Units:
    """The services with their configs, read when the first of them is asked for."""

    def __init__(self, load: Callable[[], Iterable[ServiceUnit]]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._found: dict[str, ServiceUnit] | None = None

    def all(self) -> Mapping[str, ServiceUnit]:
        with self._lock:
            if self._found is None:
                self._found = {unit.service: unit for unit in self._load()}
            return self._found

    def get(self, service: str) -> ServiceUnit | None:
        return self.all().get(service)


class DeployWork(Struct, frozen=True):
    """What a run works on: where records lie, the configs by service, and how it is done."""

    placements: Mapping[RecordRef, Placement]
    units: "Units"
    deployment_ids: Mapping[RecordRef, str] = field(default_factory=dict)
    force: bool = False

    def config(self, ref: RecordRef) -> Config | None:
        unit = self.units.get(ref.service)
        return unit.config if unit else None

    def file(self, ref: RecordRef) -> Path:
        """The config that a record is of."""
        config = self.config(ref)
        return Path(self.placements[ref].folder, Path(config.file).name if config else _USUAL)


class RecordTools:
    """One for each run. A plan asks for records only: no config is read for it, unless what it has
    to warn of needs more words than a post has."""

    def __init__(
        self, transaction: RecordTransaction, work: DeployWork, settings: Settings
    ) -> None:
        self._transaction = transaction
        self._work = work
        self._settings = settings
        self._targets: Mapping[RecordRef, Deployment] = {}
        self._around: dict[RecordRef, CommandEnvironment] = {}

    def go_back_to(self, targets: Mapping[RecordRef, Deployment]) -> None:
        """What restores take records back to from now on."""
        self._targets = targets

    @property
    def force(self) -> bool:
        return self._work.force

    @property
    def units(self) -> Iterable[ServiceUnit]:
        """The services of this run, with their configs."""
        return self._work.units.all().values()

    def now(self) -> str:
        return stamp(SystemClock())

    def record(self, ref: RecordRef) -> Record | None:
        return self._transaction.record(ref)

    def locked_record(self, ref: RecordRef) -> OpenRecord:
        return self._transaction.locked_record(ref)

    def as_found(self, stage: str, releases: Sequence[str]) -> Pairs:
        found = ((name, self._transaction.record(ref_of_release(name, stage))) for name in releases)
        return tuple((name, release_output(one).digest) for name, one in found if one)

    def outputs_for(self, ref: RecordRef) -> dict[str, str]:
        """What the upstreams of a service give, now that it is to be deployed."""
        unit = self._work.units.get(ref.service)
        return {
            name: self._endpoint(ref_of_release(release, ref.stage), ref)
            for name, release in (unit.upstream_outputs if unit else ())
        }

    def _endpoint(self, upstream_service: RecordRef, taker: RecordRef) -> str:
        record = self._transaction.record(upstream_service)
        if record is None:
            raise FabricError(not_deployed(taker.service, upstream_service))
        return record.endpoint

    def deployer(self, ref: RecordRef, mode: Mode) -> Deployer:
        placement = self._work.placements[ref]
        extension = _extension(self._config(ref), placement.provider_id)
        return deployer_of(placement.provider_id, mode, self._surroundings(ref), extension)

    def _surroundings(self, ref: RecordRef) -> CommandEnvironment:
        """Made once for each record: its deploy and its release see the same."""
        if ref not in self._around:
            placement = self._work.placements[ref]
            env = calling_environment(Path(placement.folder), self._settings.env)
            hidden = hidden_values(env, self._config(ref))
            payloads = Path(placement.home, PAYLOADS)
            self._around[ref] = CommandEnvironment(
                Path(placement.folder), Secret(env), Secret(hidden), payloads
            )
        return self._around[ref]

    def _config(self, ref: RecordRef) -> Config | None:
        return self._work.config(ref)

    def address(self, ref: RecordRef) -> DeploymentAddress:
        placement = self._work.placements[ref]
        deployment_id = self._work.deployment_ids.get(ref, "")
        return DeploymentAddress(
            *(ref.service, ref.stage, ref.provider),
            placement.provider_id,
            placement.region,
            deployment_id,
        )

    def options(self, ref: RecordRef, provider: str = "") -> str:
        """How a command that is given from here names a record's config, stage and provider,
        or another provider of the same service."""
        named = replace(ref, provider=provider or ref.provider)
        return options_of(named, self._work.file(ref), self._settings)

    def full_address(self, ref: RecordRef) -> DeploymentAddress:
        placement, config = self._work.placements[ref], self._config(ref)
        outputs = self.outputs_for(ref)
        return replace(
            self.address(ref),
            extension=filled_in(_extension(config, placement.provider_id), outputs),
            resources=_resources(config, outputs),
            workflows=tuple((one.name, one.steps) for one in config.workflows) if config else (),
            secret_refs=tuple(pair for one in config.addons for pair in one.secrets)
            if config
            else (),
        )

    def values(self, ref: RecordRef, function: str) -> Values:
        config = self._config(ref)
        found = _function(config, function)
        if config is None or found is None:
            return Values()
        hidden = config.secret_values.reveal()
        env = with_values(found.env, self.outputs_for(ref))
        crowded = excess(function, env, config.provider.id)
        if crowded:
            raise FabricError(replace(crowded, code=_TOO_LARGE))
        unit = self._work.units.all()[ref.service]
        return Values(
            _triggers(found, frozenset()),
            found.layers,
            _triggers(found, hidden),
            tuple(without_values(layer, hidden) for layer in found.layers),
            Secret(env),
            Secret(found.env),
            spec_of(unit, found),
        )

    def too_large_now(self, ref: RecordRef) -> Iterator[Problem]:
        """Functions that would be refused with the addresses that their upstreams have now."""
        unit = self._work.units.get(ref.service)
        if unit is None:
            return
        upstream_services = (
            (name, ref_of_release(release, ref.stage)) for name, release in unit.upstream_outputs
        )
        records = (
            (name, self._transaction.record(upstream_service))
            for name, upstream_service in upstream_services
        )
        known = {name: record.endpoint for name, record in records if record}
        for one in unit.config.functions:
            env = with_values(one.env, known)
            crowded = excess(f"{ref.service}/{one.name}", env, unit.config.provider.id)
            if crowded:
                yield replace(crowded, code=_TOO_LARGE)

    def keep_archive(self, ref: RecordRef, content: bytes) -> Path:
        is_real = self._work.placements[ref].mode != Mode.SIMULATED
        return keep_archive(self._transaction.record_store(ref), ref, content, durable=is_real)

    def kept_archive(self, ref: RecordRef, sha256: str) -> Path:
        record_store = self._transaction.record_store(ref)
        find_archive(record_store, ref, sha256)
        return archive_path(record_store.home, sha256)

    def target(self, ref: RecordRef) -> Deployment:
        return self._targets[ref]

    def check_health(self, ref: RecordRef, mode: Mode, released: Released) -> None:
        config = self._config(ref)
        if mode is Mode.SIMULATED or config is None or not config.deploy.health_check_enabled:
            return
        from fabric.system.http_check import answers

        url = health_url(config.deploy.health_check_url, released.endpoint)
        said = answers(url)
        if said:
            raise FabricError(
                Problem(
                    "deploy/unhealthy",
                    f"the health check of `{ref.service}` failed: {url} {said}",
                    hint="mend the service or the check and deploy again, or `fabric rollback`",
                )
            )


def health_url(said: str, endpoint: str) -> str:
    """A path is below the endpoint, whatever path that has itself."""
    if not said or "://" in said:
        return said or endpoint
    return f"{endpoint.rstrip('/')}/{said.lstrip('/')}"


def options_of(ref: RecordRef, config: Path, settings: Settings) -> str:
    """How a command that is given from here names a record of a config."""
    file = os.path.relpath(config, settings.cwd)
    words = ("-c", file) if file != _USUAL else ()
    return shlex.join((*words, "--stage", ref.stage, "--provider", ref.provider))


def with_values(env: Pairs, outputs: Mapping[str, str]) -> Pairs:
    return tuple((name, filled_in(value, outputs)) for name, value in env)


def ref_of_release(name: str, stage: str) -> RecordRef:
    release = name_of(name)
    return RecordRef(release.service, stage, release.provider)


def not_deployed(service: str, upstream: RecordRef) -> Problem:
    return Problem(
        "deploy/upstream-not-deployed",
        f"`{service}` depends on `{upstream.service}`, "
        f"which is not deployed in stage `{upstream.stage}`",
        hint=f"deploy `{upstream.service}` first, or all of them with `fabric compose deploy`",
    )


def hidden_values(env: Mapping[str, str], config: Config | None) -> frozenset[str]:
    """Values that must not be shown: secrets of the config, and credentials around us."""
    found = {value for name, value in env.items() if looks_secret(name)}
    if config is not None:
        found |= config.secret_values.reveal()
        pairs = (pair for function in config.functions for pair in function.env)
        found |= {value for name, value in pairs if name in config.secret_names}
    return frozenset(value for value in found if len(value) >= _SHORTEST_HIDDEN)


def _extension(config: Config | None, provider_id: str) -> str:
    extensions = json.loads(config.extensions) if config else {}
    return json.dumps(extensions.get(provider_id) or {}, sort_keys=True)


def _function(config: Config | None, name: str) -> Function | None:
    functions = config.functions if config else ()
    return next((one for one in functions if one.name == name), None)


def _triggers(function: Function, hidden: frozenset[str]) -> tuple[str, ...]:
    rows = (trigger_json(trigger, hidden) for trigger in function.triggers)
    return tuple(json.dumps(row, sort_keys=True) for row in rows)


def _resources(config: Config | None, outputs: Mapping[str, str]) -> tuple[ResourceAddress, ...]:
    if config is None:
        return ()
    values = {name: value for one in config.functions for name, value in one.env}
    values = dict(with_values(tuple(values.items()), outputs))
    return tuple(
        ResourceAddress(one.name, one.type, one.env_var, Secret(values.get(one.env_var, "")))
        for one in config.resources
    )
