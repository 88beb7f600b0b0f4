"""The client address of a request: the peer, or the one forwarded by a trusted proxy."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TypeAlias

from fabric.daemon.options import Network
from fabric.model.problems import FabricError, Problem

Address: TypeAlias = IPv4Address | IPv6Address
# Of an IPv6 network a customer mostly has this much alone.
_PREFIX = 64


def find_client_address(peer: str, forwarded: str, proxies: Sequence[Network]) -> str:
    """Find the client address. `forwarded` is read from the right up to the first untrusted
    address.

    Entries further left can be forged.
    """
    found = _parse_address(peer)
    if found is None:
        return peer
    entries = [entry.strip() for entry in forwarded.split(",")]
    while entries and _is_in(found, proxies):
        further = _parse_address(_strip_port(entries.pop()))
        if further is None:
            break
        found = further
    return str(found)


def group_client(client: str) -> str:
    """Under which name a client's requests are counted."""
    address = _parse_address(client)
    if isinstance(address, IPv6Address):
        return str(ip_network((address, _PREFIX), strict=False))
    return client


def is_loopback(address: str) -> bool:
    found = _parse_address(address)
    return address == "localhost" or (found is not None and found.is_loopback)


def parse_network(text: str) -> Network:
    """`--trusted-proxy`: an address, or a network of them."""
    try:
        return ip_network(text.strip(), strict=False)
    except ValueError as error:
        hint = "use an address or a network, such as 10.0.0.0/8"
        problem = Problem("usage/bad-network", f"invalid value for --trusted-proxy: `{text}`", hint)
        raise FabricError(problem) from error


def is_proxy(peer: str, proxies: Sequence[Network]) -> bool:
    found = _parse_address(peer)
    return found is not None and _is_in(found, proxies)


def _is_in(address: Address, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks)


def _parse_address(text: str) -> Address | None:
    try:
        # The zone of a link-local address is this machine's own name for it.
        found = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(found, IPv6Address) and found.ipv4_mapped:
        return found.ipv4_mapped
    return found


def _strip_port(entry: str) -> str:
    """Some proxies write `192.0.2.1:4711` and `[2001:db8::1]:4711`."""
    if entry.startswith("["):
        return entry[1:].partition("]")[0]
    return entry.partition(":")[0] if entry.count(":") == 1 else entry
