"""Open the DNS backend: the config's, or a file in simulated mode."""

from collections.abc import Mapping

from msgspec import Struct

from fabric.app.router.files import RouterFiles
from fabric.model.problems import Problem
from fabric.model.switches import is_on
from fabric.providers.connections import Connections
from fabric.providers.dns_contract import DnsBackend
from fabric.providers.dns_registry import DNS_FACTS, build_dns_backend, choose_dns_kind
from fabric.providers.zone_file.backend import ZoneFile
from fabric.router.settings import RouterSettings


class OpenedBackend(Struct, frozen=True):
    backend: DnsBackend
    is_simulated: bool
    warnings: tuple[Problem, ...] = ()


def open_dns_backend(
    router: RouterSettings, files: RouterFiles, env: Mapping[str, str], connections: Connections
) -> OpenedBackend:
    """Open the real DNS backend in real mode with credentials, otherwise a file."""
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
    return OpenedBackend(build_dns_backend(kind, env, connections), is_simulated=False)


def _unset(router: RouterSettings, missing: tuple[str, ...]) -> Problem:
    return Problem(
        "router/no-credentials",
        f"`{router.hostname}` is managed only in a local zone file: {', '.join(missing)} of the "
        f"DNS backend `{router.provider}` must be set",
        hint="set the missing variables in the environment or in `.env`",
    )
