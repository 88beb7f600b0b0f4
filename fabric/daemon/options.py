"""Server options as values."""

from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network
from typing import TypeAlias

from msgspec import Struct

Network: TypeAlias = IPv4Network | IPv6Network
DAEMON_PORT, CONFIG_API_PORT = 8766, 8765
PATIENCE = 0.22
_ENDPOINT_SECONDS = {"validate": 600, "resolve": 300, "plan": 300, "releases": 60}


class ServerKind(StrEnum):
    """The Configuration API answers queries about configs; the daemon also deploys."""

    DAEMON = "fabricd"
    CONFIG_API = "config-api"


class NetworkOptions(Struct, frozen=True):
    """Access options: who can connect, and how often. `per_minute` 0 means no limit.

    Forwarded addresses count only from `proxies`.
    """

    address: str = "0.0.0.0"  # noqa: S104 - the documented default
    port: int = DAEMON_PORT
    per_minute: int = 0
    proxies: tuple[Network, ...] = ()
    # Further hostnames of this server.
    hosts: tuple[str, ...] = ()


class BodyTrust(Struct, frozen=True):
    """Permissions of configs in requests. Without `prefixes`, bindings can read every variable that
    does not look like a credential; with them only variables with these prefixes."""

    is_full: bool = False
    prefixes: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


class ServedProject(Struct, frozen=True):
    """The server's own project: `config` is searched in `workspace`.

    A Configuration API has none; its workspace is only the base of received configs.
    """

    workspace: str = ""
    config: str = "fabric.yml"
    stage: str = "dev"
    dashboard: bool = False


class AnswerCache(Struct, frozen=True):
    """The answer cache. `seconds` 0 means each endpoint's default."""

    url: str = ""
    seconds: float = 300.0
    prefix: str = "fabric:daemon:api:"
    # The maximum wait for the cache.
    patience: float = PATIENCE

    def seconds_of(self, endpoint: str) -> float:
        own = _ENDPOINT_SECONDS[endpoint]
        return min(own, self.seconds) if self.seconds else own


class ServerOptions(Struct, frozen=True):
    kind: ServerKind = ServerKind.DAEMON
    door: NetworkOptions = NetworkOptions()
    project: ServedProject = ServedProject()
    cache: AnswerCache = AnswerCache()
    trust: BodyTrust = BodyTrust()
