"""One router: its config, its recorded endpoints and its DNS backend."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.project.files import build_client_environment
from fabric.app.request import Where
from fabric.app.router.files import RouterFiles
from fabric.app.settings import Settings
from fabric.app.state.scope import StateRequest, open_scope
from fabric.config.values import Config
from fabric.graph.service_unit import ServiceUnit
from fabric.model.problems import FabricError, Place, Problem, raise_if_any
from fabric.model.records.record import Lifecycle, Mode, Record, RecordRef
from fabric.model.routing.hosts import extract_request_target, extract_routable_host
from fabric.model.routing.routing import DesiredRouting, EndpointShare, Weights
from fabric.model.secrets.secrecy import redact_userinfo
from fabric.model.secrets.secret import Secret
from fabric.model.switches import is_on
from fabric.providers.core.provider import CommandEnvironment, Connections, ProviderContext
from fabric.providers.core.routes import DnsBackend
from fabric.providers.dns_registry import DNS_FACTS, build_dns_backend, choose_dns_kind
from fabric.providers.zone_file.backend import ZoneFile
from fabric.router.history import find_last_applied, read_weights
from fabric.router.settings import RouterSettings, list_target_labels, read_router_settings
from fabric.router.weights import divide_evenly, merge_weights
from fabric.state.records.transaction import LockPolicy, read_unlocked
from fabric.state.store import RecordStore

# In the place of a provider: the lock of a name lies beside those of the records.
LOCKED_AS = "router"
NOTHING_KNOWN: Mapping[str, Record | None] = MappingProxyType({})


class RouterRequest(Struct, frozen=True):
    """The selected router and the lock timeout."""

    command: str
    where: Where
    lock_timeout: float = 0.0


class RoutedTarget(Struct, frozen=True):
    """One target of the fabric. Without an address it is not deployed."""

    label: str
    provider_id: str
    url: str = ""
    is_simulated: bool = True

    @property
    def host(self) -> str:
        return extract_routable_host(self.url)


class RouterDns(Struct, frozen=True):
    """The DNS backend. With `is_simulated` it is a file."""

    backend: DnsBackend
    is_simulated: bool


class RouterScope(Struct, frozen=True):
    """A router and its DNS backend."""

    config: Config
    router: RouterSettings
    targets: tuple[RoutedTarget, ...]
    files: RouterFiles
    record_store: RecordStore
    lock_policy: LockPolicy
    dns: RouterDns
    units: tuple[ServiceUnit, ...]
    env: Mapping[str, str]
    warnings: tuple[Problem, ...] = ()

    @property
    def ref(self) -> RecordRef:
        return RecordRef(self.config.service, self.config.stage, LOCKED_AS)

    @property
    def owner(self) -> str:
        return f"{self.config.service}/{self.config.stage}"

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(one.label for one in self.targets)

    def label_of(self, word: str) -> str:
        """A label, or the id of a provider that one label has."""
        if word in self.labels:
            return word
        found = [one.label for one in self.targets if one.provider_id == word]
        if len(found) > 1:
            listed = ", ".join(f"`{one}`" for one in found)
            message = f"ambiguous provider `{word}`: more than one endpoint uses it: {listed}"
            hint = f"use a label, such as --provider {found[0]}"
            raise FabricError(Problem("usage/ambiguous-provider", message, hint))
        return found[0] if found else word

    def weights(self) -> Weights:
        """Return the weights of the target state, otherwise of the last applied change, otherwise
        of the backend."""
        known = dict(self._read_known_weights())
        return merge_weights(known, self.labels, self.router.canary.percent)

    def _read_known_weights(self) -> Weights:
        state = self.files.state()
        if state is not None:
            return tuple((one.label, one.weight) for one in state.endpoints)
        last = find_last_applied(self.files.readable_history())
        if last is not None:
            return read_weights(last.after)
        there = self.dns.backend.read(self.compute_routing(divide_evenly(self.labels)))
        return tuple(pair for part in there if part.is_ours for pair in part.weights)

    def compute_routing(self, weights: Weights) -> DesiredRouting:
        urls = {one.label: one.url for one in self.targets}
        targets = self.config.targets
        check = (
            extract_request_target(targets.health_check.url) if targets.health_check.enabled else ""
        )
        return DesiredRouting(
            hostname=self.router.hostname.lower(),
            owner=self.owner,
            shares=tuple(
                EndpointShare(label, urls.get(label, ""), weight) for label, weight in weights
            ),
            ttl=self.router.ttl,
            strategy=targets.routing,
            check_path=check,
        )

    def drop_missing_endpoints(self, label: str) -> "RouterScope":
        """Drop endpoints without an address, if DNS pointed to them before and this label has an
        address.

        Until then part of the traffic has no server.
        """
        missing = tuple(one.label for one in self.targets if not one.host)
        if not missing or label in missing or self.files.state() is None:
            return self
        there = tuple(one for one in self.targets if one.host)
        return replace(self, targets=there, warnings=(*self.warnings, _no_targets_problem(missing)))

    def at_config(self, problems: Iterable[Problem]) -> tuple[Problem, ...]:
        """Add the config place to these problems."""
        place = Place(self.config.document.file)
        return tuple(one if one.where else replace(one, where=place) for one in problems)

    def require_addresses(self) -> None:
        """Raise if an endpoint without an address would receive traffic."""
        missing = tuple(
            _no_address_problem(one, self.config) for one in self.targets if not one.host
        )
        raise_if_any(missing)


@contextlib.contextmanager
def open_router(
    asked: RouterRequest, settings: Settings, known: Mapping[str, Record | None] = NOTHING_KNOWN
) -> Iterator[RouterScope]:
    """`known` are records by label that a run has changed and not written yet."""
    main = StateRequest(
        asked.command,
        replace(asked.where, provider="", reading=replace(asked.where.reading, keeps_router=True)),
        lock_timeout=asked.lock_timeout,
    )
    with contextlib.ExitStack() as stack:
        found = stack.enter_context(open_scope(main, settings))
        router = read_router_settings(found.config)
        targets = tuple(
            _build_target(label, main, settings, known)
            for label in list_target_labels(found.config)
        )
        files = RouterFiles(Path(found.placement.home), found.service, found.one.stage)
        env = build_client_environment(found.placement.env_place, settings.env)
        connections = stack.enter_context(contextlib.closing(Connections()))
        around = CommandEnvironment(Path(found.placement.folder), Secret(env))
        opened = _open_dns_backend(router, files, around, connections)
        yield RouterScope(
            config=found.config,
            router=router,
            targets=targets,
            files=files,
            record_store=found.record_store,
            lock_policy=found.lock_policy,
            units=found.project.units,
            env=env,
            warnings=(*found.project.warnings, *opened.warnings, *_check_elsewhere(found.config)),
            dns=RouterDns(backend=opened.backend, is_simulated=opened.is_simulated),
        )


def _build_target(
    label: str, main: StateRequest, settings: Settings, known: Mapping[str, Record | None]
) -> RoutedTarget:
    """Build a target. Each target can have its own state backend."""
    where = replace(main.where, provider=label)
    with open_scope(replace(main, where=where), settings) as scope:
        scope.refuse_unknown()
        record = known[label] if label in known else read_unlocked(scope.record_store, scope.one)
        provider_id = scope.placement.provider_id
    is_live = record is not None and record.lifecycle is not Lifecycle.REMOVING
    if record is None or not is_live:
        return RoutedTarget(label, provider_id)
    return RoutedTarget(label, provider_id, record.endpoint, record.mode is Mode.SIMULATED)


def _check_elsewhere(config: Config) -> Iterator[Problem]:
    """Reject health checks of an address other than the endpoint."""
    said = config.targets.health_check.url
    if "://" in said:
        yield Problem(
            "router/check-address",
            "`fabric.healthCheck.url` is a full URL: only its path "
            f"`{extract_request_target(said)}` is used, with the URL of each endpoint",
            hint="set only the path",
            where=Place(config.document.file),
        )


def _no_targets_problem(labels: tuple[str, ...]) -> Problem:
    listed = ", ".join(f"`{one}`" for one in labels)
    message = f"endpoints without a URL receive no traffic: {listed}"
    hint = "deploy them, or remove the labels from `fabric.targets`"
    return Problem("router/left-out", message, hint)


def _no_address_problem(target: RoutedTarget, config: Config) -> Problem:
    if target.url:
        return Problem(
            "router/bad-address",
            f"the URL of endpoint `{target.label}` has no valid hostname: "
            f"{redact_userinfo(target.url)}",
            hint="fix the URL that the custom deploy command returns, then deploy "
            f"`{target.label}` with --force",
            where=Place(config.document.file),
        )
    return Problem(
        "router/no-address",
        f"endpoint `{target.label}` of `{config.service}` ({config.stage}) is not deployed",
        hint=f"run: fabric deploy --stage {config.stage} --provider {target.label}, or shift its "
        "traffic away: fabric router dns-shift",
        where=Place(config.document.file),
    )


class OpenedBackend(Struct, frozen=True):
    backend: DnsBackend
    is_simulated: bool
    warnings: tuple[Problem, ...] = ()


def _open_dns_backend(
    router: RouterSettings, files: RouterFiles, around: CommandEnvironment, connections: Connections
) -> OpenedBackend:
    """Open the real DNS backend in real mode with credentials, otherwise a file."""
    env = around.env.reveal()
    kind = choose_dns_kind(router.provider, env)
    facts = DNS_FACTS[kind]
    zone = files.zone_path
    if facts.is_file:
        text = zone.with_suffix(".zone")
        return OpenedBackend(ZoneFile(kind, zone, facts.wanted, text), is_simulated=True)
    own = facts.switch
    if not is_on(own if own in env else "FABRIC_REAL_DEPLOY", env):
        return OpenedBackend(ZoneFile(kind, zone, facts.wanted), is_simulated=True)
    missing = facts.missing(env)
    if missing:
        instead = ZoneFile(kind, zone, facts.wanted)
        return OpenedBackend(instead, is_simulated=True, warnings=(_unset(router, missing),))
    context = ProviderContext(provider_id=kind, around=around, connections=connections)
    return OpenedBackend(build_dns_backend(context), is_simulated=False)


def _unset(router: RouterSettings, missing: tuple[str, ...]) -> Problem:
    return Problem(
        "router/no-credentials",
        f"`{router.hostname}` is managed only in a local zone file: {', '.join(missing)} of the "
        f"DNS backend `{router.provider}` must be set",
        hint="set the missing variables in the environment or in `.env`",
    )
