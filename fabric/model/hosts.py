"""The host in an address: read whatever the address is, and checked before a name leads to it."""

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

_PART = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
# What name servers are told is part of a text or of code of theirs: nothing else may stand there.
_NAME = re.compile(rf"(?=.{{1,253}}$)(?:{_PART}\.)*{_PART}")

_ONE_PART = re.compile(r"[a-z0-9]+(-+[a-z0-9]+)*")


def is_name_in_host(text: str) -> bool:
    """Whether it stays one name where it is put between the dots of a host: all else could make
    another host of it."""
    return bool(_ONE_PART.fullmatch(text))


def host_of(url: str) -> str:
    """Also of one without a scheme; empty where there is none."""
    parts = _split(url)
    return (parts.hostname or "") if parts else ""


def routable_host(url: str) -> str:
    """As DNS would be asked for it; empty where the address has no host that a name can lead to."""
    host = host_of(url).removesuffix(".")
    return host if _NAME.fullmatch(host) else ""


def port_of(url: str) -> int | None:
    """Only one that is said."""
    parts = _split(url)
    try:
        return parts.port if parts else None
    except ValueError:
        return None


def path_of(url: str) -> str:
    """Without the strokes around it."""
    parts = _split(url)
    return parts.path.strip("/") if parts else ""


def target_of(said: str) -> str:
    """What is asked for at a host, with its query: of a whole address the rest does not count."""
    if "://" not in said:
        return f"/{said.lstrip('/')}"
    parts = _split(said)
    path = (parts.path if parts else "") or "/"
    return f"{path}?{parts.query}" if parts and parts.query else path


def is_ip_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _split(url: str) -> SplitResult | None:
    """None where it is no address at all, such as one with half of a bracket."""
    try:
        parts = urlsplit(url if "://" in url else f"//{url}")
        _ = parts.hostname
    except ValueError:
        return None
    return parts
