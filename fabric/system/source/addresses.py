"""Public addresses, and permitted redirects. No effects."""

import ipaddress
from typing import TypeAlias

from msgspec import Struct

_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

# Networks whose last 32 bits are an IPv4 address that a gateway goes to.
_TRANSLATED = tuple(
    ipaddress.ip_network(net) for net in ("64:ff9b::/96", "64:ff9b:1::/48", "::/96")
)


class Hop(Struct, frozen=True):
    """One stop of a download: its protocol and the reached address."""

    scheme: str
    address: str


def explain_refusal(here: Hop, there: Hop) -> str:
    """Return why a redirect is not followed; empty if it is permitted."""
    if here.scheme == "https" and there.scheme != "https":
        return "it redirects from https to http"
    if is_public(here.address) and not is_public(there.address):
        return "it redirects from a public to a private address"
    return ""


def is_public(address: str) -> bool:
    """Return whether an address is public: not private, local, shared or reserved."""
    return all(_is_global(one) for one in _list_embedded(ipaddress.ip_address(address)))


def _is_global(address: _Address) -> bool:
    site_local = isinstance(address, ipaddress.IPv6Address) and address.is_site_local
    return address.is_global and not address.is_multicast and not site_local


def _list_embedded(address: _Address) -> tuple[_Address, ...]:
    """Return the address, or the addresses embedded in it: mapped, translated and tunneled ones are
    routed to them."""
    if isinstance(address, ipaddress.IPv4Address):
        return (address,)
    if address.ipv4_mapped:
        return (address.ipv4_mapped,)
    if address.sixtofour:
        return (address, address.sixtofour)
    if address.teredo:
        return (address, *address.teredo)
    if any(address in network for network in _TRANSLATED):
        return (ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF),)
    return (address,)
