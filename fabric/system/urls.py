"""What an address says of itself: its host, and whether others on the way can read along."""

import ipaddress
import re
from urllib.parse import urlsplit

_NAME = re.compile(r"[a-z0-9]+(-+[a-z0-9]+)*")


def is_name_in_host(text: str) -> bool:
    """Whether it stays one name where it is put between the dots of a host: all else could make
    another host of it."""
    return bool(_NAME.fullmatch(text))


def host_of(url: str) -> str:
    """Also of one without a scheme; empty where there is none."""
    try:
        return urlsplit(url if "://" in url else f"//{url}").hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether it never leaves this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_web_address(url: str) -> bool:
    """With its scheme, and a host that a call can be sent to."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    has_gaps = any(one.isspace() or not one.isprintable() for one in url)
    return parts.scheme.lower() in ("http", "https") and bool(parts.hostname) and not has_gaps


def is_plain(url: str) -> bool:
    """Plain http over a network."""
    return url.lower().startswith("http://") and not is_loopback(host_of(url))
