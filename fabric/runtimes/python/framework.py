"""Serve one function of Google Cloud, in its Functions Framework or in a container: requests become
events.

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

from fabric.runtimes.python.calling import call as calling
from fabric.runtimes.python.calling.context import new_id
from fabric.runtimes.python.serving_answers import LoadHandler
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
    def __init__(self, document: dict[str, object], load: LoadHandler = calling.load) -> None:
        # A handler does not see them.
        own = [os.environ.pop(name, "") for name in ("FABRIC_CLOCK", "FABRIC_MARK")]  # noqa: TID251 - the function's own
        super().__init__(document, load)
        self.clock = own[0]
        self.buckets: list[dict[str, str]] = document.get("buckets") or []  # type: ignore[assignment]

    def answer(self, taken: ServedRequest) -> ServedResponse:
        if not self.routes or self._is_of_clock(taken):
            return self._call_event(taken)
        return message(200, "ready") if taken.path == _READY else super().answer(taken)

    def _is_of_clock(self, taken: ServedRequest) -> bool:
        said = taken.header("x-fabric-clock")
        return bool(self.clock) and hmac.compare_digest(said.encode(), self.clock.encode())

    def _call_event(self, taken: ServedRequest) -> ServedResponse:
        try:
            event = json.loads(taken.body or b"{}")
        except ValueError:
            return message(400, "Bad Request")
        if isinstance(event, dict) and _is_filtered(self.buckets, event, taken):
            return message(200, "no trigger has this key")
        is_native = self.handler.convention == "cloud-event"
        return self.call(
            _convert_event(event, taken, is_native=is_native) if isinstance(event, dict) else event
        )


def make_framework_handler(
    folder: str, document: dict[str, object]
) -> Callable[[FrameworkRequest], _Answer]:
    """Return the function that the framework calls. A relative path starts at the archive root."""
    os.chdir(folder)
    function = FrameworkFunction({**document, "folder": folder})

    def answer_request(request: FrameworkRequest) -> _Answer:
        given = function.answer(_convert_request(request))
        return given.body, given.status, given.headers

    return answer_request


def _convert_request(request: FrameworkRequest) -> ServedRequest:
    environ = request.environ
    target = str(environ.get("RAW_URI") or environ.get("REQUEST_URI") or "/")
    headers = [(name.lower(), value) for name, value in request.headers.items()]
    peer = str(environ.get("REMOTE_ADDR") or "")
    return ServedRequest(request.method, target, headers, request.get_data(), peer)


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
