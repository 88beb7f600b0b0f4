"""Checks of URLs: whether they can be called, and whether the connection is private."""

import ipaddress
from urllib.parse import urlsplit

from fabric.model.routing.hosts import extract_host


def is_loopback(host: str) -> bool:
    """Return whether a URL stays on this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_web_address(url: str) -> bool:
    """Return whether a URL has a web scheme and a valid host."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    has_gaps = any(one.isspace() or not one.isprintable() for one in url)
    return parts.scheme.lower() in ("http", "https") and bool(parts.hostname) and not has_gaps


def is_plain(url: str) -> bool:
    """Return whether a URL uses plain HTTP over a network."""
    return url.lower().startswith("http://") and not is_loopback(extract_host(url))
