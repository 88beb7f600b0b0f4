"""Logins of registries, from the environment and from Docker's settings."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from fabric.model.secrets.secret import Secret

# Comma-separated registries that are reached without TLS.
INSECURE = "FABRIC_INSECURE_REGISTRIES"
_HUB_KEYS = ("https://index.docker.io/v1/", "index.docker.io", "registry-1.docker.io")
_SIGNS = re.compile(r"[^A-Z0-9]+")


class RegistryLogin(Struct, frozen=True):
    """User and password, or an identity token that is exchanged for access tokens."""

    user: str
    password: Secret[str]
    identity_token: Secret[str] = Secret("")

    @property
    def basic(self) -> Secret[str]:
        pair = f"{self.user}:{self.password.reveal()}".encode()
        return Secret(f"Basic {base64.b64encode(pair).decode()}")


# Returns the login of a registry, or None for anonymous access.
FindLogin: TypeAlias = Callable[[str], RegistryLogin | None]


def name_login_variables(registry: str) -> tuple[str, str]:
    """Return the variables with user and password of a registry."""
    name = _SIGNS.sub("_", registry.upper()).strip("_")
    return f"FABRIC_REGISTRY_{name}_USER", f"FABRIC_REGISTRY_{name}_PASSWORD"


def find_login(registry: str, env: Mapping[str, str]) -> RegistryLogin | None:
    """Find the login of one registry. It is never used for another one."""
    user, password = name_login_variables(registry)
    if env.get(user) and env.get(password):
        return RegistryLogin(env[user], Secret(env[password]))
    return _find_docker_login(registry, _read_docker_settings(env))


def list_insecure(env: Mapping[str, str]) -> frozenset[str]:
    names = (one.strip() for one in env.get(INSECURE, "").split(","))
    return frozenset(one for one in names if one)


def _read_docker_settings(env: Mapping[str, str]) -> Mapping[str, object]:
    home = env.get("DOCKER_CONFIG") or (f"{env['HOME']}/.docker" if env.get("HOME") else "")
    if not home:
        return {}
    try:
        document = json.loads(Path(home, "config.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _find_docker_login(registry: str, settings: Mapping[str, object]) -> RegistryLogin | None:
    auths = settings.get("auths")
    rows = auths if isinstance(auths, dict) else {}
    names = (registry, f"https://{registry}", *(_HUB_KEYS if registry == "docker.io" else ()))
    found = [rows[one] for one in names if isinstance(rows.get(one), dict)]
    row: Mapping[str, object] = found[0] if found else {}
    user, password = _decode_auth(str(row.get("auth") or ""))
    token = str(row.get("identitytoken") or "")
    user, password = str(row.get("username") or user), str(row.get("password") or password)
    if not (user and (password or token)):
        return None
    return RegistryLogin(user, Secret(password), Secret(token))


def _decode_auth(text: str) -> tuple[str, str]:
    try:
        user, _, password = base64.b64decode(text, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return "", ""
    return user, password.rstrip("\0")
