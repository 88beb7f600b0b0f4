"""Download a source to a file: few redirects, never to private networks, never above the size
limit."""

import contextlib
import hashlib
import http.client
import ipaddress
import os
import re
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, TypeAlias

from msgspec import Struct, field

from fabric.model.names import Digest
from fabric.model.problems import FabricError, Problem
from fabric.system.clock import Clock, SystemClock
from fabric.system.files.disk import write_problem
from fabric.system.source.location import Location, locate

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


class Network(Protocol):
    @property
    def clock(self) -> Clock: ...
    def addresses(self, host: str, port: int) -> tuple[str, ...]:
        """Return all addresses of a host, best first. Raises OSError if there is none."""

    def connect(self, address: str, port: int, seconds: float) -> socket.socket: ...
    def start_tls(self, plain: socket.socket, host: str) -> socket.socket:
        """Start TLS for the requested hostname, not for the address."""


class RealNetwork(Struct, frozen=True):
    clock: Clock = field(default_factory=SystemClock)

    def addresses(self, host: str, port: int) -> tuple[str, ...]:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return tuple(dict.fromkeys(str(place[0]) for *_, place in found))

    def connect(self, address: str, port: int, seconds: float) -> socket.socket:
        # An address is not looked up again: what was checked is what is reached.
        return socket.create_connection((address, port), seconds)

    def start_tls(self, plain: socket.socket, host: str) -> socket.socket:
        return ssl.create_default_context().wrap_socket(plain, server_hostname=host)


_CHUNK = 1 << 16
_OK = 200
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_SHA256 = re.compile(r"[0-9a-f]{64}")


class FetchLimits(Struct, frozen=True):
    """Limits: `quiet` for one response of the other side, `seconds` for the body."""

    size: int = 200_000_000
    redirects: int = 5
    quiet: float = 30
    seconds: float = 900


class Fetched(Struct, frozen=True):
    """A download."""

    path: Path
    # The final address after redirects, without its query.
    url: str
    sha256: Digest
    size: int
    warnings: tuple[Problem, ...] = ()


def fetch(
    url: str,
    target: Path,
    *,
    sha256: str = "",
    limits: FetchLimits | None = None,
    network: Network | None = None,
) -> Fetched:
    """Download to `target`, which must not exist; it does not exist after a failure."""
    wanted = _pin(sha256)
    agreed = limits or FetchLimits()
    way = _Way(network or RealNetwork(), agreed)
    with contextlib.ExitStack() as connections:
        arrived = way.follow(locate(url), connections)
        body = _read(arrived, agreed, way.network.clock)
        digest, size = _store(body, target)
    shown = arrived.location.shown
    if wanted and digest != wanted:
        target.unlink()
        raise _source_error(
            "hash", f"hash mismatch for `{shown}`: expected sha256 {wanted}, got {digest}"
        )
    warnings = (
        () if wanted or not arrived.insecure else (_insecure_warning(arrived.insecure, digest),)
    )
    return Fetched(target, shown, digest, size, warnings)


class _Arrived(Struct, frozen=True):
    """An open download."""

    location: Location
    response: http.client.HTTPResponse
    # The first address that was used without TLS.
    insecure: str


class _Way(Struct, frozen=True):
    network: Network
    limits: FetchLimits

    def follow(self, location: Location, connections: contextlib.ExitStack) -> _Arrived:
        here: Hop | None = None
        insecure = ""
        for _ in range(self.limits.redirects + 1):
            addresses = self._resolve_addresses(location, here)
            here, response = self._ask(location, addresses, connections)
            insecure = insecure or (location.shown if location.scheme == "http" else "")
            leads_to = response.headers.get("Location", "")
            if response.status in _REDIRECTS and leads_to:
                location = location.join(leads_to)
                continue
            if response.status != _OK:
                raise _source_error(
                    "status", f"`{location.shown}` returned status {response.status}"
                )
            return _Arrived(location, response, insecure)
        raise _source_error("redirect", f"too many redirects (maximum {self.limits.redirects})")

    def _resolve_addresses(self, location: Location, here: Hop | None) -> tuple[str, ...]:
        """Resolve once and check every address: the choice must not depend on a second lookup."""
        try:
            addresses = self.network.addresses(location.host, location.port)
        except (OSError, UnicodeError) as error:
            raise _unreachable_error(location, error) from error
        for address in addresses:
            why = explain_refusal(here, Hop(location.scheme, address)) if here else ""
            if why:
                message = f"refusing the redirect to `{location.shown}`: {why}"
                raise _source_error("redirect", message)
        return addresses

    def _ask(
        self,
        location: Location,
        addresses: tuple[str, ...],
        connections: contextlib.ExitStack,
    ) -> tuple[Hop, http.client.HTTPResponse]:
        try:
            address, channel = self._connect(location, addresses)
            # For the form of the request only: the channel is there, to an address we checked.
            connection = http.client.HTTPConnection(location.host, location.port)
            connections.callback(connection.close)
            connection.sock = channel
            headers = {"Host": location.authority, "User-Agent": "fabric"}
            connection.request("GET", location.target, headers=headers)
            response = connections.enter_context(connection.getresponse())
            return Hop(location.scheme, address), response
        except (OSError, http.client.HTTPException) as error:
            raise _unreachable_error(location, error) from error

    def _connect(self, location: Location, addresses: tuple[str, ...]) -> tuple[str, socket.socket]:
        """Connect to the first address that answers."""
        failure = OSError("its host has no address")
        for address in addresses:
            try:
                channel = self.network.connect(address, location.port, self.limits.quiet)
            except OSError as error:
                failure = error
                continue
            return address, self._start_tls(channel, location)
        raise failure

    def _start_tls(self, channel: socket.socket, location: Location) -> socket.socket:
        if location.scheme != "https":
            return channel
        try:
            return self.network.start_tls(channel, location.host)
        except BaseException:
            channel.close()
            raise


def _read(arrived: _Arrived, limits: FetchLimits, clock: Clock) -> Iterator[bytes]:
    """Read the body and count its bytes; the declared length only detects truncation."""
    response, shown = arrived.response, arrived.location
    announced = response.length
    until = clock.monotonic() + limits.seconds
    size = 0
    while size != announced:
        room = _CHUNK if announced is None else min(_CHUNK, announced - size)
        try:
            chunk = response.read1(room)
        except (OSError, http.client.HTTPException) as error:
            raise _unreachable_error(shown, error) from error
        if not chunk:
            break
        size += len(chunk)
        if size > limits.size:
            raise _source_error("too-large", f"`{shown.shown}` exceeds {limits.size:,} bytes")
        if clock.monotonic() > until:
            raise _unreachable_error(
                shown, OSError(f"timeout: it takes longer than {limits.seconds:.0f} s")
            )
        yield chunk
    if announced is not None and size < announced:
        raise _unreachable_error(shown, OSError("the download is incomplete"))


def _store(body: Iterator[bytes], target: Path) -> tuple[Digest, int]:
    digest, size = hashlib.sha256(), 0
    try:
        fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise write_problem(target, error) from error
    try:
        with os.fdopen(fd, "wb") as file:
            for chunk in body:
                digest.update(chunk)
                size += len(chunk)
                file.write(chunk)
    except OSError as error:
        target.unlink()
        raise write_problem(target, error) from error
    except BaseException:
        target.unlink()
        raise
    return Digest(digest.hexdigest()), size


def _pin(sha256: str) -> str:
    wanted = sha256.strip().lower()
    if wanted and not _SHA256.fullmatch(wanted):
        raise _source_error("hash", "a SHA-256 hash has 64 hexadecimal digits")
    return wanted


def _insecure_warning(shown: str, digest: Digest) -> Problem:
    return Problem(
        "source/insecure",
        f"the source was downloaded over unencrypted `{shown}`: others could have changed it",
        hint=f"use https, or pin it: --source-sha256 {digest}",
    )


def _source_error(what: str, message: str) -> FabricError:
    return FabricError(Problem(f"input/source-{what}", message))


def _unreachable_error(location: Location, error: Exception) -> FabricError:
    reason = (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()
    return FabricError(
        Problem(
            "source/unreachable",
            f"cannot fetch `{location.shown}`: {reason}",
            hint="check the URL and the network",
        )
    )
