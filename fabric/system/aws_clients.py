"""Clients of AWS for references of a config, and the problems of their calls."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from msgspec.structs import replace

from fabric.model.distribution import Extra, PackageNeed
from fabric.model.problems import FabricError, OfflineError, Problem
from fabric.system.cloud1_account import (
    REFUSED,
    Trying,
    open_boto_client,
    open_boto_session,
    read_error_code,
    resolve_cloud1_account,
)
from fabric.system.optional_packages import require_packages

BOTO = PackageNeed("references to AWS require", Extra.CLOUD, "config/not-installed")
_ENDPOINTS = ("AWS_ENDPOINT_URL", "CLOUD1_API_BASE_URL")
_PATIENT = Trying("standard", 4, 8, 10.0)
_MAX_PARALLEL = 8
_EXPIRED = ("ExpiredToken", "ExpiredTokenException", "RequestExpired")
# In the names of errors about missing or expired logins.
_LOGINS = ("Credential", "SSO", "Token", "Login")


class AwsClients:
    """The clients of one load of a config, by service and region."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._account = resolve_cloud1_account(env, _ENDPOINTS)
        self._sessions: dict[str, Any] = {}
        self._clients: dict[tuple[str, str], Any] = {}

    def open(self, service: str, region: str) -> Any:
        key = (service, region)
        if key not in self._clients:
            account = replace(self._account, region=region or self._account.region)
            if region not in self._sessions:
                with require_packages(BOTO):
                    self._sessions[region] = open_boto_session(account)
            session = self._sessions[region]
            self._clients[key] = open_boto_client(session, service, account, _PATIENT)
        return self._clients[key]


def run_parallel(call: Callable[[Any], object], values: Sequence[Any]) -> list[Any]:
    if len(values) == 1:
        return [call(values[0])]
    with ThreadPoolExecutor(_MAX_PARALLEL) as pool:
        return list(pool.map(call, values))


def convert_call_error(shown: str, error: Any) -> FabricError:
    """Convert an error of a client, except that a value does not exist."""
    from botocore import exceptions

    name = type(error).__name__
    if isinstance(error, exceptions.ClientError):
        is_offline = read_error_code(error) in _EXPIRED
        problem = build_rejection_problem(shown, error)
    else:
        is_offline = isinstance(
            error, exceptions.ConnectionError | exceptions.HTTPClientError
        ) or any(word in name for word in _LOGINS)
        problem = build_unreachable_problem(shown, name)
    return (OfflineError if is_offline else FabricError)(problem)


def build_rejection_problem(shown: str, error: Any) -> Problem:
    code = read_error_code(error)
    message = f"cannot read `{shown}`: AWS rejected `{error.operation_name}` ({code})"
    if code in _EXPIRED:
        message = f"cannot read `{shown}`: the credentials have expired"
        return Problem("credentials/refused", message, "sign in again, or set new credentials")
    if code in REFUSED:
        hint = f"check the credentials and their permission for `{error.operation_name}`"
        return Problem("credentials/refused", message, hint)
    return Problem("provider/refused", message, "check the reference and the region")


def build_unreachable_problem(shown: str, why: str) -> Problem:
    message = f"cannot read `{shown}`: {why}"
    if "Credentials" in why:
        hint = "set CLOUD1_ACCESS_KEY_ID and CLOUD1_SECRET_ACCESS_KEY, or a profile"
        return Problem("credentials/missing", message, hint)
    return Problem("provider/unreachable", message, "check the network and the endpoint")
