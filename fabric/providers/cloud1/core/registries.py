"""The login of ECR, from the credentials of the account."""

import base64
import re
import threading
from collections.abc import Mapping
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.secrets.secret import Secret
from fabric.providers.cloud1.core.client import Cloud1Clients, convert_client_errors
from fabric.system.cloud1_account import resolve_cloud1_account
from fabric.system.registries.credentials import RegistryLogin, find_login, list_insecure
from fabric.system.registries.push import Registries

_HOST = re.compile(
    r"\d{12}\.dkr[.-]ecr(?:-fips)?\.([a-z0-9-]+)\.(?:amazonaws\.com(?:\.cn)?|on\.aws)"
)
_ENDPOINTS = ("CLOUD1_API_BASE_URL", "AWS_ENDPOINT_URL")


class EcrRegistry(Struct, frozen=True):
    """The registry of an account in a region, with its login."""

    name: str
    login: RegistryLogin


class EcrRegistries:
    """The registries of a run: ECR with the login of the provider, others with the login of the
    environment. Thread-safe."""

    def __init__(self, clients: Cloud1Clients, env: Mapping[str, str]) -> None:
        self._clients = clients
        self._env = env
        self._guard = threading.Lock()
        self._own: EcrRegistry | None = None
        self.registries = Registries(self._find_login, list_insecure(env))

    def own(self) -> EcrRegistry:
        with self._guard:
            self._own = self._own or fetch_registry(self._clients)
            return self._own

    def _find_login(self, name: str) -> RegistryLogin | None:
        own = self.own()
        region = str(self._clients.of("ecr").meta.region_name)
        is_own = name == own.name or find_ecr_region(name) == region
        return own.login if is_own else find_login(name, self._env)

    def close(self) -> None:
        self.registries.close()


def find_ecr_region(registry: str) -> str:
    """Return the region of a private registry of ECR; empty for other registries."""
    found = _HOST.fullmatch(registry)
    return found[1] if found else ""


def fetch_registry(clients: Cloud1Clients) -> EcrRegistry:
    [row] = clients.of("ecr").get_authorization_token()["authorizationData"]
    token = base64.b64decode(row["authorizationToken"]).decode()
    user, _, password = token.partition(":")
    return EcrRegistry(urlsplit(row["proxyEndpoint"]).netloc, RegistryLogin(user, Secret(password)))


def find_ecr_login(registry: str, env: Mapping[str, str]) -> RegistryLogin | None:
    """Find the login of a private registry of ECR, for base images; None for other registries."""
    region = find_ecr_region(registry)
    if not region:
        return None
    account = resolve_cloud1_account(env, _ENDPOINTS)
    clients = Cloud1Clients(replace(account, region=region))
    try:
        with convert_client_errors(f"registry `{registry}`", str):
            return fetch_registry(clients).login
    finally:
        clients.close()
