"""Helpers for HTTP APIs on AWS: pagination, and creation without duplicates."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from fabric.model.problems import FabricError, Problem

GATEWAY = "apigatewayv2"
_SERVER_ERROR, _TOO_MANY = 500, 429
T = TypeVar("T")


def list_pages(calls: Any, operation: str, rows: str, **asked: str) -> Iterable[Mapping[str, Any]]:
    for page in calls.get_paginator(operation).paginate(**asked):
        yield from page[rows]


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


def require_created(found: T | None, what: str) -> T:
    if found is None:
        message = f"timeout: AWS returned no response for a minute while creating {what}"
        raise FabricError(Problem("provider/unreachable", message, "run the command again"))
    return found
