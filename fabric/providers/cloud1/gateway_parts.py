"""Parts of an HTTP API at cloud1: read page by page, and never made twice."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from fabric.model.problems import FabricError, Problem

GATEWAY = "apigatewayv2"
_SERVER_ERROR, _TOO_MANY = 500, 429
T = TypeVar("T")


def pages(calls: Any, operation: str, rows: str, **asked: str) -> Iterable[Mapping[str, Any]]:
    for page in calls.get_paginator(operation).paginate(**asked):
        yield from page[rows]


def made_once(make: Callable[[], T], look: Callable[[], T | None]) -> T | None:
    """A thing that a second call would make twice: after an answer that was lost, or not given for
    now, it is looked for. None: it is not there, and the call may be made again."""
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


def sure(found: T | None, what: str) -> T:
    if found is None:
        message = f"timeout: AWS returned no response for a minute while creating {what}"
        raise FabricError(Problem("provider/unreachable", message, "run the command again"))
    return found
