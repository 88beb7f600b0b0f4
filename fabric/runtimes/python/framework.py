"""Serve one function in the Google Functions Framework: requests become events.

Schedule calls contain a secret. Without routes, only schedules and callers with a permission have
access; their payload is the event itself.

Standard library only: the files beside this one are all of fabric.
"""

import base64
import hmac
import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Protocol
from urllib.parse import quote_plus

from fabric.runtimes.python.calling.context import new_id
from fabric.runtimes.python.serving_http import ServedRequest, ServedResponse, message
from fabric.runtimes.python.serving_open import OpenFunction

_READY = "/.fabric/ready"
_DUE = "x-cloudscheduler-scheduletime"
_Answer = tuple[bytes, int, list[tuple[str, str]]]


class FrameworkRequest(Protocol):
    """The used parts of a Flask request."""

    @property
    def method(self) -> str: ...

    @property
    def environ(self) -> Mapping[str, object]: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    def get_data(self) -> bytes: ...


class FrameworkFunction(OpenFunction):
    def answer(self, taken: ServedRequest) -> ServedResponse:
        return message(200, "ready") if taken.path == _READY else super().answer(taken)


def make_framework_handler(
    folder: str, document: dict[str, object]
) -> Callable[[FrameworkRequest], _Answer]:
    """Return the function that the framework calls. A relative path starts at the archive root."""
    own = [os.environ.pop(name, "") for name in ("FABRIC_CLOCK", "FABRIC_MARK")]  # noqa: TID251 - the function's own
    os.chdir(folder)
    function = FrameworkFunction({**document, "folder": folder})
    buckets: list[dict[str, str]] = document.get("buckets") or []  # type: ignore[assignment]

    def answer_request(request: FrameworkRequest) -> _Answer:
        taken = _convert_request(request)
        is_event = not function.routes or _is_of_clock(taken, own[0])
        given = _call_event(function, taken, buckets) if is_event else function.answer(taken)
        return given.body, given.status, given.headers

    return answer_request


def _convert_request(request: FrameworkRequest) -> ServedRequest:
    environ = request.environ
    target = str(environ.get("RAW_URI") or environ.get("REQUEST_URI") or "/")
    headers = [(name.lower(), value) for name, value in request.headers.items()]
    peer = str(environ.get("REMOTE_ADDR") or "")
    return ServedRequest(request.method, target, headers, request.get_data(), peer)


def _is_of_clock(taken: ServedRequest, clock: str) -> bool:
    said = taken.header("x-fabric-clock")
    return bool(clock) and hmac.compare_digest(said.encode(), clock.encode())


def _call_event(
    function: FrameworkFunction, taken: ServedRequest, buckets: list[dict[str, str]]
) -> ServedResponse:
    try:
        event = json.loads(taken.body or b"{}")
    except ValueError:
        return message(400, "Bad Request")
    if isinstance(event, dict) and _is_filtered(buckets, event, taken):
        return message(200, "no trigger has this key")
    is_native = function.handler.convention == "cloud-event"
    return function.call(
        _convert_event(event, taken, is_native=is_native) if isinstance(event, dict) else event
    )


def _is_filtered(
    buckets: list[dict[str, str]], event: dict[str, object], taken: ServedRequest
) -> bool:
    """Return whether no trigger has this key: Eventarc does not filter objects by their names."""
    if not buckets or not taken.header("ce-type").startswith("google.cloud.storage.object.v1."):
        return False
    bucket, name = event.get("bucket"), str(event.get("name"))
    return not any(
        one["bucket"] == bucket and name.startswith(one["prefix"]) and name.endswith(one["suffix"])
        for one in buckets
    )


def _convert_event(
    event: dict[str, object], taken: ServedRequest, *, is_native: bool
) -> dict[str, object]:
    """Convert an event to the form that handlers receive everywhere, or to a CloudEvent."""
    if event.get("detail-type") == "Scheduled Event":
        return {**event, "id": new_id(), "time": _time(taken.header(_DUE))}
    kind = taken.header("ce-type")
    if kind and is_native:
        own = {name[3:]: text for name, text in taken.headers if name.startswith("ce-")}
        return {**own, "datacontenttype": "application/json", "data": event}
    if kind.startswith("google.cloud.storage.object.v1."):
        return {"Records": [_convert_object(event, is_removed=kind.endswith(".deleted"))]}
    message = event.get("message")
    if kind.startswith("google.cloud.pubsub.topic.v1.") and isinstance(message, dict):
        return {**event, "message": {"attributes": {}, **message}}
    return event


def _convert_object(event: dict[str, object], *, is_removed: bool) -> dict[str, object]:
    checksum = str(event.get("md5Hash") or "")
    stored = {
        # Keys are encoded as forms are.
        "key": quote_plus(str(event.get("name")), safe="/"),
        "size": int(str(event.get("size") or 0)),
        "eTag": base64.b64decode(checksum).hex() if checksum else event.get("etag"),
    }
    bucket = event.get("bucket")
    return {
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "eventTime": event.get("updated") or event.get("timeCreated"),
        "eventName": "ObjectRemoved:Delete" if is_removed else "ObjectCreated:Put",
        "objstore1": {
            "bucket": {"name": bucket, "arn": f"arn:aws:s3:::{bucket}"},
            "object": stored,
        },
    }


def _time(said: str) -> str:
    """Return the due time of a schedule call, or now, without fractions of a second."""
    if said:
        return said.partition(".")[0].removesuffix("Z") + "Z"
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
