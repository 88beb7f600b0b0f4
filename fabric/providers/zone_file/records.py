"""Records of a zone file: a plain name, and weighted SRV records for clients that read them.

Plain DNS has weights only in SRV records (RFC 2782). The name itself points to the endpoint with
the largest weight. `_https._tcp` below it lists all endpoints.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from fabric.model.routing.routing import (
    DesiredRouting,
    EndpointShare,
    RouterPart,
    RouterResource,
)

_HTTPS_PORT = 443
_RECORD = RouterResource.DNS_RECORD
_CLASSES = ("IN", "CH", "HS")


def plan_zone_records(desired: DesiredRouting) -> tuple[RouterPart, ...]:
    """Plan the records. Plain lookups get the first endpoint with the largest weight."""
    if not desired.shares:
        return ()
    alias = f"{desired.ttl} IN CNAME {desired.heaviest.host}."
    services = (_build_srv_record(desired, one) for one in desired.shares)
    return (RouterPart(_RECORD, f"{desired.hostname}.", alias), *services)


def _build_srv_record(desired: DesiredRouting, share: EndpointShare) -> RouterPart:
    text = f"{desired.ttl} IN SRV 1 {share.weight} {_HTTPS_PORT} {share.host}."
    name = f"_https._tcp.{desired.hostname}. {share.label}"
    return RouterPart(_RECORD, name, text, weights=((share.label, share.weight),))


def format_zone(hostname: str, parts: tuple[RouterPart, ...], serial: int) -> str:
    """Format the zone of the hostname by RFC 1035. Names of other zones would make it invalid."""
    origin = hostname.partition(".")[2]
    names = [(part.name.partition(" ")[0], part.detail) for part in parts]
    rows = [
        f"$ORIGIN {origin}.",
        f"@ 300 IN SOA ns.{origin}. hostmaster.{origin}. {serial} 3600 600 86400 60",
        f"@ 300 IN NS ns.{origin}.",
        "ns 300 IN A 127.0.0.1",
        *(f"{name} {detail}" for name, detail in names if name.endswith(f".{origin}.")),
    ]
    return "\n".join(rows) + "\n"


class ZoneLines(Struct, frozen=True):
    """A zone text compared with the last written text. `lost` are missing lines of ours; `foreign`
    are lines of other writers with record name and type."""

    lost: frozenset[str] = frozenset()
    foreign: tuple["ForeignLine", ...] = ()


class ForeignLine(Struct, frozen=True):
    """A comment or directive has no record name."""

    text: str
    name: str = ""
    type: str = ""


def compare_zone(text: str, written: str) -> ZoneLines:
    """Compare the texts. A changed line of ours counts as lost, not as foreign: its name and type
    match a lost line."""
    ours = written.splitlines()
    there = text.splitlines()
    lost = [line for line in ours if line not in there]
    edited = Counter((one.name, one.type) for one in _parse_lines(lost, ours))
    foreign = []
    for one in _parse_lines([line for line in there if line not in ours], ours):
        if edited[one.name, one.type] or one.type == "SOA":
            edited[one.name, one.type] -= 1
        else:
            foreign.append(one)
    return ZoneLines(frozenset(lost), tuple(foreign))


def with_foreign(text: str, foreign: Iterable[ForeignLine]) -> str:
    """Append foreign lines behind our records, in their original order."""
    return text + "".join(f"{one.text}\n" for one in foreign)


def _parse_lines(lines: Iterable[str], ours: Sequence[str]) -> Iterator[ForeignLine]:
    """Parse the lines. A record without a name belongs to the previous name."""
    origin = ours[0].removeprefix("$ORIGIN ") if ours else ""
    name = origin
    for line in lines:
        words = line.partition(";")[0].split()
        if not words or line.startswith("$"):
            yield ForeignLine(line)
            continue
        if not line[0].isspace():
            name = _make_absolute(words.pop(0), origin)
        kinds = (
            word.upper() for word in words if not word.isdigit() and word.upper() not in _CLASSES
        )
        yield ForeignLine(line, name, next(kinds, ""))


def _make_absolute(name: str, origin: str) -> str:
    if name == "@":
        return origin
    return (name if name.endswith(".") else f"{name}.{origin}").lower()
