"""An HTTP API to change, and how parts of APIs are listed and created without duplicates."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.core.client import CONFLICT, GONE, ONCE, ignore_codes
from fabric.providers.cloud1.core.versions import Cloud1Work
from fabric.providers.cloud1.http.gateway_plan import DesiredGateway
from fabric.providers.core.contract import DeploymentAddress
from fabric.system.cloud1_account import read_error_code

GATEWAY, REST_GATEWAY = "apigatewayv2", "apigateway"
_SERVER_ERROR, _TOO_MANY = 500, 429
T = TypeVar("T")


class GatewayOrder(Struct, frozen=True):
    """One API with its desired configuration."""

    work: Cloud1Work
    address: DeploymentAddress
    wanted: DesiredGateway
    id: str = ""

    @property
    def calls(self) -> Any:
        return self.work.clients.of(GATEWAY)

    @property
    def single(self) -> Any:
        """A client without retries, for calls that would create a duplicate after a lost
        response."""
        return self.work.clients.of(GATEWAY, ONCE)


def list_pages(
    calls: Any, operation: str, rows: str, **asked: object
) -> Iterable[Mapping[str, Any]]:
    for page in calls.get_paginator(operation).paginate(**asked):
        yield from page[rows]


def fetch_row(fetch: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Fetch something; None if it does not exist."""
    found: list[Mapping[str, Any]] = []
    with ignore_codes(GONE):
        found.append(fetch())
    return next(iter(found), None)


def create_once(make: Callable[[], T], look: Callable[[], T | None]) -> T | None:
    """Create a resource without duplicates. After a lost or throttled response, look for it.

    None means that it does not exist, so the call can be repeated.
    """
    from botocore import exceptions as wrong

    try:
        return make()
    except (wrong.HTTPClientError, wrong.ConnectionError):
        return look()
    except wrong.ClientError as error:
        status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        if status < _SERVER_ERROR and status != _TOO_MANY:
            raise
        return look()


def create_new(create: Callable[[], object]) -> bool:
    """Create a resource and return true, or false if one exists already."""
    from botocore.exceptions import ClientError

    try:
        create()
    except ClientError as error:
        if read_error_code(error) not in CONFLICT:
            raise
        return False
    return True


def require_created(found: T | None, what: str) -> T:
    if found is None:
        message = f"timeout: AWS returned no response for a minute while creating {what}"
        raise FabricError(Problem("provider/unreachable", message, "run the command again"))
    return found
