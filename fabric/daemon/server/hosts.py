"""The hostnames of a server. They expose foreign pages whose hostname points to this machine."""

from collections.abc import Mapping

from msgspec import Struct

from fabric.daemon.server.clients import is_loopback

_SAFE = frozenset(("GET", "HEAD", "OPTIONS"))


class HostNames(Struct, frozen=True):
    """`names` in lowercase. With `any_beyond` every name is accepted from beyond loopback."""

    names: frozenset[str] = frozenset()
    any_beyond: bool = False

    def knows(self, host: str, local: str) -> bool:
        """Return whether the host is known. `local` is the server's address of the connection."""
        if self.any_beyond and not is_loopback(local):
            return True
        name = normalize_host(host)
        return (
            name in self.names or name == local or name.endswith(".localhost") or is_loopback(name)
        )


def build_host_names(
    address: str, own: str, more: tuple[str, ...], *, has_keys: bool = False
) -> HostNames:
    """Build the accepted hostnames: only own ones, unless a key is required.

    With DNS rebinding a foreign page points its hostname to this server, and its requests are
    same-origin.
    """
    known = ("localhost", address, own, *more)
    any_beyond = has_keys and not (is_loopback(address) or more)
    return HostNames(frozenset(normalize_host(one) for one in known if one), any_beyond)


def normalize_host(host: str) -> str:
    """Normalize a host: without port and final dot."""
    name = host.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return (name.partition(":")[0] if name.count(":") == 1 else name).rstrip(".")


def is_safe(method: str) -> bool:
    """Return whether the HTTP method changes nothing."""
    return method in _SAFE


def is_cross_site(method: str, headers: Mapping[str, str]) -> bool:
    """Return whether a browser sends this request for a foreign page. Without both headers it is
    not a browser."""
    if is_safe(method):
        return False
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None and site.strip().lower() != "same-origin":
        return True
    return origin is not None and not _is_own(origin.strip().lower(), headers.get("host", ""))


def is_unexplained(method: str, headers: Mapping[str, str]) -> bool:
    """Return whether a changing request lacks its origin."""
    return not (is_safe(method) or "sec-fetch-site" in headers or "origin" in headers)


def _is_own(origin: str, host: str) -> bool:
    scheme, mark, rest = origin.partition("://")
    return bool(mark) and scheme in ("http", "https") and rest == host.strip().lower()
