"""What an address says of itself: whether it can be called, and whether others can read along."""

import ipaddress
from urllib.parse import urlsplit

from fabric.model.hosts import host_of


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
