"""Extract the host of an address, and check it before DNS points to it."""

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

_PART = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
# What name servers are told is part of a text or of code of theirs: nothing else may stand there.
_NAME = re.compile(rf"(?=.{{1,253}}$)(?:{_PART}\.)*{_PART}")

_ONE_PART = re.compile(r"[a-z0-9]+(-+[a-z0-9]+)*")


def is_name_in_host(text: str) -> bool:
    """Return whether the text stays a single host label. Other texts could form another host."""
    return bool(_ONE_PART.fullmatch(text))


def extract_host(url: str) -> str:
    """Extract the host, also without a scheme; empty if there is none."""
    parts = _split(url)
    return (parts.hostname or "") if parts else ""


def extract_routable_host(url: str) -> str:
    """Extract the host in DNS form; empty if no hostname can point to it."""
    host = extract_host(url).removesuffix(".")
    return host if _NAME.fullmatch(host) else ""


def extract_port(url: str) -> int | None:
    """Extract an explicit port."""
    parts = _split(url)
    try:
        return parts.port if parts else None
    except ValueError:
        return None


def extract_path(url: str) -> str:
    """Extract the path without surrounding slashes."""
    parts = _split(url)
    return parts.path.strip("/") if parts else ""


def extract_request_target(said: str) -> str:
    """Extract the request target: path and query, without the rest of the address."""
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
    """Split an address; None if invalid, for example with an unclosed bracket."""
    try:
        parts = urlsplit(url if "://" in url else f"//{url}")
        _ = parts.hostname
    except ValueError:
        return None
    return parts
