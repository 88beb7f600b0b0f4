"""A zone file's records: one name for everybody, and beside it the weights for who can read them.

Plain DNS knows no weights but those of SRV records (RFC 2782). So the name itself leads to the
endpoint with the most weight, and `_https._tcp` below it tells of all of them.
"""

from fabric.model.routing import DesiredRouting, EndpointShare, RouterPart, RouterResource

_HTTPS_PORT = 443
_RECORD = RouterResource.DNS_RECORD


def wanted_records(desired: DesiredRouting) -> tuple[RouterPart, ...]:
    """The first of the heaviest endpoints is the one that plain look-ups lead to."""
    if not desired.shares:
        return ()
    alias = f"{desired.ttl} IN CNAME {desired.heaviest.host}."
    services = (_service(desired, one) for one in desired.shares)
    return (RouterPart(_RECORD, f"{desired.hostname}.", alias), *services)


def _service(desired: DesiredRouting, share: EndpointShare) -> RouterPart:
    text = f"{desired.ttl} IN SRV 1 {share.weight} {_HTTPS_PORT} {share.host}."
    name = f"_https._tcp.{desired.hostname}. {share.label}"
    return RouterPart(_RECORD, name, text, weights=((share.label, share.weight),))


def zone_text(hostname: str, parts: tuple[RouterPart, ...], serial: int) -> str:
    """The zone that the name lies in, by RFC 1035, as any name server reads it: names of other
    zones would keep it from being read at all."""
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
