"""The start order of a server as plain data for another process."""

from pathlib import Path

from msgspec import Struct

from fabric.daemon.options import (
    AnswerCache,
    BodyTrust,
    NetworkOptions,
    ServedProject,
    ServerKind,
    ServerOptions,
)
from fabric.daemon.server.clients import is_loopback, parse_network
from fabric.daemon.server.keys import KeyDigest, Keys

KEY_VARIABLE = "FABRIC_DAEMON_API_KEY"
CACHE_VARIABLE = "FABRIC_DAEMON_CACHE_URL"
# What only a server is to know: no config, command or function of anybody is handed it.
OWN_VARIABLES = frozenset((KEY_VARIABLE, CACHE_VARIABLE))


class ServeDoor(Struct, frozen=True):
    """The address, the rate limit, trusted proxies and accepted host names."""

    address: str
    port: int
    per_minute: int = 0
    proxies: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


class ServeOrder(Struct, frozen=True):
    """A start order without keys; it has only their hashes."""

    kind: ServerKind
    # Contains `.fabric`.
    folder: str
    door: ServeDoor
    project: ServedProject
    cache: AnswerCache = AnswerCache()
    trust: BodyTrust = BodyTrust()
    digests: tuple[KeyDigest, ...] = ()

    @property
    def keys(self) -> Keys:
        return Keys(self.digests)

    @property
    def is_insecure(self) -> bool:
        return not self.digests and not is_loopback(self.door.address)

    @property
    def options(self) -> ServerOptions:
        proxies = tuple(map(parse_network, self.door.proxies))
        door = NetworkOptions(
            self.door.address, self.door.port, self.door.per_minute, proxies, self.door.hosts
        )
        return ServerOptions(self.kind, door, self.project, self.cache, self.trust)

    @property
    def log(self) -> Path:
        return Path(self.folder) / ".fabric" / "daemon.log"
