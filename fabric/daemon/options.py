"""How a server is to be run, as its options said it."""

from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network
from typing import TypeAlias

from msgspec import Struct

Network: TypeAlias = IPv4Network | IPv6Network
DAEMON_PORT, CONFIG_API_PORT = 8766, 8765
PATIENCE = 0.22
_ENDPOINT_SECONDS = {"validate": 600, "resolve": 300, "plan": 300, "releases": 60}


class ServerKind(StrEnum):
    """The Configuration API answers questions about configs; the daemon deploys as well."""

    DAEMON = "fabricd"
    CONFIG_API = "config-api"


class Door(Struct, frozen=True):
    """Who may come in, and how often. `per_minute` 0 is as often as one likes; addresses that
    proxies forward count only from `proxies`; `hosts` are more names that this server goes by."""

    address: str = "0.0.0.0"  # noqa: S104 - the documented default
    port: int = DAEMON_PORT
    per_minute: int = 0
    proxies: tuple[Network, ...] = ()
    hosts: tuple[str, ...] = ()


class BodyTrust(Struct, frozen=True):
    """What configs in requests may do. Without `prefixes` a binding has every variable that does
    not look like a credential; with them only those that begin so."""

    is_full: bool = False
    prefixes: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


class ServedProject(Struct, frozen=True):
    """The server's own project: `config` is looked up in `workspace`. A Configuration API has none:
    the workspace is only where configs of requests stand."""

    workspace: str = ""
    config: str = "fabric.yml"
    stage: str = "dev"
    dashboard: bool = False


class AnswerCache(Struct, frozen=True):
    """Where answers are kept. `seconds` 0 gives each endpoint its own time; `patience` is for how
    many of them a request waits for a cache."""

    url: str = ""
    seconds: float = 300.0
    prefix: str = "fabric:daemon:api:"
    patience: float = PATIENCE

    def seconds_of(self, endpoint: str) -> float:
        own = _ENDPOINT_SECONDS[endpoint]
        return min(own, self.seconds) if self.seconds else own


class ServerOptions(Struct, frozen=True):
    kind: ServerKind = ServerKind.DAEMON
    door: Door = Door()
    project: ServedProject = ServedProject()
    cache: AnswerCache = AnswerCache()
    trust: BodyTrust = BodyTrust()
