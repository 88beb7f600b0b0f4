"""The default names of a service's functions at a provider."""

import json
from collections.abc import Sequence
from urllib.parse import quote

from fabric.model.hashing import hash_bytes
from fabric.providers.contract import DeploymentAddress

_DIGEST = 8
# What a path may have in it without escapes, and what stands around parameters.
_AS_THEMSELVES = "/{}~!$&'()*+,;=:@"


def format_resource_name(address: DeploymentAddress, name: str) -> str:
    return f"{address.service}-{address.stage}-{name}"


def build_function_endpoint(endpoint: str, triggers: Sequence[str]) -> str:
    """Return the service address with the path of the first HTTP trigger, URL-encoded. Empty
    without one."""
    path = encode_path(_find_first_path(triggers))
    return endpoint.rstrip("/") + path if path and endpoint else ""


def encode_path(path: str) -> str:
    """Percent-encode a config path that is written with literal characters. Parameters are
    unchanged."""
    return quote(path, safe=_AS_THEMSELVES)


def strip_endpoint_path(address: str, triggers: Sequence[str]) -> str:
    """Return the base address of such an endpoint. Older records contain it without escapes."""
    path = _find_first_path(triggers)
    sent = encode_path(path)
    return address.removesuffix(sent if address.endswith(sent) else path)


def _find_first_path(triggers: Sequence[str]) -> str:
    """Return the path of the first HTTP trigger, or an empty text."""
    found = (json.loads(text) for text in triggers)
    path = next((str(one.get("path", "/")) for one in found if one.get("type") == "http"), "")
    return path if path.startswith("/") or not path else f"/{path}"


def shorten_name(name: str, limit: int) -> str:
    """Return the name if it fits, otherwise its beginning with a hash of the whole."""
    if len(name) <= limit:
        return name
    return f"{name[: limit - _DIGEST - 1]}-{hash_bytes(name.encode())[:_DIGEST]}"
